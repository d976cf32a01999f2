"""Snapshot chain: checks whether a snapshot is part of the table's history or is orphaned.

A writer may be paused while another commit uses its snapshot id and the snapshot of that commit expires. When the
writer continues, it creates a snapshot below the chain. The writer itself withdraws this snapshot (``publish``). If the
process ends before that, the snapshot exists until the next expiry. Such a snapshot must never be treated as a commit.
"""

from __future__ import annotations

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import SNAPSHOT_TRIES
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.snapshot import Snapshot


def in_chain(context: TableContext, snapshot: Snapshot) -> bool:
    """Whether this snapshot is part of the snapshot chain.

    True when a snapshot exists directly below this snapshot, or when the next snapshot above descends from this
    snapshot. The result is also True when the descent cannot be determined because the manifests were merged: nearly
    every snapshot is part of the chain.
    """
    if context.snapshots.exists(snapshot.id - 1):
        return True
    for _ in range(SNAPSHOT_TRIES):
        above = [i for i in context.snapshots.ids() if i > snapshot.id]
        if not above:
            return True
        try:
            return descends_from(context, context.snapshots.read(above[0]), snapshot)
        except SnapshotNotFound:  # the snapshot has expired: check the next snapshot above
            continue
        except CorruptTable:
            return True
    return True


def chain_break(context: TableContext, snapshot: Snapshot, *, gaps: bool) -> str | None:
    """Return why a commit must not build on the latest snapshot, and what to do; None when the commit may build on it.

    A paused writer may create a snapshot on a base that was rolled back. The writer checks this afterwards and
    withdraws the snapshot. A commit that builds on the snapshot before it is withdrawn would restore the changes that
    were rolled back, and lose the changes that were committed after the rollback. Such a snapshot has a base other than
    the snapshot directly below it, or has a gap in the ids below it. ``gaps``: whether a gap is a reason.
    """
    snapshots = context.snapshots
    if snapshot.id == 1 or snapshots.catalog_owns_history:
        return None
    try:
        below = snapshots.read(snapshot.id - 1)
    except SnapshotNotFound:
        older = [i for i in snapshots.ids() if i < snapshot.id] if gaps else []
        if not older:
            return None
        return (
            f"snapshot {snapshot.id - 1} is missing, but snapshot {older[-1]} exists, as while an expiry or a rollback "
            "runs: commit again later"
        )
    except CorruptTable:
        return None
    if snapshot.is_built_on(below) is not False:
        return None
    earliest = snapshots.earliest_hint()
    if earliest is not None and earliest >= snapshot.id:
        return None  # the snapshot below had expired, and its id was used again
    return (
        f"it was built on a different snapshot {below.id} than the one of user {below.commit_user} that exists now, "
        f"probably before a rollback, and its writer stopped before deleting it: roll back to snapshot {below.id}"
    )


def descends_from(context: TableContext, following: Snapshot, earlier: Snapshot) -> bool:
    """Whether ``following`` was built on ``earlier``, directly or indirectly; raises CorruptTable if undecidable."""
    if following.id == earlier.id + 1 and (linked := following.is_built_on(earlier)) is not None:
        return linked
    read = context.manifests.read_list
    wanted = {m.file_name for m in read(earlier.delta_manifest_list)} | {
        m.file_name for m in read(earlier.base_manifest_list)
    }
    listed = read(following.base_manifest_list)
    if following.id == earlier.id + 1 and wanted <= {m.file_name for m in listed}:
        return following.total_record_count == earlier.total_record_count + following.delta_record_count
    added = {
        e.identity
        for m in read(earlier.delta_manifest_list)
        for e in context.manifests.read_manifest(m.file_name, m.file_size)
        if e.kind is FileKind.ADD
    }
    if not added:
        raise CorruptTable(
            f"it cannot be determined whether snapshot {following.id} was built on snapshot {earlier.id}: the "
            "manifests were merged, and the older snapshot added no file"
        )
    return added <= {e.identity for m in listed for e in context.manifests.read_manifest(m.file_name, m.file_size)}
