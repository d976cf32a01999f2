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

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paimon_core.catalog.catalog import Catalog


def tail(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the last changes of a table, the newest last: rows with their row kinds and snapshots."""
    table = table_of(catalog, args)
    latest, wanted = table.latest_snapshot(), checked_count(args.n)
    if latest is None:
        print_rows(out, pa.table({}), "no rows")
        return 0
    kept: list[pa.Table] = []
    first = table.context.snapshots.earliest_id() or latest.id
    for end in range(latest.id, first - 1, -1):
        if end == first and first > 1:
            break  # the changes of the oldest snapshot need the expired one before it
        found = table.changes(end - 1, end, columns=args.columns, with_commit=True)
        kept.insert(0, last_rows(found.to_batches(), found.schema, wanted))
        wanted -= len(kept[0])
        if not wanted:
            break
    print_rows(out, pa.concat_tables(kept) if kept else pa.table({}), "no changes in the snapshots that exist")
    return 0


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
