"""Orphaned snapshot: a snapshot that was created although its base was no longer the latest snapshot.

``follows`` recognizes an orphaned snapshot, even if the base has expired since; ``withdraw`` deletes the snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.commit.base import Base
from paimon_core.commit.publishing.unknown_outcome import PUBLISH_TRIES, unknown_outcome
from paimon_core.commit.retry import attempts
from paimon_core.commit.snapshot_chain import descends_from
from paimon_core.errors import CorruptTable, PaimonError, SnapshotNotFound, StorageError
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import SNAPSHOT_TRIES
from paimon_core.metadata.read_again import is_missing
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.metadata.table_identity import is_same_table


def follows(base: Base, snapshot: Snapshot) -> bool:
    """Whether the snapshot that was just created continues its base, even if the base has expired since.

    False when the base does not exist, and the table was dropped and another one may have its name. Raises
    CommitStateUnknown when that cannot be determined.
    """
    problem: PaimonError | None = None
    for _ in attempts(base.context.options, PUBLISH_TRIES):
        try:
            if base.snapshot is not None and base.is_current():
                return True
            if not is_same_table(base.context):
                return False
            return _is_built_on(base, snapshot)
        except (StorageError, CorruptTable, SnapshotNotFound) as error:
            problem = error
    raise unknown_outcome(base.context, snapshot, problem)


def _is_built_on(base: Base, snapshot: Snapshot) -> bool:
    """Whether this snapshot was part of the snapshot chain before its base expired.

    Call it when the base does not exist. Return False when the snapshot is orphaned. Raises CorruptTable when this
    cannot be determined.
    """
    snapshots = base.context.snapshots
    ids = snapshots.ids()
    above, below = [i for i in ids if i > snapshot.id], [i for i in ids if i < snapshot.id]
    if snapshot.id not in ids:
        if above and descends_from(base.context, snapshots.read(above[0]), snapshot):
            return True  # the snapshot has expired since
        raise CorruptTable(f"snapshot {snapshot.id} is missing right after it was created")
    if not _is_own(snapshots, snapshot):
        return False
    if above and above[0] == snapshot.id + 1:
        return descends_from(base.context, snapshots.read(above[0]), snapshot)
    if not below:
        return not above
    if _has_ancestor(base.context, snapshot, below) or _chain_ends_below(snapshots, snapshot, below):
        return False  # a rollback removed or re-created the base: an expiry deletes older snapshots first
    raise CorruptTable(f"snapshot {below[0]} is outside the snapshot chain, or was created after a rollback")


def _has_ancestor(context: TableContext, snapshot: Snapshot, ids: Sequence[int]) -> bool:
    """Whether the snapshot descends from one of the snapshots ``ids``; a snapshot never descends from an orphaned
    snapshot.

    Only some ids are checked: the newest ids, because the fewest of their files were compacted since, and the oldest
    id.
    """
    for snapshot_id in dict.fromkeys((*ids[: -SNAPSHOT_TRIES - 1 : -1], ids[0])):
        try:
            if descends_from(context, snapshot, context.snapshots.read(snapshot_id)):
                return True
        except CorruptTable as error:  # the snapshot of this id added no file by which descendants are recognized
            if is_missing(error):
                raise
    return False


def _chain_ends_below(snapshots: SnapshotStore, snapshot: Snapshot, below: Sequence[int]) -> bool:
    """Whether the newest snapshot below this one is the end of the snapshot chain, as after a rollback, and is not an
    orphaned snapshot.

    The newest snapshot below is the end of the chain when it is built on the snapshot directly below it. The newest
    snapshot below is also the end when it has a later time than ``snapshot``. Because clocks differ, the hint EARLIEST
    must confirm the result in this case: an expiry of the base would have set the hint to a higher id.
    """
    newest = snapshots.read(below[-1])
    if below[-1] - 1 in below and newest.is_built_on(snapshots.read(below[-1] - 1)):
        return True
    earliest = snapshots.earliest_hint()
    return (earliest is None or earliest <= newest.id) and newest.time_millis > snapshot.time_millis


def withdraw(context: TableContext, snapshot: Snapshot) -> None:
    """Withdraw this commit's orphaned snapshot: delete its file.

    Raises CommitStateUnknown when another commit was built on the snapshot or a tag references it, because the
    manifests of the snapshot must then be kept. A process that creates a tag checks afterwards that the snapshot still
    exists, so either this process or the process of the tag detects the problem. CommitStateUnknown is also raised when
    another process deleted the snapshot: that process may have referenced or deleted its files.
    """
    if context.snapshots.publisher is not None:
        raise unknown_outcome(context, snapshot, StorageError("the catalog created it outside the snapshot chain"))
    problem: PaimonError | None = None
    for _ in attempts(context.options, PUBLISH_TRIES):
        try:
            return _delete_own(context, snapshot)
        except StorageError as error:
            problem = error
        except (CorruptTable, SnapshotNotFound) as error:
            raise unknown_outcome(context, snapshot, error) from error
    raise unknown_outcome(context, snapshot, problem)


def _delete_own(context: TableContext, snapshot: Snapshot) -> None:
    """Delete this commit's snapshot file.

    Raises SnapshotNotFound when the file does not exist any more, CorruptTable when a tag references the snapshot or
    another snapshot was built on it.
    """
    snapshots = context.snapshots
    if not _is_own(snapshots, snapshot) or not snapshots.delete([snapshot.id]):
        raise SnapshotNotFound(f"another process deleted snapshot {snapshot.id}, and perhaps files of it")
    if any(tag.snapshot.is_same_commit(snapshot) for tag in context.tags.list()):
        raise CorruptTable(f"a tag was created on snapshot {snapshot.id} while it was withdrawn")
    if snapshots.exists(snapshot.id + 1) and descends_from(context, snapshots.read(snapshot.id + 1), snapshot):
        raise CorruptTable(f"snapshot {snapshot.id + 1} was built on it while it was withdrawn")


def _is_own(snapshots: SnapshotStore, snapshot: Snapshot) -> bool:
    """Whether the id still belongs to the snapshot of this commit; after a rollback another commit may use the id."""
    return snapshots.read(snapshot.id).is_same_commit(snapshot)
