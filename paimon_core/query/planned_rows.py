"""PlannedRows: the rows of the splits of a plan, read in a few threads in bounded memory.

A function makes the plan from the scan: ``snapshot_plan`` plans one snapshot; another function may plan changes, for
example.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from paimon_core import processors
from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.read_again import is_missing
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.parallel_work import own_processors
from paimon_core.plan.plan_scan import ScanPlan, plan_scan
from paimon_core.plan.recorded_filters import record_filter
from paimon_core.plan.repack import evenly
from paimon_core.plan.split import Split
from paimon_core.plan.units import enough_splits
from paimon_core.query.counting import count_partitions, count_rows
from paimon_core.query.description import Batching, ScanDescription
from paimon_core.query.explained import explained
from paimon_core.query.scan_options import check_full_scan, protect
from paimon_core.read.parallel_batches import MAX_THREADS, parallel_batches
from paimon_core.read.row_reader import read_rows
from paimon_core.read.small_splits import groups_of_splits, has_few_values, read_together

_MAX_ROWS = 2**62
_SHARES = 4
"""The least number of groups of small splits that each of several threads gets."""


@dataclass(frozen=True)
class PlannedRows:
    """The source of a scan that has splits."""

    planner: Callable[[ScanDescription], ScanPlan]
    """Makes the plan of a scan; a value that can be pickled."""

    def plan(self, scan: ScanDescription) -> ScanPlan:
        """Return the plan that the planner makes."""
        try:
            return self.planner(scan)
        finally:
            scan.context.manifests.release_ahead()

    def batches(self, scan: ScanDescription, batching: Batching) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the splits of the plan; by default at most 8 threads read, 1 thread with a limit."""
        if scan.limit == 0:
            return
        found = scan.plan.splits if scan.where is not None else enough_splits(scan.plan.splits, scan.limit)
        threads = batching.threads
        if threads is None:
            threads = min(processors.usable(), MAX_THREADS) if scan.limit is None else 1
            if scan.context.storage.is_local and has_few_values(found, len(scan.columns)):
                threads = 1  # threads would wait for the lock of the interpreter, not for storage or decoding
        splits = evenly(found, threads) if threads > 1 else found
        schema = scan.schema
        # Several splits at the same time use all processors, so each split is decoded in one thread.
        has_spare = min(threads, len(splits)) < own_processors()
        request = replace(scan.request, limit=scan.limit, threads=has_spare, ahead=has_spare and threads > 1)
        share = None if threads == 1 else max(1, len(splits) // (_SHARES * threads))
        groups = groups_of_splits(scan.context, splits, request, share)

        def read(group: Sequence[Split]) -> Iterator[pa.RecordBatch]:
            (first, *others) = group
            rows = read_together(scan.context, group, request) if others else read_rows(scan.context, first, request)
            return as_batches(rows, schema)

        batches = parallel_batches(
            read, groups, threads=threads, held_bytes=batching.held_bytes, ordered=batching.ordered
        )
        yield from batches if scan.limit is None else first_rows(batches, min(scan.limit, _MAX_ROWS))

    def count(self, scan: ScanDescription) -> int:
        """Return the number of rows.

        Files that are not merged, and whose rows all pass the filter, are counted from metadata.
        """
        if not scan.filters_metadata:
            return count_rows(scan)
        narrow = replace(scan, columns=scan.columns[:1]).with_plan_of(scan).with_damaged_of(scan)
        return sum(map(len, self.batches(narrow, Batching())))

    def count_by_partition(self, scan: ScanDescription) -> pa.Table:
        """Return the number of rows of each partition; metadata is used in the same way as in ``count``."""
        return count_partitions(scan)

    def explain(self, scan: ScanDescription, *, analyze: bool) -> Any:
        """Return the explanation of the plan."""
        return explained(scan, analyze=analyze)

    def narrowed(self, scan: ScanDescription) -> PlannedRows:
        """Return this source, because ``plan`` gets the narrowed scan as its argument."""
        return self


def snapshot_plan(scan: ScanDescription) -> ScanPlan:
    """Return the plan of the scan's snapshot; if the scan is not pinned and its snapshot has expired, return the plan
    of a newer snapshot.
    """
    try:
        return _plan(scan, scan.snapshot)
    except (SnapshotNotFound, CorruptTable) as error:
        if not is_missing(error):
            raise
        check_same_table(scan.context)
        if scan.pinned or scan.context.snapshots.latest() == scan.snapshot:
            raise
    return read_latest(scan.context.snapshots, partial(_plan, scan))


SNAPSHOT_ROWS = PlannedRows(snapshot_plan)
"""The source of an ordinary scan: the rows of one snapshot."""


def _plan(scan: ScanDescription, snapshot: Snapshot | None) -> ScanPlan:
    context = scan.context
    protect(context, snapshot)
    where = None if scan.where is None else scan.where.only(context.schema.by_name)
    plan = plan_scan(
        snapshot=snapshot,
        schema=context.schema,
        options=context.options,
        manifests=context.manifests,
        schemas=context.schemas.read,
        where=where,
        created_from=scan.created_from,
    )
    record_filter(context.paths.root, where, plan.counts)
    check_full_scan(context, plan)
    return plan


def as_batches(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of Arrow tables as batches of ``schema``, which has the same columns under the result's names."""
    for table in tables:
        yield from pa.Table.from_arrays(table.columns, schema=schema).to_batches()


def first_rows(batches: Iterator[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    """Yield the first ``count`` rows; no batch after them is read."""
    with contextlib.closing(batches):  # type: ignore[type-var]
        for batch in batches:
            yield batch.slice(0, count)
            count -= min(count, len(batch))
            if not count:
                return
