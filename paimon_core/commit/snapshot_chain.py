"""Chain: does a snapshot belong to the table's history, or does it only lie beside it?

A writer that slept while its id was taken and expired creates a snapshot below the chain. It takes that back by itself
(``publish``); when it dies first, the snapshot stays until the next expiry. Nobody may take it for a commit.
"""

from __future__ import annotations

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import LOOKS
from paimon_core.metadata.manifest import FileKind
from paimon_core.metadata.snapshot import Snapshot


def in_chain(context: TableContext, snapshot: Snapshot) -> bool:
    """Whether the latest snapshot grew out of this one; looked into only for the lowest id, all others do.

    True also where merged manifests do not let that be told: then nearly every snapshot does.
    """
    if context.snapshots.exists(snapshot.id - 1):
        return True
    for _ in range(LOOKS):
        above = [i for i in context.snapshots.ids() if i > snapshot.id]
        if not above:
            return True
        try:
            return descends_from(context, context.snapshots.read(above[0]), snapshot)
        except SnapshotNotFound:  # expired meanwhile: look at what follows it
            continue
        except CorruptTable:
            return True
    return True


def chain_break(context: TableContext, snapshot: Snapshot, tried: int = 0) -> str | None:
    """Why a commit must not build on the latest snapshot; None when it may.

    A writer that slept may make a snapshot on one that was rolled back, and takes it back as soon as it looks. Whoever
    builds on it first would bring back what was rolled back, and drop what was committed since. Such a snapshot names
    another base than the snapshot below it, or stands above a gap in the ids. A gap counts only for the first tries of
    a commit: a snapshot file that somebody has deleted stops no writer.
    """
    snapshots = context.snapshots
    if snapshot.id == 1 or snapshots.are_the_catalogs:
        return None
    try:
        below = snapshots.read(snapshot.id - 1)
    except SnapshotNotFound:
        if tried >= LOOKS or not (older := [i for i in snapshots.ids() if i < snapshot.id]):
            return None
        return f"snapshot {snapshot.id - 1} is missing, but {older[-1]} is there"
    except CorruptTable:
        return None
    if snapshot.is_built_on(below) is not False:
        return None
    earliest = snapshots.earliest_hint()
    if earliest is not None and earliest >= snapshot.id:
        return None  # what lies below has expired once, and was made again
    return f"it was built on another snapshot {below.id} than that of user {below.commit_user}, as before a rollback"


def descends_from(context: TableContext, following: Snapshot, ours: Snapshot) -> bool:
    """Whether a later snapshot grew out of ours; raises CorruptTable when that cannot be told."""
    if following.id == ours.id + 1 and (linked := following.is_built_on(ours)) is not None:
        return linked
    read = context.manifests.read_list
    wanted = {m.file_name for m in read(ours.delta_manifest_list)} | {
        m.file_name for m in read(ours.base_manifest_list)
    }
    listed = read(following.base_manifest_list)
    if following.id == ours.id + 1 and wanted <= {m.file_name for m in listed}:
        return following.total_record_count == ours.total_record_count + following.delta_record_count
    added = {
        e.identity
        for m in read(ours.delta_manifest_list)
        for e in context.manifests.read_manifest(m.file_name, m.file_size)
        if e.kind is FileKind.ADD
    }
    if not added:
        raise CorruptTable(f"snapshot {following.id} has merged manifests, and ours added no file to know it by")
    return added <= {e.identity for m in listed for e in context.manifests.read_manifest(m.file_name, m.file_size)}
