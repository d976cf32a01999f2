"""publish: creates the file of a snapshot, with three outcomes: published, the id was used before, or not known.

A store may create the file and lose the response. It may repeat a request by itself and then report that the file
exists, although this commit has created it. For the same file, the store may report that it exists and then that it is
not found. Therefore the file is read back after every response except "created". While the id may be unused, the *same*
snapshot is created again: the first request that arrives creates the file, and later requests find the uuid of the
snapshot in the file.

A writer may also be paused for days between reading the base snapshot and publishing. In the meantime another commit
may have used the id, and the snapshot of that commit may have expired. Then the file can be created, but the result is
an orphaned snapshot, which is not part of the snapshot chain. Therefore the base is read again after the file is
created, and an orphaned snapshot is withdrawn before the hint LATEST names it. Its files must not be published again:
an expiry, or the deletion of a tag, may have read the orphaned snapshot and may still delete the files that it
references.
"""

from __future__ import annotations

import contextlib

from paimon_core.commit.base import Base
from paimon_core.commit.draft import Draft
from paimon_core.commit.publishing.orphaned_snapshot import follows, withdraw
from paimon_core.commit.publishing.unknown_outcome import PUBLISH_TRIES, unknown_outcome
from paimon_core.commit.retry import attempts
from paimon_core.errors import (
    CommitConflict,
    CommitStateUnknown,
    ConditionalWriteUnsupported,
    CorruptTable,
    PaimonError,
    SnapshotNotFound,
    StorageError,
    TableNotFound,
)
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table


def publish(base: Base, snapshot: Snapshot) -> bool:
    """Return True when the snapshot was published on its base, False when another commit has used its id.

    Raises CommitConflict when the snapshot was orphaned and was withdrawn: nothing is committed, and its files must not
    be published again. Raises TableNotFound instead when the table was dropped or re-created. Raises CommitStateUnknown
    when the outcome cannot be determined, for example when another process deleted the snapshot. Raises StorageError
    when the store has certainly created nothing.
    """
    created, doubt = _create(base, snapshot)
    if not created:
        return False
    if not follows(base, snapshot):
        try:
            withdraw(base.context, snapshot)
        except CommitStateUnknown:
            if doubt is None:  # a drop may have deleted the snapshot: then nothing is committed
                with contextlib.suppress(StorageError, CorruptTable):  # no answer: the outcome stays unknown
                    check_same_table(base.context)
            raise
        # An earlier request may have created the snapshot in the chain, and the snapshot may have expired.
        if doubt is not None:
            raise unknown_outcome(base.context, snapshot, doubt)
        check_same_table(base.context)
        raise _withdrawn(base.context, snapshot)
    with contextlib.suppress(OSError):  # the commit succeeded, and a stale hint does no harm
        base.context.snapshots.write_latest_hint(snapshot.id)
    return True


def publish_draft(base: Base, snapshot: Snapshot, draft: Draft) -> bool:
    """Call ``publish``; delete the draft when it raises an error after which the snapshot certainly does not exist."""
    try:
        return publish(base, snapshot)
    except (CommitConflict, TableNotFound, StorageError, ConditionalWriteUnsupported):
        draft.discard()
        raise


def _create(base: Base, snapshot: Snapshot) -> tuple[bool, PaimonError | None]:
    """Return whether this commit created the snapshot or may have created it, and the error of an undecided request.

    Each attempt sends one request to create the file. Unless the store confirms the creation, the file is read back:

    - It contains this snapshot, or another one: the outcome is certain.
    - It is missing, the store refused the request and no earlier request is undecided: nothing was created.
    - It is missing although it was reported to exist, no earlier request is undecided, the catalog owns the history and
      the base has changed: the catalog has refused the snapshot and will not create it later.
    - In all other cases the outcome is undecided, and the next attempt tries to create the same snapshot.
      If the base has changed, that attempt returns True instead. Raises CommitStateUnknown after the last attempt.
    """
    context = base.context
    undecided: PaimonError | None = None
    for _ in attempts(context.options, PUBLISH_TRIES):
        if undecided is not None and not _may_create_again(base):
            return True, undecided  # unknown: a snapshot created now would be orphaned
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
                return False, None  # the catalog compares the base, and so never creates this snapshot
            if said_to_exist:  # the create found a file, the read did not: it may be this commit's
                undecided = error
        except (StorageError, CorruptTable) as error:
            undecided = error
    raise unknown_outcome(context, snapshot, undecided)


def _may_create_again(base: Base) -> bool:
    with contextlib.suppress(StorageError, CorruptTable):
        return base.is_current()
    return True  # the base is read again after the snapshot is created


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
