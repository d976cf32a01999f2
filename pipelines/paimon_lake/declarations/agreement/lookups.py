"""Lookup agreement: the rules for a lookup and the declaration of the table in which it looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paimon_core.errors import PaimonError
from paimon_core.types import DataType, TypeRoot, parse_type
from paimon_lake.declarations.errors import nearest
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.sources.lookup import Lookup, lookups_of, waits
from paimon_lake.declarations.table import TableSpec

INEXACT = frozenset((TypeRoot.FLOAT, TypeRoot.DOUBLE))
"""Types whose values are not looked up, because equal numbers may be stored differently."""


def lookup_disagreements(tables: Mapping[str, TableSpec]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield (table, key of its declaration, sentence) for each lookup that does not fit the table in which it looks."""
    loaded = (one for spec in tables.values() for one in load_specs(spec))
    waiting = {one.waiting_table: one.load_name for one in loaded if waits(one)}
    for name, spec in sorted(tables.items()):
        if name in waiting:
            yield name, (), f"the table has the name of the waiting rows of {waiting[name]}: give it another name"
        for one in load_specs(spec):
            if one.rejects_table in waiting:
                yield name, ("rejects", "table"), f"{one.rejects_table} has the waiting rows of another table"
            for lookup in lookups_of(one.source):
                if why := _why_not(spec, lookup, tables):
                    key = (*one.source_key, "lookup")
                    yield name, key, f"{'.'.join(key)}: {why}"


def _why_not(spec: TableSpec, lookup: Lookup, tables: Mapping[str, TableSpec]) -> str:
    dimension = tables.get(lookup.table)
    if dimension is None:
        return f"{lookup.table} is not declared{nearest(lookup.table, list(tables))}"
    if not dimension.primary_key:
        return f"{lookup.table} has no primary_key, by which rows are looked up"
    key = list(lookup.on.values())
    if sorted(key) != sorted(dimension.primary_key):
        return (
            f"on gives {', '.join(key)} of {lookup.table}, and it must give each column of its primary key once: "
            f"{', '.join(dimension.primary_key)}"
        )
    if dimension.columns:
        for column in lookup.columns.values():
            if column not in dimension.columns:
                return f"{column!r:.80} is not a column of {lookup.table}{nearest(column, list(dimension.columns))}"
    return _types(spec, lookup, dimension)


def _types(spec: TableSpec, lookup: Lookup, dimension: TableSpec) -> str:
    for mine, theirs in (*lookup.on.items(), *lookup.columns.items()):
        try:
            one, other = (
                parse_type(text) if (text := found.columns.get(column)) else None
                for found, column in ((spec, mine), (dimension, theirs))
            )
        except PaimonError:  # the check of the columns reports the type
            continue
        if one is not None and other is not None and (why := type_mismatch(one, other)):
            return f"{mine} is {one}, and {theirs} of {lookup.table} is {other}: {why}"
        if other is not None and mine in lookup.on and other.root in INEXACT:
            return f"{theirs} of {lookup.table} is {other}: rows are not looked up by numbers that are not exact"
    return ""


def type_mismatch(one: DataType, other: DataType) -> str:
    """Return why values of the type ``other`` cannot be values of the type ``one``; "" when they can.

    The ids of nested fields do not matter, because each table has ids of its own. NULL and NOT NULL do not matter.
    """
    return "" if str(one.with_nullable(True)) == str(other.with_nullable(True)) else "both must have the same type"
