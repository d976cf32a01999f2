"""Incremental scans: reads of the rows that changed, by Paimon's options ``incremental-*`` (format 15.5).

An incremental scan returns rows that were added or changed, without row kinds; removed rows are left out. As in Java,
modes "delta" and "changelog" return the rows as they were written, so a key may occur several times, and overwrites are
left out. Mode "diff" compares two versions. In append tables, Java also returns unchanged rows that were only written
to another file; this library does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from paimon_core.errors import InvalidRequest, TagNotFound, UnsupportedFeature
from paimon_core.lsm.merge import adds
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.microseconds import in_microseconds
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.times.automatic_tag_names import Periods
from paimon_core.plan.changelog_plan import (
    ChangedFile,
    changed_files,
    changed_snapshot,
    changed_snapshots,
    check_producer,
)
from paimon_core.plan.live_files import ScanCounts
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.plan.prune import PartitionPruner
from paimon_core.plan.split import Packing, Split
from paimon_core.predicate import Predicate, Where
from paimon_core.query.counting import count_partitions
from paimon_core.query.description import Batching, ScanDescription
from paimon_core.query.planned_rows import PlannedRows
from paimon_core.query.scan import Scan, new_scan
from paimon_core.table.changes.difference import PlacedRows, as_changes, difference
from paimon_core.table.changes.versions import EMPTY, Version, find_version, known, version_of

_ID = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True)
class WrittenPlan:
    """Plans a read of the new files of the snapshots ``steps`` or, with ``logged``, of their changelog files."""

    steps: tuple[Snapshot, ...]
    logged: bool = False

    def __call__(self, scan: ScanDescription) -> ScanPlan:
        """Return the splits with these files; rows of different files are not merged."""
        keeps = _partition_test(scan.context, scan.where)
        splits: list[Split] = []
        count = 0
        for snapshot in self.steps:
            changed = changed_files(scan.context, snapshot, changelog=self.logged)
            files = [file for file in changed if keeps(file.partition)]
            count += len(files)
            splits += (split for place in by_bucket(files).values() for split in _splits(scan.context, snapshot, place))
        counts = ScanCounts(files_total=count, files_selected=count)
        return ScanPlan(scan.snapshot, scan.context.schema, scan.where, tuple(splits), counts)


def _splits(context: TableContext, snapshot: Snapshot, place: Sequence[ChangedFile]) -> Iterator[Split]:
    options, first = context.options, place[0]
    packing = Packing(options["source.split.target-size"], options["source.split.open-file-cost"])
    for files in packing.pack([changed.file for changed in place], lambda f: f.file_size):
        # With a primary key, each file is a separate section, so that deletes are dropped and no rows of two files are
        # merged.
        layout = tuple(((at,),) for at in range(len(files))) if context.is_keyed else ()
        yield Split(
            first.partition,
            first.bucket,
            first.total_buckets,
            snapshot.id,
            tuple(files),
            not layout,
            layout,
            snapshot.delta_manifest_list,
        )


@dataclass(frozen=True)
class DifferenceRows:
    """A source of the rows that a later version has and an earlier version lacks; it has no splits."""

    compared: tuple[Snapshot | None, Snapshot | None] | None = None
    """The earlier and the later version; None when nothing changed."""

    def plan(self, scan: ScanDescription) -> ScanPlan:
        """Raise UnsupportedFeature."""
        raise UnsupportedFeature(
            f"table {scan.context.name}: an incremental scan in mode diff has no splits: read all of it"
        )

    def batches(self, scan: ScanDescription, batching: Batching) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in bounded memory, in this thread."""
        left = scan.limit
        bound = None if scan.where is None else scan.where.bind(scan.context.schema.fields)
        for placed in self._differences(scan) if left != 0 else ():
            rows = adds(placed.rows)
            kept = rows if bound is None else rows.filter(bound.to_arrow())
            chosen = kept.select(list(scan.columns)).slice(0, left)
            yield from chosen.cast(scan.schema).to_batches()
            left = None if left is None else left - len(chosen)
            if left == 0:
                return

    def count(self, scan: ScanDescription) -> int:
        """Return the number of rows, by reading them."""
        return sum(map(len, self.batches(scan, Batching())))

    def count_by_partition(self, scan: ScanDescription) -> pa.Table:
        """Raise UnsupportedFeature, as ``plan`` does."""
        return count_partitions(scan)

    def explain(self, scan: ScanDescription, *, analyze: bool) -> str:
        """Return a text that names the compared versions; ``analyze`` has no effect."""
        if self.compared is None:
            return "nothing changed"
        ids = ["the empty table" if s is None else f"snapshot {s.id}" for s in self.compared]
        return f"difference of {ids[0]} and {ids[1]}"

    def narrowed(self, scan: ScanDescription) -> DifferenceRows:
        """Return this source, because columns and filter do not change the versions."""
        return self

    def changes(self, scan: ScanDescription, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield all rows that differ: ``rowkind``, then ``columns``; ``where`` is used only to leave out partitions."""
        for placed in self._differences(scan):
            for batch in as_changes(scan.context, placed.rows, columns, None):
                yield pa.Table.from_batches([batch])

    def _differences(self, scan: ScanDescription) -> Iterator[PlacedRows]:
        return iter(()) if self.compared is None else difference(scan.context, *self.compared, scan.where)


def _partition_test(context: TableContext, where: Predicate | None) -> Any:
    fields = context.schema
    pruner = None if where is None else PartitionPruner.of(where.bind(fields.fields), fields.partition_fields)
    return (lambda partition: True) if pruner is None else pruner.keeps


def incremental_scan(
    context: TableContext,
    option: str,
    value: Any,
    columns: Sequence[str] | None,
    where: Where | None,
    limit: int | None,
    *,
    micros: bool = False,
) -> Scan:
    """Return the scan of the changes that the ``option`` with this ``value`` selects.

    Raises InvalidRequest for an invalid range, SnapshotNotFound for an expired snapshot, TagNotFound for a deleted tag.
    """
    context.options.check_scannable(context.name)
    check_producer(context)
    context = in_microseconds(context) if micros else context
    scan = new_scan(context, context.snapshots.latest(), columns, where, limit)
    mode = context.options["incremental-between-scan-mode"]
    found: tuple[Version, Version] | None
    if option == "scan.mode":  # latest-delta
        last = version_of(scan.snapshot)
        found, mode = (Version(max(last.id - 1, 0), None, f"snapshot {last.id - 1}"), last), "delta"
    elif option == "incremental-to-auto-tag":
        found, mode = _to_auto_tag(context, value), "diff"
    elif option == "incremental-between-timestamp":
        found = _between_times(context, *value)
    else:
        found, mode = _between(context, value[0], value[1], mode)
    if found is None or found[0].id == found[1].id:
        return replace(scan, source=DifferenceRows())
    start, end = found
    if mode == "auto":
        mode = "delta" if context.options["changelog-producer"] == "none" or not context.is_keyed else "changelog"
    if mode == "diff":
        versions = known(context, start).snapshot, known(context, end).snapshot
        return replace(scan, source=DifferenceRows(versions))
    steps = [changed_snapshot(context, i) for i in changed_snapshots(context, start.id, end.id, None)]
    if mode == "changelog":
        planner = WrittenPlan(tuple(s for s in steps if s.commit_kind is not CommitKind.OVERWRITE), logged=True)
    else:
        planner = WrittenPlan(tuple(s for s in steps if s.commit_kind is CommitKind.APPEND))
    return replace(scan, source=PlannedRows(planner))


def _between(context: TableContext, left: str, right: str, mode: str) -> tuple[tuple[Version, Version], str]:
    tags = set(context.tags.names())
    if {left, right} <= tags:
        found = [context.tags.read(name).snapshot for name in (left, right)]
        if not context.options["incremental-between-tag-to-snapshot"]:
            mode = "diff"
    elif _ID.fullmatch(left) and _ID.fullmatch(right):
        start, end = (find_version(context, int(text), "incremental-between") for text in (left, right))
        return (_ordered(context, start, end), mode)
    else:
        raise InvalidRequest(
            f"option incremental-between = {left},{right} of table {context.name} has neither two tags nor two "
            "snapshot ids",
            table=context.name,
        )
    return (_ordered(context, *map(version_of, found)), mode)


def _ordered(context: TableContext, start: Version, end: Version) -> tuple[Version, Version]:
    if start.id > end.id:
        raise InvalidRequest(
            f"incremental read of table {context.name}: start ({start.name}) comes after end ({end.name})",
            table=context.name,
        )
    return start, end


def _between_times(context: TableContext, start: int, end: int) -> tuple[Version, Version] | None:
    ids = context.snapshots.ids()
    if start > end:
        raise InvalidRequest(f"option incremental-between-timestamp: start {start} is after end {end}")
    if not ids or start == end:
        return None
    earliest, latest = context.snapshots.read(ids[0]), context.snapshots.read(ids[-1])
    if start > latest.time_millis or end < earliest.time_millis:
        return None
    first = Version(ids[0] - 1, None, f"snapshot {ids[0] - 1}") if ids[0] > 1 else EMPTY
    if earliest.time_millis <= start:
        first = version_of(context.snapshots.as_of(start))
    return first, version_of(context.snapshots.as_of(end))


def _to_auto_tag(context: TableContext, name: str) -> tuple[Version, Version] | None:
    """Return the versions of the automatic tag before ``name`` and of tag ``name``; None if one of the tags is
    missing.
    """
    periods = Periods.of(context.options)
    own = periods.start(name)
    if own is None:
        raise InvalidRequest(
            f"option incremental-to-auto-tag = {name} of table {context.name}: no automatic tag has this name",
            table=context.name,
        )
    starts = {tag.name: periods.start(tag.name) for tag in context.tags.list()}
    before = [(start, tag) for tag, start in starts.items() if start is not None and start < own]
    if name not in starts or not before:
        return None
    try:
        found = [context.tags.read(tag).snapshot for tag in (max(before)[1], name)]
    except TagNotFound:
        return None
    return _ordered(context, *map(version_of, found))
