"""Snapshot history: the recently committed snapshots, and their descriptions in errors.

The commit that caused a conflict is searched only among the newest snapshots, which limits the time to create an error.
If the commit is not found, the error says what to do.
"""

from __future__ import annotations

from collections.abc import Iterator

from paimon_core.commit.base import Base
from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.commit_message import Position
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore

SNAPSHOTS_SEARCHED = 1000
"""The largest number of newest snapshots whose deltas are searched for the commit that caused a conflict."""


def newest_first(snapshots: SnapshotStore, start: int, above: int = 0) -> Iterator[Snapshot]:
    """Yield the snapshots from id ``start`` down to ``above`` + 1 that have not expired; ids may have gaps."""
    snapshot_id = start
    while snapshot_id > above:
        try:
            yield snapshots.read(snapshot_id)
        except SnapshotNotFound:
            snapshot_id = max((i for i in snapshots.ids() if i < snapshot_id), default=0)
        else:
            snapshot_id -= 1


def recent_changes(base: Base, most: int = SNAPSHOTS_SEARCHED) -> Iterator[tuple[Snapshot, list[ManifestEntry]]]:
    """Yield the newest ``most`` snapshots with the entries of their deltas; stop if a snapshot expires while read."""
    if base.snapshot is None:
        return
    yield base.snapshot, delta_of(base, base.snapshot)
    for snapshot in newest_first(base.context.snapshots, base.id - 1, max(0, base.id - most)):
        try:
            entries = delta_of(base, snapshot)
        except CorruptTable:
            return  # the snapshot expired while it was read
        yield snapshot, entries


def snapshots_since(base: Base, after: Position) -> Iterator[Snapshot]:
    """Yield the snapshots after the snapshot of a position, up to the base, the oldest first.

    Raises SnapshotNotFound when the snapshot of the position was rolled back, or when one of the snapshots has expired.
    """
    start, name = after
    snapshots = base.context.snapshots
    if start and (start > base.id or snapshots.read(start).delta_manifest_list != name):
        raise SnapshotNotFound(f"snapshot {start} was rolled back", snapshot=start)
    for snapshot_id in range(start + 1, base.id + 1):
        at_base = base.snapshot if snapshot_id == base.id else None
        yield at_base or snapshots.read(snapshot_id)


def delta_of(base: Base, snapshot: Snapshot) -> list[ManifestEntry]:
    """Return the entries of a snapshot's delta; raises CorruptTable when they cannot be read, for example because the
    snapshot has expired.
    """
    manifests = base.context.manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
    return [entry for manifest in manifests for entry in base.read(manifest)]


def changed_by(base: Base, wanted: ManifestEntry, kind: FileKind) -> Snapshot | None:
    """Return the snapshot that added or deleted (``kind``) the file of an entry; None if no recent one did."""
    for snapshot, entries in recent_changes(base):
        if any(e.kind is kind and e.identity == wanted.identity for e in entries):
            return snapshot
    return None


def describe(snapshot: Snapshot) -> str:
    """Return a text such as ``snapshot 7 (compaction of user x)``."""
    kind = "compaction" if snapshot.commit_kind is CommitKind.COMPACT else f"{snapshot.commit_kind.lower()} commit"
    return f"snapshot {snapshot.id} ({kind} of user {snapshot.commit_user})"
