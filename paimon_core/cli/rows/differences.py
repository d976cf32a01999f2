"""Differences: the changes between two versions of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.argument_checks import parsed_id
from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.cells import print_limited
from paimon_core.cli.output.output import Output
from paimon_core.cli.parsing.adding import LIMIT
from paimon_core.cli.rows.queries import checked_count
from paimon_core.errors import InvalidRequest

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.changes.changes import Changes


def changes(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the changes between two versions: rows with their row kinds."""
    found = table_of(catalog, args).changes(
        _bound(args.start), _bound(args.end), columns=args.columns, where=args.where, with_commit=True
    )
    return _print_changes(found, args, out)


def diff(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the rows in which two versions differ, or only their number."""
    found = table_of(catalog, args).diff(_bound(args.a), _bound(args.b), args.columns)
    if args.summary and args.limit is not None:
        raise InvalidRequest("--limit cannot be given with --summary, which counts all differences")
    if not args.summary:
        return _print_changes(found, args, out)
    total = found.summary()
    columns = ", ".join(f"{name} {number:,}" for name, number in total.columns.items())
    text = f"{total.added:,} added, {total.removed:,} removed, {total.changed:,} changed"
    out.say(f"{text}{f'; changed values by column: {columns}' if columns else ''}", total)
    return 0


def _print_changes(found: Changes, args: argparse.Namespace, out: Output) -> int:
    from paimon_core.query.planned_rows import first_rows  # would make `--help` slow

    limit = LIMIT if args.limit is None else checked_count(args.limit)
    rows = pa.Table.from_batches(first_rows(found.to_batches(), limit + 1), found.schema)
    print_limited(out, rows, limit, "no changes")
    return 0


def _bound(text: str | None) -> Any:
    """Return a snapshot id as a number; the name of a tag or a time stays a text."""
    return parsed_id(text, "a version") if text is not None and text.isdecimal() else text
