"""Recent compactions: whether a full compaction is due and which buckets are overdue, computed from recent snapshots.

Java's writers count their commits in memory. This library has no state between commits, so it counts snapshots (format
8.3, 8.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from paimon_core.compact.task import CompactionTask
from paimon_core.errors import SnapshotNotFound
from paimon_core.lsm.compaction.strategy import gentle_interval, needs_lookup
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.options import TableOptions

FULL_MARK = ("paimon-core.compaction", "full")
"""The property of a snapshot that compacted every bucket fully. DO NOT CHANGE it: existing snapshots contain it."""


def marked(tasks: Sequence[CompactionTask], properties: Mapping[str, str]) -> dict[str, str]:
    """Return the snapshot properties for a commit of ``tasks``, with ``FULL_MARK`` for a full compaction."""
    is_full = bool(tasks) and all(task.of_full_table for task in tasks)
    return {**properties, **dict([FULL_MARK])} if is_full else dict(properties)


def full_is_due(context: TableContext, latest: Snapshot | None) -> bool:
    """Whether at least ``full-compaction.delta-commits`` commits came after the last full compaction.

    Only snapshots with ``FULL_MARK`` count as full compactions. If no such snapshot is found and older snapshots have
    expired, a full compaction is due as soon as there is a commit. It may then run earlier than necessary.
    """
    interval = _delta_commits(context.options)
    if interval is None or latest is None:
        return False
    commits = 0
    for snapshot in _newest_first(context, latest):
        if snapshot is not None and snapshot.properties.get(FULL_MARK[0]) == FULL_MARK[1]:
            return False
        commits += snapshot is not None and _adds_rows(snapshot)
        if commits >= interval or (snapshot is None and commits):
            return True
    return False


def may_compact_others(options: TableOptions) -> bool:
    """Whether a commit may be followed by compactions of buckets that it has not changed: see the other functions."""
    return _delta_commits(options) is not None or _is_gentle(options)


def _is_gentle(options: TableOptions) -> bool:
    return needs_lookup(options) and options["lookup-compact"] == "gentle"


def overdue_buckets(
    context: TableContext, latest: Snapshot | None, entries: Sequence[ManifestEntry]
) -> frozenset[tuple[bytes, int]]:
    """Return each (partition, bucket) with a level-0 file that is older than gentle compaction allows.

    The age of a file is the number of commits since it was added. If older snapshots have expired, all level-0 files of
    the earliest snapshot count as old enough. The result is empty for tables without gentle compaction.
    """
    options = context.options
    if latest is None or not _is_gentle(options):
        return frozenset()
    waiting = {e.file.file_name: (e.partition, e.bucket) for e in entries if e.file.level == 0}
    left = gentle_interval(options)
    then = latest
    for snapshot in _newest_first(context, latest) if waiting else ():
        if snapshot is None or left == 0:
            break
        then = snapshot
        left -= _adds_rows(snapshot)
    else:
        if left:
            return frozenset()
    partitions = {partition for partition, _ in waiting.values()}
    try:
        old = {e.file.file_name for e in context.manifests.entries_of(then, partitions) if e.file.level == 0}
    except SnapshotNotFound:  # the snapshot expired concurrently: the next commit checks again
        return frozenset()
    return frozenset(place for name, place in waiting.items() if name in old)


def _delta_commits(options: TableOptions) -> int | None:
    given: int | None = options["full-compaction.delta-commits"]
    return 1 if given is None and options["changelog-producer"] == "full-compaction" else given


def _adds_rows(snapshot: Snapshot) -> bool:
    return snapshot.commit_kind in (CommitKind.APPEND, CommitKind.OVERWRITE)


def _newest_first(context: TableContext, latest: Snapshot) -> Iterator[Snapshot | None]:
    """Yield the snapshots from the latest to the first; yields None and stops at a snapshot that has expired."""
    yield latest
    for snapshot_id in range(latest.id - 1, 0, -1):
        try:
            yield context.snapshots.read(snapshot_id)
        except SnapshotNotFound:
            yield None
            return
