"""Compactions: for each bucket, the compaction that the options pick, and the compaction of all runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from paimon_core.compact.changelog import changelog_producer
from paimon_core.compact.clustering import cluster_tasks, is_clustered
from paimon_core.compact.compactor import steps_of
from paimon_core.compact.pick import Extent, pick_tasks
from paimon_core.compact.record_expiry import RecordExpiry
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.health.layout import Layout
from paimon_core.health.places import counted, megabytes
from paimon_core.health.plan.bucket_state import BucketState
from paimon_core.health.plan.candidates import CLUSTER, COMPACT, Candidate
from paimon_core.health.plan.distinct_keys import distinct_keys, distinct_of, rows_of_runs
from paimon_core.health.plan.history import Place
from paimon_core.health.plan.measured import Measured
from paimon_core.health.plan.memory import peak_memory
from paimon_core.lsm.compaction.rewrite_plan import Rewrite
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.plan_scan import hides_level_0
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.table_indexes.bucket_vectors import vectors_in

_FITTED = 10_000
"""So many files are enough to find the bytes of a file that do not depend on its rows."""
_Place = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class CompactionWork:
    """A candidate with the task that does it, and the state of the bucket before and after it."""

    candidate: Candidate
    task: CompactionTask
    before: BucketState
    runs_after: int
    written_factor: float
    """The correction from earlier runs that ``Candidate.bytes_written`` contains."""


def compaction_works(
    context: TableContext, snapshot: Snapshot, layout: Layout, measured: Measured
) -> Iterator[CompactionWork]:
    """Yield the compactions of the buckets of a snapshot that lower the cost of a scan.

    The compaction that the options pick and the full compaction of a bucket are alternatives.
    Only the metadata of partitions with files that can be saved is decoded row by row. Raises SnapshotNotFound,
    CorruptTable, and UnsupportedFeature for files that no compaction can rewrite.
    """
    worth = (layout.files > layout.needed_files) | (layout.merged_bytes > 0)
    if context.is_keyed:
        worth |= (layout.level_0_files > 0) & hides_level_0(context.schema, context.options)
    partitions = {layout.partitions[i] for i in np.unique(layout.partition[worth])}
    if not partitions:
        return
    with context.manifests.reading(snapshot):
        indexes = context.manifests.read_indexes(snapshot.index_manifest)
        entries = context.manifests.entries_of(snapshot, partitions)
    entries = [e for e in entries if e.partition in partitions and e.bucket >= 0]
    clusters = is_clustered(context)
    pick = cluster_tasks if clusters else pick_tasks
    found: dict[_Place, list[CompactionTask]] = {}
    usual = pick(context, entries, indexes=indexes)
    full = (
        cluster_tasks(context, entries, indexes, full=True)
        if clusters
        else pick_tasks(context, entries, Extent.SETTLED, indexes=indexes)
    )
    for task in (*usual, *full):
        found.setdefault((task.partition, task.bucket), []).append(task)
    overhead = _file_overhead([e.file for e in entries[-_FITTED:]])
    forecast = _Forecast(context, measured, overhead, CLUSTER if clusters else COMPACT)
    for place, files in by_bucket(entries).items():
        works = [forecast.work(_state(context, [e.file for e in files]), task) for task in found.get(place, ())]
        yield from {work.candidate: work for work in works if work.candidate.saved > 0}.values()


def with_domain(context: TableContext, work: CompactionWork, domain: float, measured: Measured) -> CompactionWork:
    """Return the forecast of the same task with a known domain of keys (``Outcome.key_domain``)."""
    files = work.task.unit.files if isinstance(work.task.unit, CompactionUnit) else ()
    known = replace(measured, domains={Place.of(work.candidate): domain})
    return _Forecast(context, known, _file_overhead(files), work.candidate.action).work(work.before, work.task)


def _file_overhead(files: Sequence[DataFile]) -> float:
    """Return the bytes of a file that do not depend on its rows: where the line through rows and bytes begins."""
    rows = np.array([f.row_count for f in files], float)
    size = np.array([f.file_size for f in files], float)
    if len(rows) == 0 or np.ptp(rows) == 0:
        return 0.0
    return float(np.clip(np.polyfit(rows, size, 1)[1], 0, size.min()))


@dataclass(frozen=True, slots=True)
class _Forecast:
    context: TableContext
    measured: Measured
    overhead: float
    action: str

    def work(self, before: BucketState, task: CompactionTask) -> CompactionWork:
        """Return the forecast of a task of the bucket that is now as ``before`` says."""
        branch, table = self.context.branch, self.context.name.partition("$")[0]
        where = self.context.partition_path(task.partition) or None
        domain = self.measured.domains.get(Place(table, branch, self.action, where, task.bucket))
        read, added, written = self._rewritten(task, domain)
        # With a known domain of keys, the number of rows is known: what the factor corrects would be corrected twice.
        factor = self.measured.written.get((table, branch, self.action), 1.0) if domain is None else 1.0
        written *= factor
        runs_after = 1 if isinstance(task.unit, AppendUnit) else task.unit.runs_left + 1
        removed_bytes = sum(f.file_size for f in read)
        sizes = [int(written) // max(1, added)] * added
        after = before.after([f.file_size for f in read], sizes, runs_after)
        size = removed_bytes + int(written)
        sort_bytes = self.context.options["write-buffer-size"] if self.action == CLUSTER else 0
        runs = before.runs if self.context.is_keyed else 1
        candidate = Candidate(
            table=table,
            branch=branch,
            action=self.action,
            partition=where,
            bucket=task.bucket,
            saved=before.weight - after.weight,
            bytes_read=removed_bytes,
            bytes_written=int(written),
            seconds=self.measured.seconds(self.action, size),
            peak_memory=peak_memory(read, self.context.schema, runs, sort_bytes),
            reason=f"{counted(before.files, 'file')} of {megabytes(before.bytes)}"
            + (f" in {counted(before.runs, 'sorted run')}" if self.context.is_keyed else ""),
        )
        return CompactionWork(candidate, task, before, runs_after, factor)

    def _rewritten(self, task: CompactionTask, domain: float | None) -> tuple[list[DataFile], int, float]:
        """Return the files whose rows are written again, and the number and bytes of the new files.

        ``domain``: see ``Outcome.key_domain``; None if it is not known.
        """
        target = max(1, self.context.options.target_file_bytes(keyed=self.context.is_keyed))
        unit = task.unit
        groups: list[tuple[Sequence[DataFile], float]] = []
        if isinstance(unit, AppendUnit):
            vectors = vectors_in(task.indexes)
            for group in unit.groups:
                gone = sum(vectors[f.file_name][1].cardinality or 0 for f in group if f.file_name in vectors)
                groups.append((group, max(0.0, sum(f.row_count for f in group) - gone)))
        else:
            keys, buckets = self.context.schema.key_fields, max(1, task.total_buckets)
            expiry = RecordExpiry.of(self.context)
            reader = BucketReader(
                self.context, task.partition, task.bucket, keep=expiry, vectors=vectors_in(task.indexes)
            )
            for step in steps_of(reader, unit, expiry, changelog_producer(reader, unit, task.higher)):
                if isinstance(step, Rewrite):
                    left = (
                        sum(distinct_keys(section.files, keys, buckets) for section in step.sections)
                        if domain is None
                        else distinct_of(rows_of_runs(step.files), domain)
                    )
                    deletes = sum(f.delete_row_count or 0 for f in step.files) if unit.drop_delete else 0
                    groups.append((step.files, max(0.0, left - deletes)))
        read: list[DataFile] = []
        files, written = 0, 0.0
        for some, rows in groups:
            held = sum(f.row_count for f in some)
            content = max(0.0, sum(f.file_size for f in some) - self.overhead * len(some))
            size = content * rows / max(1, held)
            count = max(1, math.ceil(size / target)) if rows else 0
            read += some
            files += count
            written += size + self.overhead * count
        return read, files, written


def _state(context: TableContext, files: Sequence[DataFile]) -> BucketState:
    runs = len(files)
    if context.is_keyed:
        runs = sum(f.level == 0 for f in files) + len({f.level for f in files if f.level > 0})
    merges = context.is_keyed and not hides_level_0(context.schema, context.options)
    return BucketState.of([f.file_size for f in files], runs, merges=merges, file_format=context.options["file.format"])
