"""Copies: copies one version of a table to a new table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_core.cli.catalogs.opening import target_catalog
from paimon_core.cli.catalogs.remedies import database_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import counted
from paimon_core.cli.rows.exports import batches_of
from paimon_core.cli.rows.queries import view_of
from paimon_core.errors import CommitStateUnknown, PaimonError
from paimon_core.options.registry import is_for_new_tables

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table
    from paimon_core.table.view import TableView


def copy(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Copy one version of a table to a new table with the same columns, keys and options: its rows or its files."""
    source = view_of(catalog, args)
    target = target_catalog(catalog, args)
    with database_of(target, args.to, is_wanted=args.create_database):
        if args.by_reference:
            from paimon_core.catalog.linked_copy import linked_copy

            table, shared = linked_copy(source, target, args.to)
            how = f"; it shares {counted(shared, 'file')} with {args.table}"
        else:
            table, shared, how = _rows_copied(source, target, args.to), 0, ""
    left = sorted(set(source.schema.options) - set(table.schema.options) - {"path"})
    how += f"; not copied are the keys {', '.join(left)}, which are no options of Paimon" if left else ""
    latest = table.latest_snapshot()
    rows = 0 if latest is None else table.scan().count()
    text = (
        f"{counted(rows, 'row')} of {args.table} copied to {args.to}{how}; snapshots, tags and branches were not copied"
    )
    snapshot = None if latest is None else latest.id
    out.say(
        text, {"table": args.to, "rows": rows, "snapshot": snapshot, "shared_files": shared, "options_not_copied": left}
    )
    return 0


def _rows_copied(source: TableView, target: Catalog, name: str) -> Table:
    """Create a table and write the rows of a version to it.

    After an error the new table does not exist, unless it has a snapshot: then another process has committed to it, or
    the commit of the copy succeeded or may have succeeded. It is kept then, and the error says so.
    """
    schema = source.schema
    table = target.create_table(
        name,
        source.arrow_schema,
        primary_key=list(schema.primary_keys),
        partition_by=list(schema.partition_keys),
        options={key: text for key, text in schema.options.items() if key != "path" and is_for_new_tables(key)},
        comment=schema.comment,
    )
    try:
        scan = source.scan()
        table.write(pa.RecordBatchReader.from_batches(scan.schema, batches_of(scan, "copy")))
    except BaseException as error:
        kept = _reason_to_keep(table, error)
        if not kept:
            target.drop_table(name, ignore_if_missing=True)
            raise
        note = f"table {name} was created and is kept: {kept}"
        if isinstance(error, PaimonError):
            raise type(error)(f"{error.message}; {note}", **error.facts) from error
        error.add_note(note)
        raise
    return table


def _reason_to_keep(table: Table, error: BaseException) -> str:
    """Return why a new table must not be dropped after an error; "" when it may be dropped."""
    if isinstance(error, CommitStateUnknown):
        return "it is not known whether its rows were committed"
    try:
        latest = table.latest_snapshot()
    except PaimonError as problem:  # also TableNotFound: another process has dropped or replaced it
        return f"its state cannot be read ({problem})"
    return "" if latest is None else f"it has snapshot {latest.id} of user {latest.commit_user}"
