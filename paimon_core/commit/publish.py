"""publish: create the file of a snapshot; the snapshot is published, its id was used before, or the outcome is unknown.

A store may create the file and lose the response. It may repeat a request by itself and then report that the file
exists, although this commit has created it. It may report for the same file that it exists and that it is not found.
Therefore the file is read back after every response except "created". While the id may be unused, the *same* snapshot
is created again: the first request that arrives creates the file, and later requests find its uuid in the file.

A writer may also be paused for days between reading the base snapshot and publishing. In the meantime another commit
may have used the id, and the snapshot of that commit may have expired. Then the file can be created, but the result is
an orphaned snapshot, which is not part of the snapshot chain. Therefore the base is read again after the file is
created, and an orphaned snapshot is withdrawn before the hint LATEST names it. Its files must not be published again:
an expiry, or the deletion of a tag, may have read the orphaned snapshot and may still delete the files that it
references.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from paimon_core.commit.base import Base
from paimon_core.commit.draft import Draft
from paimon_core.commit.retry import attempts
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
from paimon_core.metadata.latest_snapshot import SNAPSHOT_TRIES
from paimon_core.metadata.read_again import is_missing
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore

PUBLISH_TRIES = 5
"""The number of attempts to publish, after which an undecided outcome is reported as unknown."""


def publish(base: Base, snapshot: Snapshot) -> bool:
    """Return True when the snapshot was published on its base, False when another commit has used its id.

    Raises CommitConflict when the snapshot was orphaned and was withdrawn: nothing is committed, and its files must not
    be published again. Raises CommitStateUnknown when the outcome cannot be determined, also when another process
    deleted the snapshot. Raises StorageError when the store has certainly created nothing.
    """
    created, doubt = _create(base, snapshot)
    if not created:
        return False
    if not _follows(base, snapshot):
        _withdraw(base.context, snapshot)
        if doubt is not None:  # an earlier request may have created it in the chain, and it may have expired
            raise _unknown(base.context, snapshot, doubt)
        raise _withdrawn(base.context, snapshot)
    with contextlib.suppress(OSError):  # the commit succeeded, and a stale hint does no harm
        base.context.snapshots.write_latest_hint(snapshot.id)
    return True


def publish_draft(base: Base, snapshot: Snapshot, draft: Draft) -> bool:
    """Call ``publish``; delete the draft when it raises an error after which the snapshot certainly does not exist."""
    try:
        return publish(base, snapshot)
    except (CommitConflict, StorageError, ConditionalWriteUnsupported):
        draft.discard()
        raise


def _create(base: Base, snapshot: Snapshot) -> tuple[bool, PaimonError | None]:
    """Return whether this commit created the snapshot, and the error of an earlier request with unknown outcome.

    Each attempt sends one request to create the file. Unless the store confirms the creation, the file is read back:

    - It contains this snapshot, or another one: the outcome is certain.
    - It is missing, the store refused the request and no earlier request is undecided: nothing was created.
    - It is missing although it was reported to exist, no earlier request is undecided, the catalog owns the history and
      the base has changed: the catalog has refused the snapshot and will not create it later.
    - In all other cases the outcome is undecided, and the next attempt tries to create the same snapshot, unless the
      base has changed. Raises CommitStateUnknown after the last attempt.
    """
    context = base.context
    undecided: PaimonError | None = None
    for _ in attempts(context.options, PUBLISH_TRIES):
        if undecided is not None and not _may_create_again(base):
            return True, undecided  # unknown: if created now, it would be orphaned, as the chain has continued
        refused: StorageError | None = None
        said_to_exist = False
        try:
            if context.snapshots.create(snapshot, base.snapshot):
                return True, undecided
            said_to_exist = True
        except CommitStateUnknown as error:
            undecided = error
        except StorageError as error:
            refused = error
        try:
            return context.snapshots.read(snapshot.id).is_same_commit(snapshot), undecided
        except SnapshotNotFound as error:
            if undecided is None and refused is not None:
                raise refused from None
            if said_to_exist and undecided is None and context.snapshots.catalog_owns_history and not base.is_current():
                return False, None  # rolled back in between: the catalog compares the base and refuses for good
            if said_to_exist:  # exists for the create but not for the read: it may be this commit's
                undecided = error
        except (StorageError, CorruptTable) as error:
            undecided = error
    raise _unknown(context, snapshot, undecided)


def _may_create_again(base: Base) -> bool:
    with contextlib.suppress(StorageError, CorruptTable):
        return base.is_current()
    return True  # the base is read again after the snapshot is created


def _unknown(context: TableContext, snapshot: Snapshot, cause: PaimonError | None) -> CommitStateUnknown:
    error = CommitStateUnknown(
        f"table {context.name}: it is not known whether snapshot {snapshot.id} of user {snapshot.commit_user} was "
        f"committed: {cause}. Nothing was deleted. Check whether a snapshot has uuid {snapshot.uuid}, or commit again "
        "with the same user and identifier",
        table=context.name,
        snapshot=snapshot.id,
        uuid=snapshot.uuid,
        user=snapshot.commit_user,
        identifier=snapshot.commit_identifier,
    )
    error.__cause__ = cause
    return error


def _withdrawn(context: TableContext, snapshot: Snapshot) -> CommitConflict:
    return CommitConflict(
        f"table {context.name}: snapshot {snapshot.id} of user {snapshot.commit_user} was created outside the "
        "snapshot chain, because its base had expired or was rolled back, and was deleted. Nothing was committed. An "
        "expiry may delete its files: write the rows again, do not commit the same messages",
        table=context.name,
        user=snapshot.commit_user,
        identifier=snapshot.commit_identifier,
        taken_back=snapshot.id,
    )


def _follows(base: Base, snapshot: Snapshot) -> bool:
    """Whether the snapshot that was just created continues its base, even if the base has expired since.

    Raises CommitStateUnknown when that cannot be determined.
    """
    problem: PaimonError | None = None
    for _ in attempts(base.context.options, PUBLISH_TRIES):
        try:
            return (base.snapshot is not None and base.is_current()) or _is_built_on(base, snapshot)
        except (StorageError, CorruptTable, SnapshotNotFound) as error:
            problem = error
    raise _unknown(base.context, snapshot, problem)


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
            return True  # it has expired since
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
    """Whether the snapshot descends from one of ``ids``; it does not descend from orphaned snapshots.

    Only some ids are checked: the newest ones, because the fewest of their files were compacted since, and the oldest
    one.
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
    """Whether the newest snapshot below this one is the end of the chain, as after a rollback, and is not orphaned.

    This is true when that newest snapshot is built on the snapshot directly below it. It is also true when it has a
    later time than this snapshot. Because clocks differ, the hint EARLIEST must then confirm it: an expiry of the base
    would have set the hint to a higher id.
    """
    newest = snapshots.read(below[-1])
    if below[-1] - 1 in below and newest.is_built_on(snapshots.read(below[-1] - 1)):
        return True
    earliest = snapshots.earliest_hint()
    return (earliest is None or earliest <= newest.id) and newest.time_millis > snapshot.time_millis


def _withdraw(context: TableContext, snapshot: Snapshot) -> None:
    """Withdraw this commit's orphaned snapshot: delete its file.

    Raises CommitStateUnknown when another commit was built on it or a tag references it, because then its manifests
    must be kept. A process that creates a tag checks afterwards that the snapshot still exists, so either this process
    or the process of the tag detects the problem. CommitStateUnknown is also raised when another process deleted the
    snapshot: that process may have referenced or deleted its files.
    """
    if context.snapshots.publisher is not None:
        raise _unknown(context, snapshot, StorageError("the catalog created it outside the snapshot chain"))
    problem: PaimonError | None = None
    for _ in attempts(context.options, PUBLISH_TRIES):
        try:
            return _delete_own(context, snapshot)
        except StorageError as error:
            problem = error
        except (CorruptTable, SnapshotNotFound) as error:
            raise _unknown(context, snapshot, error) from error
    raise _unknown(context, snapshot, problem)


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
    """Whether the id still belongs to this commit's snapshot; after a rollback another commit may use it."""
    return snapshots.read(snapshot.id).is_same_commit(snapshot)
