"""Chain: does a snapshot belong to the table's history, or does it only lie beside it?

A writer that slept while its id was taken and expired creates a snapshot below the chain. It takes that back by itself
(``publish``); when it dies first, the snapshot stays until the next expiry. Nobody may take it for a commit.
"""

from __future__ import annotations

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest import LOOKS
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
            return holds(context, context.snapshots.read(above[0]), snapshot)
        except SnapshotNotFound:  # expired meanwhile: look at what follows it
            continue
        except CorruptTable:
            return True
    return True


def holds(context: TableContext, following: Snapshot, ours: Snapshot) -> bool:
    """Whether a later snapshot grew out of ours; raises CorruptTable when that cannot be told."""
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
