"""Tags: reads ALTER TABLE ... CREATE, REPLACE, DELETE and RENAME TAG."""

from __future__ import annotations

import datetime

from paimon_core.spark.sql.grammar.cursor import Cursor
from paimon_core.spark.sql.grammar.statements import ChangeTag, TableName

_UNITS = {"DAYS": 86_400, "HOURS": 3_600, "MINUTES": 60}
"""Seconds by unit, as Paimon names the units."""


def tag_change(cursor: Cursor, table: TableName) -> ChangeTag | None:
    """Read the rest of a statement after ALTER TABLE t; return None when it is not about tags."""
    if cursor.skip("CREATE", "OR", "REPLACE", "TAG"):
        return _written(cursor, table, "create or replace")
    if cursor.skip("CREATE", "TAG"):
        optional = cursor.skip("IF", "NOT", "EXISTS")
        return _written(cursor, table, "create", optional=optional)
    if cursor.skip("REPLACE", "TAG"):
        return _written(cursor, table, "replace")
    if cursor.skip("DELETE", "TAG"):
        optional = cursor.skip("IF", "EXISTS")
        at = cursor.next.start
        names = tuple(name.strip() for name in cursor.name("the name of a tag").split(","))
        if len({*names}) < len(names):
            cursor.fail("DELETE TAG names a tag twice", at)
        cursor.end()
        return ChangeTag(table, "delete", names, optional=optional)
    if cursor.skip("RENAME", "TAG"):
        name = cursor.name("the name of a tag")
        cursor.need("TO")
        new = cursor.name("the new name of the tag")
        cursor.end()
        return ChangeTag(table, "rename", (name, new))
    return None


def _written(cursor: Cursor, table: TableName, action: str, *, optional: bool = False) -> ChangeTag:
    """Read the name, AS OF VERSION 3 and RETAIN 7 DAYS."""
    names = (cursor.name("the name of a tag"),)
    snapshot = _number(cursor, "the id of a snapshot") if cursor.skip("AS", "OF", "VERSION") else None
    keep_for = None
    if cursor.skip("RETAIN"):
        at = cursor.next.start
        number = _number(cursor, "a number of days, hours or minutes")
        unit = cursor.choose(*_UNITS)
        if not unit:
            cursor.refuse("DAYS, HOURS or MINUTES")
        most = datetime.timedelta.max // datetime.timedelta(seconds=_UNITS[unit])
        if number > most:
            cursor.fail(f"RETAIN takes at most {most} {unit}, not {number}", at)
        keep_for = datetime.timedelta(seconds=number * _UNITS[unit])
    cursor.end()
    return ChangeTag(table, action, names, snapshot, keep_for, optional)


def _number(cursor: Cursor, what: str) -> int:
    """Return a number of 1 or more."""
    at = cursor.next.start
    value = cursor.literal(what)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        cursor.fail(f"{what} is a whole number of 1 or more here, not {value!r}", at)
    return value
