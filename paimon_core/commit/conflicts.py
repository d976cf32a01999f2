"""Conflicts: would these changes still be right on the snapshot that they land on (format 14.3)?

A conflict is final: someone else removed a file, added it, or filled the level in between, so the changes were planned
on a state that is gone. Plain appends conflict with almost nothing and are checked against the newest manifests only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from paimon_core.commit.base import Base
from paimon_core.errors import CommitConflict, CorruptTable, SnapshotNotFound
from paimon_core.lsm.key_order import key_order
from paimon_core.metadata.local_time import epoch_millis
from paimon_core.metadata.manifest import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot

SNAPSHOTS_SEARCHED = 1000
"""Newest snapshots in whose deltas the writer of a conflicting change is looked for."""


def check_append(base: Base, entries: Sequence[ManifestEntry]) -> None:
    """Check ADD entries of level 0, which need no look at the files that are there.

    The number of buckets must be the partition's, and no file may be there already: that is looked for in the
    snapshots committed since the oldest of the files was made, so it costs nothing on a quiet table.
    Raises CommitConflict.
    """
    _check_alone(base, entries)
    _check_buckets(base, [*_newest_of_each_partition(base, entries), *entries])
    added = {e.identity: e for e in entries}
    for snapshot, entry in _recent_changes(base, _oldest_millis(entries)):
        if entry.kind is FileKind.ADD and entry.identity in added:
            _conflict(base, entry, f"is already in the table: {_author(snapshot)} added it")


def check_changes(base: Base, entries: Sequence[ManifestEntry]) -> None:
    """Check entries that delete, or that add above level 0, against all live files of their partitions.

    Raises CommitConflict naming the file: one to delete that is gone, one to add that is there, a number of buckets
    that differs within a partition, keys that overlap within a level.
    """
    _check_alone(base, entries)
    partitions = {e.partition for e in entries}
    live = {e.identity: e for e in base.live(partitions.__contains__, partitions)}
    for entry in entries:
        if entry.kind is FileKind.ADD:
            if entry.identity in live:
                _conflict(base, entry, "is already in the table")
            live[entry.identity] = entry
        elif live.pop(entry.identity, None) is None:
            _conflict(base, entry, f"is no longer in the table{_remover(base, entry)}")
    _check_buckets(base, live.values())
    _check_levels(base, live.values(), {(e.partition, e.bucket) for e in entries})


def _check_alone(base: Base, entries: Sequence[ManifestEntry]) -> None:
    seen = set()
    for entry in entries:
        if (entry.kind, entry.identity) in seen:
            _conflict(base, entry, f"occurs twice as {entry.kind.name} in one commit")
        seen.add((entry.kind, entry.identity))


def _check_buckets(base: Base, entries: Iterable[ManifestEntry]) -> None:
    counts: dict[bytes, int] = {}
    for entry in entries:
        total = entry.total_buckets
        if total > 0 and counts.setdefault(entry.partition, total) != total:
            _conflict(
                base,
                entry,
                f"was written for {total} buckets, but its partition has {counts[entry.partition]}; "
                "only an overwrite of the partition changes the number",
            )


def _check_levels(base: Base, live: Iterable[ManifestEntry], touched: set[tuple[bytes, int]]) -> None:
    """Levels from 1 on are sorted runs: their files' key ranges must stay apart."""
    schema = base.context.schema
    if not schema.primary_keys:
        return
    order = key_order([f.type for f in schema.key_fields])
    runs: dict[tuple[bytes, int, int], list[ManifestEntry]] = defaultdict(list)
    for entry in live:
        if entry.file.level > 0 and (entry.partition, entry.bucket) in touched:
            runs[entry.partition, entry.bucket, entry.file.level].append(entry)
    for run in runs.values():
        run.sort(key=lambda e: order(e.file.min_key))
        for left, right in pairwise(run):
            if order(left.file.max_key) >= order(right.file.min_key):
                _conflict(
                    base,
                    right,
                    f"overlaps the keys of {left.file.file_name} on level {right.file.level}: "
                    "another compaction filled it",
                )


def _newest_of_each_partition(base: Base, entries: Sequence[ManifestEntry]) -> Iterator[ManifestEntry]:
    """One live entry of each partition that the entries touch; newest manifests first, as they likely have it."""
    wanted = {e.partition for e in entries if e.total_buckets > 0}
    gone = set()
    for manifest in reversed(base.manifests):
        if not base.may_hold(manifest, wanted):
            continue
        for entry in reversed(base.read(manifest)):
            if entry.partition not in wanted or entry.total_buckets <= 0:
                continue
            if entry.kind is FileKind.DELETE:
                gone.add(entry.identity)
            elif entry.identity not in gone:
                wanted.discard(entry.partition)
                yield entry


def _oldest_millis(entries: Sequence[ManifestEntry]) -> float:
    """The epoch time at which the oldest file was made; infinite when none says."""
    created = [e.file.creation_time_millis for e in entries if e.file.creation_time_millis is not None]
    oldest = epoch_millis(min(created)) if created else None
    return float("inf") if oldest is None else oldest


def _recent_changes(base: Base, since_millis: float) -> Iterator[tuple[Snapshot, ManifestEntry]]:
    """The changes of the latest snapshot, and of those before it that are not older than ``since_millis``."""
    for snapshot in _newest(base):
        if snapshot is not base.snapshot and snapshot.time_millis < since_millis:
            return
        try:
            manifests = base.context.manifests.read_list(snapshot.delta_manifest_list)
            entries = [entry for manifest in manifests for entry in base.read(manifest)]
        except CorruptTable:
            if snapshot is base.snapshot:
                raise
            return  # it expired while we read it
        for entry in entries:
            yield snapshot, entry


def _newest(base: Base) -> Iterator[Snapshot]:
    if base.snapshot is None:
        return
    yield base.snapshot
    for snapshot_id in range(base.id - 1, max(0, base.id - SNAPSHOTS_SEARCHED), -1):
        try:
            yield base.context.snapshots.read(snapshot_id)
        except SnapshotNotFound:
            return


def _remover(base: Base, wanted: ManifestEntry) -> str:
    """`: removed by ...` when one of the newest snapshots did it, else nothing."""
    for snapshot, entry in _recent_changes(base, float("-inf")):
        if entry.kind is FileKind.DELETE and entry.identity == wanted.identity:
            return f": {_author(snapshot)} removed it"
    return ""


def _author(snapshot: Snapshot) -> str:
    kind = "compaction" if snapshot.commit_kind is CommitKind.COMPACT else f"{snapshot.commit_kind.lower()} commit"
    return f"snapshot {snapshot.id} ({kind} of user {snapshot.commit_user})"


def _conflict(base: Base, entry: ManifestEntry, problem: str) -> NoReturn:
    place = "/".join(filter(None, (base.context.partition_path(entry.partition), f"bucket-{entry.bucket}")))
    facts: dict[str, Any] = {"table": base.context.name, "file": entry.file.file_name, "bucket": place}
    raise CommitConflict(
        f"table {base.context.name}: file {entry.file.file_name} of {place} {problem}", snapshot=base.id, **facts
    )
