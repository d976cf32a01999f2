"""Tails: the last changes of a table."""

from __future__ import annotations

import argparse
from collections import deque
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.cells import print_rows
from paimon_core.cli.output.output import Output
from paimon_core.cli.rows.queries import checked_count
from paimon_core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from paimon_core.catalog.catalog import Catalog
    from paimon_core.metadata.snapshot import Snapshot
    from paimon_core.table.table import Table


def tail(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the last changes of a table, the newest last: rows with their row kinds and snapshots.

    With ``--follow``, print the changes of new commits until a signal or ``--seconds`` ends the command with code 0.
    """
    table = table_of(catalog, args)
    wanted = checked_count(10 if args.n is None else args.n)
    if args.follow:
        return _follow(lambda: table_of(catalog, args), table, wanted, args, out)
    for name, value in (("--from", args.start), ("--every", args.every), ("--seconds", args.seconds)):
        if value is not None:
            raise InvalidRequest(f"{name} needs --follow")
    latest = table.latest_snapshot()
    if latest is None:
        print_rows(out, pa.table({}), "no rows")
        return 0
    rows = last_changes(table, latest, wanted, args.columns)
    print_rows(out, rows, "no changes in the snapshots that exist")
    return 0


def _follow(opened: Callable[[], Table], table: Table, wanted: int, args: argparse.Namespace, out: Output) -> int:
    from paimon_core.cli.rows.follow import follow, start_of  # would make `--help` slow
    from paimon_core.table.stream.position import Position

    args.every = 1.0 if args.every is None else args.every
    if not args.every:
        raise InvalidRequest("--every must be more than 0 seconds")
    if args.start is None:
        latest = table.latest_snapshot()
        rows = None if latest is None or not wanted else last_changes(table, latest, wanted, args.columns)
        position = start_of(table, "now") if latest is None else Position.after(latest)
    else:
        if args.n is not None:
            raise InvalidRequest("-n cannot be given with --from: --from says where the changes begin")
        rows, position = None, start_of(table, args.start)
    follow(opened, position, rows, args, out)
    return 0


def last_changes(table: Table, latest: Snapshot, wanted: int, columns: list[str] | None) -> pa.Table:
    """Return the last ``wanted`` changes up to the snapshot ``latest``, of the snapshots that have not expired."""
    kept: list[pa.Table] = []
    first = table.context.snapshots.earliest_id() or latest.id
    for end in range(latest.id, first - 1, -1):
        if end == first and first > 1:
            break  # the changes of the oldest snapshot need the expired one before it
        found = table.changes(end - 1, end, columns=columns, with_commit=True)
        kept.insert(0, last_rows(found.to_batches(), found.schema, wanted))
        wanted -= len(kept[0])
        if not wanted:
            break
    return pa.concat_tables(kept) if kept else pa.table({})


def last_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema, count: int) -> pa.Table:
    """Return the last ``count`` rows of the batches; holds no batch that comes before these rows."""
    kept: deque[pa.RecordBatch] = deque()
    held = 0
    for batch in batches:
        kept.append(batch)
        held += len(batch)
        while kept and held - len(kept[0]) >= count:
            held -= len(kept.popleft())
    return pa.Table.from_batches(kept, schema).slice(max(0, held - count))
