"""Unknown outcome: the error of a publish whose snapshot may or may not exist."""

from __future__ import annotations

from paimon_core.errors import CommitStateUnknown, PaimonError
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot

PUBLISH_TRIES = 5
"""The number of attempts to publish, after which an undecided outcome is reported as unknown."""


def unknown_outcome(context: TableContext, snapshot: Snapshot, cause: PaimonError | None) -> CommitStateUnknown:
    """Return the error that names the snapshot, its uuid and its user; ``cause`` is the last error of the store."""
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
