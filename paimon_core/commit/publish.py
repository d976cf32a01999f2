"""publish: a snapshot's file is created, or its id is another's, or nobody can tell; three answers, never two.

A store may have created the file and lost the answer, or have tried again by itself and found its own file there, or
answer "exists" and "not found" for one name. So every answer but "created" is looked up, and while the id may be free
the *same* snapshot is offered again: whichever request arrives first creates it, the others find our uuid there.

A writer may also sleep between its look at the base and its publish, for days. When it wakes, its id may have been
another's, and expired: then the create succeeds beside the chain. So after the create the base is looked at again, and
a snapshot that stands on nothing is taken back before anybody is pointed to it. Its files are then not published again:
an expiry, or the deletion of a tag, that has seen the snapshot may still remove what it names.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

from paimon_core.commit.base import Base
from paimon_core.commit.draft import Draft
from paimon_core.commit.retry import pauses
from paimon_core.commit.snapshot_chain import descends_from
from paimon_core.errors import (
    CommitConflict,
    CommitStateUnknown,
    ConditionalWriteUnsupported,
    CorruptTable,
    PaimonError,
    SnapshotNotFound,
    StorageError,
)
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import LOOKS, is_missing
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore

PUBLISH_TRIES = 5
"""How often an undecided publish is offered again before it is given up as unknown."""


def publish(base: Base, snapshot: Snapshot) -> bool:
    """True: the snapshot is the next after its base. False: its id is another's for good.

    Raises CommitConflict when it was made beside the chain and taken back: nothing is committed, and its files must not
    be published again. Raises CommitStateUnknown when the outcome cannot be told, also when others have removed the
    snapshot, StorageError when the store has certainly created nothing.
    """
    created, doubt = _create(base, snapshot)
    if not created:
        return False
    if not _follows(base, snapshot):
        _take_back(base.context, snapshot)
        if doubt is not None:  # an earlier request may have made it in the chain, and it has expired since
            raise _unknown(base.context, snapshot, doubt)
        raise _taken_back(base.context, snapshot)
    with contextlib.suppress(OSError):  # the commit stands, and a stale hint harms nobody
        base.context.snapshots.write_latest_hint(snapshot.id)
    return True


def publish_draft(base: Base, snapshot: Snapshot, draft: Draft) -> bool:
    """``publish``, and away with the draft of a snapshot that has certainly not been created."""
    try:
        return publish(base, snapshot)
    except (CommitConflict, StorageError, ConditionalWriteUnsupported):
        draft.discard()
        raise


def _create(base: Base, snapshot: Snapshot) -> tuple[bool, PaimonError | None]:
    """Whether the id is ours, and what left an earlier request undecided."""
    context = base.context
    undecided: PaimonError | None = None
    for pause in (None, *pauses(context.options, PUBLISH_TRIES - 1)):
        if pause is not None:
            time.sleep(pause)
        if undecided is not None and not _may_offer_again(base):
            return True, undecided  # perhaps: offered again, it would stand beside a chain that has gone on
        refused: StorageError | None = None
        answered = False
        try:
            if context.snapshots.create(snapshot, base.snapshot):
                return True, undecided
            answered = True
        except CommitStateUnknown as error:
            undecided = error
        except StorageError as error:
            refused = error
        try:
            return context.snapshots.read(snapshot.id).is_same_commit(snapshot), undecided
        except SnapshotNotFound as error:
            if undecided is None and refused is not None:
                raise refused from None
            if answered and undecided is None and context.snapshots.are_the_catalogs and not base.is_current():
                return False, None  # a rollback came between: the catalog compares the base, and says no for good
            if answered:  # there for the create and not for the read: it may well be ours
                undecided = error
        except (StorageError, CorruptTable) as error:
            undecided = error
    raise _unknown(context, snapshot, undecided)


def _may_offer_again(base: Base) -> bool:
    with contextlib.suppress(StorageError, CorruptTable):
        return base.is_current()
    return True  # looked at once more after the snapshot was created


def _unknown(context: TableContext, snapshot: Snapshot, cause: PaimonError | None) -> CommitStateUnknown:
    error = CommitStateUnknown(
        f"table {context.name}: it is not known whether snapshot {snapshot.id} of user {snapshot.commit_user} was "
        f"committed: {cause}. Nothing was deleted. Look for uuid {snapshot.uuid}, or commit again with the same user "
        "and identifier",
        table=context.name,
        snapshot=snapshot.id,
        uuid=snapshot.uuid,
        user=snapshot.commit_user,
        identifier=snapshot.commit_identifier,
    )
    error.__cause__ = cause
    return error


def _taken_back(context: TableContext, snapshot: Snapshot) -> CommitConflict:
    return CommitConflict(
        f"table {context.name}: snapshot {snapshot.id} of user {snapshot.commit_user} was made beside the chain of "
        "snapshots, as its base had expired or was rolled back, and was taken back. Nothing was committed. An expiry "
        "may remove its files: write the rows again, do not commit the same messages",
        table=context.name,
        user=snapshot.commit_user,
        identifier=snapshot.commit_identifier,
        taken_back=snapshot.id,
    )


def _follows(base: Base, snapshot: Snapshot) -> bool:
    """Whether the snapshot that was just created continues its base; an expired base may have been continued by it."""
    problem: PaimonError | None = None
    for pause in (None, *pauses(base.context.options, PUBLISH_TRIES - 1)):
        if pause is not None:
            time.sleep(pause)
        try:
            return (base.snapshot is not None and base.is_current()) or _is_built_on(base, snapshot)
        except (StorageError, CorruptTable, SnapshotNotFound) as error:
            problem = error
    raise _unknown(base.context, snapshot, problem)


def _is_built_on(base: Base, snapshot: Snapshot) -> bool:
    """The base is gone: was it an expiry, with the chain at or above our snapshot, or did the chain pass us by?"""
    snapshots = base.context.snapshots
    ids = snapshots.ids()
    above, below = [i for i in ids if i > snapshot.id], [i for i in ids if i < snapshot.id]
    if snapshot.id not in ids:
        if above and descends_from(base.context, snapshots.read(above[0]), snapshot):
            return True  # it has expired since
        raise CorruptTable(f"snapshot {snapshot.id} is gone right after it was created")
    if not _is_ours(snapshots, snapshot):
        return False
    if above and (above[0] == snapshot.id + 1 or not below):
        return above[0] == snapshot.id + 1 and descends_from(base.context, snapshots.read(above[0]), snapshot)
    if not below:
        return True
    if _has_ancestor(base.context, snapshot, below) or _has_grown(snapshots, snapshot, below):
        return False  # a rollback took the base away, or made it anew: an expiry would have taken older ones first
    raise CorruptTable(f"snapshot {below[0]} lies beside the chain of snapshots, or was made after a rollback")


def _has_ancestor(context: TableContext, snapshot: Snapshot, ids: Sequence[int]) -> bool:
    """Whether the snapshot grew out of one of these; those that a slow writer made below the chain do not count.

    The newest are looked at first, for their files are the least compacted, and the oldest.
    """
    for snapshot_id in dict.fromkeys((*ids[: -LOOKS - 1 : -1], ids[0])):
        try:
            if descends_from(context, snapshot, context.snapshots.read(snapshot_id)):
                return True
        except CorruptTable as error:  # this one added no file to know it by
            if is_missing(error):
                raise
    return False


def _has_grown(snapshots: SnapshotStore, snapshot: Snapshot, below: Sequence[int]) -> bool:
    """Whether the chain goes on below ours, as after a rollback: its newest snapshot is no slow writer's.

    That one follows the snapshot below it. Or it was assembled after ours; clocks may differ, so the hint of the expiry
    has to agree: an expiry of the base would have moved it above.
    """
    newest = snapshots.read(below[-1])
    if below[-1] - 1 in below and newest.is_built_on(snapshots.read(below[-1] - 1)):
        return True
    earliest = snapshots.earliest_hint()
    return (earliest is None or earliest <= newest.id) and newest.time_millis > snapshot.time_millis


def _take_back(context: TableContext, snapshot: Snapshot) -> None:
    """Delete our own snapshot file, which follows nothing.

    Raises CommitStateUnknown when somebody built on it, or gave it a name: then its manifests must stay. Who makes a
    tag looks afterwards that the snapshot is still there, so one of the two sees the other. Raises it too when others
    have removed the snapshot: what they have named or deleted of it is not known.
    """
    if context.snapshots.publisher is not None:
        raise _unknown(context, snapshot, StorageError("the catalog made it, but the chain of snapshots passed it by"))
    problem: PaimonError | None = None
    for pause in (None, *pauses(context.options, PUBLISH_TRIES - 1)):
        if pause is not None:
            time.sleep(pause)
        try:
            return _delete_own(context, snapshot)
        except StorageError as error:
            problem = error
        except (CorruptTable, SnapshotNotFound) as error:
            raise _unknown(context, snapshot, error) from error
    raise _unknown(context, snapshot, problem)


def _delete_own(context: TableContext, snapshot: Snapshot) -> None:
    """Delete our snapshot file; raises SnapshotNotFound when it is gone, CorruptTable when somebody relies on it."""
    snapshots = context.snapshots
    if not _is_ours(snapshots, snapshot) or not snapshots.delete([snapshot.id]):
        raise SnapshotNotFound(f"others have removed snapshot {snapshot.id}, and perhaps files that it names")
    if any(tag.snapshot.is_same_commit(snapshot) for tag in context.tags.list()):
        raise CorruptTable(f"a tag was made on snapshot {snapshot.id} while it was taken back")
    if snapshots.exists(snapshot.id + 1) and descends_from(context, snapshots.read(snapshot.id + 1), snapshot):
        raise CorruptTable(f"snapshot {snapshot.id + 1} was built on it while it was taken back")


def _is_ours(snapshots: SnapshotStore, snapshot: Snapshot) -> bool:
    """Whether the id is still that of our snapshot; after a rollback it may be another's."""
    return snapshots.read(snapshot.id).is_same_commit(snapshot)
