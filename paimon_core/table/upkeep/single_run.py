"""Single run: does one piece of maintenance that is not the compaction of buckets."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.commit.author import Author
from paimon_core.compact.compaction import spread_postponed
from paimon_core.errors import CommitConflict, PaimonError, PlanOutdated
from paimon_core.health.plan.candidates import COMPACT, COMPACT_MANIFESTS, EXPIRE
from paimon_core.health.plan.outcome import CONFLICT, DONE, FAILED, NOTHING, Outcome
from paimon_core.health.plan.works import Work
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate, col
from paimon_core.table.upkeep.group_run import RunLabel
from paimon_core.table.upkeep.peak_memory import PeakMemory

if TYPE_CHECKING:
    from paimon_core.table.table import Table


def run_single(table: Table, author: Author, work: Work, label: RunLabel) -> Outcome:
    """Do the work and return its outcome; raises only errors that are no PaimonError."""
    started, begun = time.time_ns() // 1_000_000, time.perf_counter()
    outcome = label.outcome(work.candidate, NOTHING, 0.0, started)
    with PeakMemory() as memory:
        try:
            found = _run(table, author, work, outcome)
        except (CommitConflict, PlanOutdated) as error:
            found = label.outcome(work.candidate, CONFLICT, 0.0, started, error)
        except PaimonError as error:
            found = label.outcome(work.candidate, FAILED, 0.0, started, error)
        growth = memory.growth()
    seconds = round(time.perf_counter() - begun, 4)
    return replace(found, seconds=seconds, peak_memory=growth, group_peak_memory=work.candidate.peak_memory)


def _run(table: Table, author: Author, work: Work, outcome: Outcome) -> Outcome:
    context, action = table.context, work.candidate.action
    if action == EXPIRE:
        report = table.expire_snapshots()
        if not report.expired:
            return outcome
        freed = report.removed
        return replace(
            outcome, status=DONE, saved=float(freed.size_bytes), files_removed=freed.data_files + freed.metadata_files
        )
    if action == COMPACT_MANIFESTS:
        return _of_manifests(context, table.maintenance.compact_manifests(), outcome)
    snapshot: Snapshot | None
    if action == COMPACT:
        assert work.partition is not None
        moved = spread_postponed(context, author, None, {work.partition})
        snapshot = None if moved.snapshot is None else table.settle(moved.snapshot)
    else:
        assert work.partition is not None
        where = _filter(context, work.partition)
        snapshot = table.rescale(where=where, user=author.user, properties=author.properties)
    return outcome if snapshot is None else _of_delta(context, snapshot, outcome)


def _of_manifests(context: TableContext, snapshot: Snapshot | None, outcome: Outcome) -> Outcome:
    if snapshot is None:
        return outcome
    written = context.manifests.manifests_of(snapshot)
    candidate = outcome.candidate
    return replace(
        outcome,
        status=DONE,
        snapshot=snapshot.id,
        saved=candidate.saved,
        bytes_read=candidate.bytes_read,
        bytes_written=sum(m.file_size for m in written),
        files_added=len(written),
    )


def _of_delta(context: TableContext, snapshot: Snapshot, outcome: Outcome) -> Outcome:
    """Return the outcome with the bytes of the files that the snapshot removed and added."""
    with context.manifests.reading(snapshot):
        listed = context.manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        entries = [e for m in listed for e in context.manifests.read_manifest(m.file_name, m.file_size)]
    removed = [e.file.file_size for e in entries if e.kind is FileKind.DELETE]
    added = [e.file.file_size for e in entries if e.kind is FileKind.ADD]
    return replace(
        outcome,
        status=DONE,
        snapshot=snapshot.id,
        saved=outcome.candidate.saved,
        bytes_read=sum(removed),
        bytes_written=sum(added),
        files_removed=len(removed),
        files_added=len(added),
    )


def _filter(context: TableContext, partition: bytes) -> Predicate | None:
    """Return the filter that selects exactly one partition; None for a table without partitions."""
    fields = context.schema.partition_fields
    values = decode_row(partition, [f.type for f in fields])
    parts = [
        col(f.name).is_null() if value is None else col(f.name) == value
        for f, value in zip(fields, values, strict=True)
    ]
    return reduce(lambda one, other: one & other, parts) if parts else None
