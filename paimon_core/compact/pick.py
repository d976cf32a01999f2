"""Picking: chooses the buckets to compact now, and the files of each bucket (format 8.2 to 8.4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from enum import Enum

from paimon_core.compact.append import candidates, pick_append
from paimon_core.compact.record_expiry import RecordExpiry
from paimon_core.compact.sort_order import SortOrder
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.lsm.compaction.schedule import Moment
from paimon_core.lsm.compaction.strategy import Strategy, needs_lookup
from paimon_core.lsm.compaction.universal import CompactionUnit, full_unit
from paimon_core.lsm.key_order import key_order
from paimon_core.lsm.levels import Levels, num_levels
from paimon_core.metadata import clock
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.manifests.index_manifest import IndexEntry
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.table_indexes.bucket_vectors import index_files_by_bucket, vectors_in
from paimon_core.table_indexes.live_vectors import Vectors


class Extent(Enum):
    """How much of a bucket is compacted."""

    AS_NEEDED = "what the options require"
    SETTLED = "everything, unless it is already one run at the last level"
    REWRITTEN = "everything; with compaction.force-rewrite-all-files also a bucket that is already one run there"


def pick_tasks(
    context: TableContext,
    entries: Sequence[ManifestEntry],
    extent: Extent = Extent.AS_NEEDED,
    *,
    overdue: Collection[tuple[bytes, int]] = (),
    indexes: Sequence[IndexEntry] = (),
    now_millis: int | None = None,
) -> list[CompactionTask]:
    """Return the compactions that the live ``entries`` require at an epoch time (None: now), largest first.

    ``overdue``: the (partition, bucket)s whose level 0 has waited too long under gentle compaction (format 8.3).
    ``indexes``: the table's index files. In an append table without buckets, at most ``compaction.file-num-limit``
    small files are considered, unless ``extent`` requires all files. Raises UnsupportedFeature for a data file with
    extra files other than file indexes.
    """
    buckets = rewritable(context, entries)
    now = clock.now_millis(now_millis)
    index_files = index_files_by_bucket(indexes)
    tasks = []
    left = context.options["compaction.file-num-limit"]
    limited = extent is Extent.AS_NEEDED and not context.is_keyed and not context.has_buckets
    for place, of_bucket in buckets.items():
        path = BucketReader(context, *place).path
        there = index_files.get(place, ())
        files, vectors = [e.file for e in of_bucket], vectors_in(there)
        if limited:
            files = candidates(files, context.options, vectors)[:left]
            left -= len(files)
        unit = _pick(context, files, extent, now, place in overdue, path, vectors)
        if unit is not None:
            higher = _higher(context, of_bucket, unit)
            tasks.append(CompactionTask(*place, of_bucket[0].total_buckets, unit, higher=higher, indexes=there))
    return largest_first(tasks)


def sort_tasks(
    context: TableContext, entries: Sequence[ManifestEntry], order: SortOrder, indexes: Sequence[IndexEntry]
) -> list[CompactionTask]:
    """Return the compactions that sort all rows of each partition of an append table without buckets, largest first.

    Raises InvalidRequest for any other kind of table, UnsupportedFeature as ``pick_tasks`` does.
    """
    if context.is_keyed or context.has_buckets:
        raise InvalidRequest(
            f"table {context.name} has {'a primary key' if context.is_keyed else 'buckets'}: only an append table "
            "without buckets can be sorted, as its rows have no other order",
            table=context.name,
        )
    index_files = index_files_by_bucket(indexes)
    tasks = []
    for place, of_bucket in rewritable(context, entries).items():
        files = sorted((e.file for e in of_bucket), key=lambda f: (f.min_sequence_number, f.file_name))
        unit = AppendUnit((tuple(files),), order)
        tasks.append(CompactionTask(*place, of_bucket[0].total_buckets, unit, indexes=index_files.get(place, ())))
    return largest_first(tasks)


def largest_first(tasks: Iterable[CompactionTask]) -> list[CompactionTask]:
    """Return the tasks sorted by their input bytes, the largest first: the tasks that run last are then short."""
    return sorted(tasks, key=lambda t: (-t.input_bytes, t.partition, t.bucket))


def rewritable(context: TableContext, entries: Sequence[ManifestEntry]) -> dict[tuple[bytes, int], list[ManifestEntry]]:
    """Return the entries by partition and bucket; raises UnsupportedFeature for files that compaction cannot rewrite.

    Compaction cannot rewrite files with extra files other than file indexes, and files of a table that is not writable.
    """
    context.options.check_writable(context.name)
    for entry in entries:
        if entry.file.extra_files != entry.file.index_files:
            raise UnsupportedFeature(
                f"table {context.name}: file {entry.file.file_name} has extra files, which compaction does not carry "
                "over",
                table=context.name,
            )
    return by_bucket(entries)


def _pick(
    context: TableContext,
    files: list[DataFile],
    extent: Extent,
    now: int,
    overdue: bool,
    path: Callable[[DataFile], str],
    vectors: Vectors,
) -> CompactionUnit | AppendUnit | None:
    options = context.options
    if not context.is_keyed:
        full, ordered = extent is not Extent.AS_NEEDED, options["bucket"] > 0
        return pick_append(files, options, full=full, ordered=ordered, vectors=vectors)
    levels = Levels.of(files, num_levels(options))
    unit: CompactionUnit | None
    if extent is Extent.AS_NEEDED:
        moment = Moment(now, time.localtime(now // 1000).tm_hour, last_full_millis(files, num_levels(options)))
        order = key_order([f.type for f in context.schema.key_fields])
        unit = Strategy.of(options).pick(levels, moment, overdue=overdue, key_order=order)
    else:
        rewritten = extent is Extent.REWRITTEN and options["compaction.force-rewrite-all-files"]
        expiry = RecordExpiry.of(context, now)

        def is_due(file: DataFile) -> bool:
            return file.file_name in vectors or (expiry is not None and expiry.has_expired_rows(file, path(file)))

        unit = full_unit(levels, force_rewrite=rewritten, expires=is_due)
    # With deletion vectors, the older rows of a deleted key are marked as deleted, so its delete row is not needed in
    # the output (format 8.5).
    return replace(unit, drop_delete=True) if unit and options["deletion-vectors.enabled"] else unit


def _higher(
    context: TableContext, of_bucket: Sequence[ManifestEntry], unit: CompactionUnit | AppendUnit
) -> tuple[DataFile, ...]:
    """Return the files above the output level for a compaction with lookups, otherwise () (format 10)."""
    if isinstance(unit, AppendUnit) or not needs_lookup(context.options):
        return ()
    return tuple(e.file for e in of_bucket if e.file.level > unit.output_level)


def last_full_millis(files: Sequence[DataFile], num_levels: int) -> int | None:
    """Return the time of a bucket's last full compaction in epoch milliseconds, or None if it is not known.

    The time is the creation time of the newest file in the last of ``num_levels`` levels. Java uses the same time when
    it opens a bucket (format 8.2, step 0).
    """
    created = [f.creation_time_millis for f in files if f.level == num_levels - 1]
    known = [t for t in map(epoch_millis, (c for c in created if c is not None)) if t is not None]
    return max(known, default=None)
