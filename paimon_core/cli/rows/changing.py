"""Changing: deletes or updates the rows that match a filter; without ``--apply`` the commands only count these rows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import counted
from paimon_core.cli.parsing.values import key_values
from paimon_core.cli.rows.explanations import value_of_text
from paimon_core.errors import InvalidRequest

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.predicate import Predicate
    from paimon_core.table.table import Table

_UNCHANGED = "nothing was changed: add --apply"


def delete(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Delete the rows that match."""
    from paimon_core.table.rows.delete_update import checked_delete

    table = table_of(catalog, args)
    where = checked_delete(table.context, args.where)  # no count announces a change that ``--apply`` would refuse
    _change(table, args, out, _matching(table, where), "delete", "deleted", lambda: table.delete(args.where))
    return 0


def update(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Give columns of the rows that match new values."""
    from paimon_core.table.rows.delete_update import checked_update

    table = table_of(catalog, args)
    values: dict[str, Any] = dict.fromkeys(args.set_null)
    for name, text in key_values("--set", args.set).items():
        if name in values:
            raise InvalidRequest(f"column {name!r} is in --set and in --set-null")
        values[name] = value_of_text(table, name, text)
    if not values:
        raise InvalidRequest("update needs --set COLUMN=VALUE or --set-null COLUMN")
    for name in values:
        if name not in table.schema.by_name:
            raise InvalidRequest(
                f"table {table.name} has no column {name!r}: its columns are {table.schema.names}", column=name
            )
    where = checked_update(table.context, args.where, values)
    _change(table, args, out, _matching(table, where), "update", "updated", lambda: table.update(args.where, values))
    return 0


def _matching(table: Table, where: Predicate) -> int:
    """Return the number of rows that a change finds: it also merges rows of level 0 that reads leave out."""
    from paimon_core.query.scan import new_scan

    return new_scan(table.context.merging_level_0(), table.latest_snapshot(), None, where, None, pinned=False).count()


def _change(table: Table, args: argparse.Namespace, out: Output, rows: int, would: str, done: str, act: Any) -> None:
    """Run ``act`` if the arguments ask for it, and print what it did or would do.

    ``rows`` were counted before; a concurrent commit may have changed the number since.
    """
    snapshot = act() if args.apply else None
    what = f"{counted(rows, 'row')} of {table.name}"
    if not args.apply:
        text = f"would {would} {what}\n{_UNCHANGED}"
    else:
        text = f"{done} {what}: " + ("nothing was committed" if snapshot is None else f"snapshot {snapshot.id}")
    number = None if snapshot is None else snapshot.id
    out.say(text, {"table": table.name, "rows": rows, "applied": args.apply, "snapshot": number})
