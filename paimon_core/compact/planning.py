"""Planning: the compactions that a table needs now, and the files in the postpone bucket (format 8.2 to 8.4)."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace
from functools import partial

from paimon_core.compact.clustering import cluster_tasks, is_clustered
from paimon_core.compact.pick import Extent, pick_tasks, sort_tasks
from paimon_core.compact.recent_compactions import full_is_due, may_compact_others, overdue_buckets
from paimon_core.compact.sort_order import SortOrder
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import InvalidRequest
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.manifests.index_manifest import IndexEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.metadata.times.partition_time import is_expired_by_value
from paimon_core.plan.partitions import matching_partitions
from paimon_core.predicate import Where
from paimon_core.storage.paths import POSTPONE_BUCKET

_LOG = logging.getLogger(__name__)
_Place = tuple[bytes, int]


def plan(
    context: TableContext,
    *,
    full: bool = False,
    where: Where | None = None,
    written: Collection[_Place] | None = None,
    partitions: Collection[bytes] | None = None,
) -> list[CompactionTask]:
    """Return the compactions that the latest snapshot needs, the largest first.

    ``full``: every bucket is compacted into one run. When a full compaction is due by
    ``full-compaction.delta-commits``, all buckets that are not one run at the last level are compacted fully. Otherwise
    the strategy of the table picks files. ``written``: the buckets that a write has changed; only these buckets, and
    the buckets whose level 0 is overdue, are considered. None: all buckets are considered, without expired partitions
    if ``compaction.skip-expired-partitions`` is true. ``where`` is a filter on partition columns, and
    ``partitions`` are the only partitions to consider (None: all). Tables with ``clustering.incremental`` are
    clustered.
    """
    among = partitions
    if among is None and written is not None and not full and not may_compact_others(context.options):
        among = {partition for partition, _ in written}  # the manifests of a large table contain many other files
    latest, entries, indexes = read_latest(context.snapshots, partial(_state, context, among=among))
    entries = [e for e in entries if e.bucket != POSTPONE_BUCKET]
    is_every = where is None and partitions is None
    if written is None:
        entries = _unexpired(context, entries)
    matches = None if where is None else matching_partitions(context, where)
    if is_clustered(context):
        # As in Java, a write to a clustered table without buckets starts no compaction.
        if written is not None and not context.has_buckets:
            return []
        full = full or full_is_due(context, latest)
        if written is not None and not full:
            entries = [e for e in entries if (e.partition, e.bucket) in written]
        tasks = cluster_tasks(context, entries, indexes, full=full, matches=matches)
        return [replace(task, of_full_table=full and is_every) for task in tasks]
    if matches is not None:
        entries = [e for e in entries if matches(e.partition)]
    if full or full_is_due(context, latest):
        tasks = pick_tasks(context, entries, Extent.REWRITTEN if full else Extent.SETTLED, indexes=indexes)
        return [replace(task, of_full_table=is_every) for task in tasks]
    overdue = overdue_buckets(context, latest, entries)
    if written is not None:
        wanted = overdue.union(written)
        entries = [e for e in entries if (e.partition, e.bucket) in wanted]
    return pick_tasks(context, entries, overdue=overdue, indexes=indexes)


def _unexpired(context: TableContext, entries: list[ManifestEntry]) -> list[ManifestEntry]:
    """Return the entries, without expired partitions if ``compaction.skip-expired-partitions`` is true."""
    if not context.options["compaction.skip-expired-partitions"]:
        return entries
    now = clock.now_millis()
    expired = {p for p in {e.partition for e in entries} if is_expired_by_value(context, p, now)}
    if expired:
        _LOG.info("%s: the compaction skips %d expired partitions", context.name, len(expired))
    return [e for e in entries if e.partition not in expired]


def plan_sorted(context: TableContext, order: SortOrder, where: Where | None = None) -> list[CompactionTask]:
    """Return the compactions that sort the rows of each partition, largest first; ``where`` selects partitions.

    Raises InvalidRequest for a table with ``clustering.incremental``, because its files would lose their levels.
    """
    if is_clustered(context):
        raise InvalidRequest(
            f"table {context.name} has option clustering.incremental: its compaction sorts rows by clustering.columns, "
            "and no other order can be given",
            table=context.name,
            option="clustering.incremental",
        )
    _, entries, indexes = read_latest(context.snapshots, partial(_state, context))
    if where is not None:
        matches = matching_partitions(context, where)
        entries = [e for e in entries if matches(e.partition)]
    return sort_tasks(context, entries, order, indexes)


def idle_partitions(
    context: TableContext, where: Where | None, idle_millis: int, now_millis: int | None = None
) -> frozenset[bytes]:
    """Return the partitions that match ``where`` and had no new file in the ``idle_millis`` before a time (None: now).

    Files of compactions count too, as in Java. A partition with a file of unknown creation time is not idle. A table
    without partition columns has one partition.
    """
    before = clock.now_millis(now_millis) - idle_millis
    newest: dict[bytes, int] = {}
    for entry in live_entries(context, where):
        created = entry.file.creation_time_millis
        time = None if created is None else epoch_millis(created)
        newest[entry.partition] = max(newest.get(entry.partition, 0), before + 1 if time is None else time)
    return frozenset(partition for partition, time in newest.items() if time <= before)


def _state(
    context: TableContext, latest: Snapshot | None, *, among: Collection[bytes] | None = None
) -> tuple[Snapshot | None, list[ManifestEntry], list[IndexEntry]]:
    if latest is None:
        return None, [], []
    with context.manifests.reading(latest):
        indexes = context.manifests.read_indexes(latest.index_manifest)
    return latest, context.manifests.entries_of(latest, among), indexes


def waiting_files(context: TableContext, where: Where | None = None) -> list[ManifestEntry]:
    """Return the entries of the postpone bucket in the latest snapshot; their rows are visible after a compaction."""
    if not context.is_postponed:
        return []
    return [entry for entry in live_entries(context, where) if entry.bucket == POSTPONE_BUCKET]


def live_entries(context: TableContext, where: Where | None) -> list[ManifestEntry]:
    """Return the live entries of the latest snapshot in the partitions that match ``where`` (None: all partitions)."""
    _, entries, _ = read_latest(context.snapshots, partial(_state, context))
    if where is None:
        return entries
    matches = matching_partitions(context, where)
    return [entry for entry in entries if matches(entry.partition)]
