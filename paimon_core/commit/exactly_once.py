"""Exactly once: finds the snapshots that a (user, identifier) has committed (format 14.5).

The identifiers of a user ascend. So a search from the newest snapshot down ends at the APPEND or OVERWRITE snapshot of
the commit, or at a snapshot of the user with a lower identifier; for a new user, the search reads all snapshots. The
result states up to which snapshot the history was searched, and the next search reads only the snapshots that were
added since. A call with an identifier searches before it writes files, and its commit searches again before each
attempt to publish. No snapshot is searched twice, unless the last snapshot of the previous search has expired or was
rolled back.

The search ends at an orphaned snapshot (``snapshot_chain``): this snapshot and all snapshots below it are ignored.
Expired snapshots are not searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from paimon_core.commit.snapshot_chain import in_chain
from paimon_core.commit.snapshot_history import newest_first
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot


@dataclass(frozen=True)
class OwnSnapshots:
    """The snapshots of one (user, identifier) that a search of the history has found."""

    searched: Snapshot | None = None
    """The latest snapshot that was searched; None: nothing was searched, or there was no snapshot."""
    found: tuple[Snapshot, ...] = ()
    """The snapshots of this (user, identifier), newest first: one, or two when the commit contains a compaction."""
    higher: Snapshot | None = None
    """The newest snapshot of the user with a higher identifier."""

    @property
    def by_part(self) -> dict[bool, Snapshot]:
        """The snapshots that were found; the key is True for the COMPACT snapshot, otherwise False."""
        return {snapshot.commit_kind is CommitKind.COMPACT: snapshot for snapshot in self.found}


NOTHING_SEARCHED = OwnSnapshots()


def find_own(
    context: TableContext,
    user: str,
    identifier: int,
    latest: Snapshot | None,
    before: OwnSnapshots = NOTHING_SEARCHED,
) -> OwnSnapshots:
    """Search the snapshots up to ``latest`` that the search ``before`` has not read.

    Return the results of both searches. ``before`` is ignored when its latest snapshot was rolled back or has expired.
    """
    if latest is None:
        return NOTHING_SEARCHED
    if before.searched is None or not (before.searched == latest or context.snapshots.is_live(before.searched)):
        before = NOTHING_SEARCHED
    found: list[Snapshot] = []
    higher: Snapshot | None = None
    for snapshot in snapshots_of(context, user, latest, above=before.searched.id if before.searched else 0):
        if snapshot.commit_identifier > identifier:
            higher = higher or snapshot
            continue
        if snapshot.commit_identifier == identifier:
            found.append(snapshot)
            if snapshot.commit_kind is CommitKind.COMPACT:
                continue  # the APPEND or OVERWRITE snapshot of the commit may have a lower id
        break
    return OwnSnapshots(latest, (*found, *before.found), higher or before.higher)


def snapshots_of(context: TableContext, user: str, latest: Snapshot, *, above: int = 0) -> Iterator[Snapshot]:
    """Yield the snapshots of a user that have an identifier, from ``latest`` down to the id ``above`` + 1."""
    for snapshot in newest_first(context.snapshots, latest.id, above):
        if snapshot.commit_user == user and snapshot.commit_identifier != BATCH_IDENTIFIER:
            if not in_chain(context, snapshot):
                return
            yield snapshot


def newest_of(context: TableContext, user: str) -> Snapshot | None:
    """Return the newest snapshot of a user that has an identifier; None when the user has no such snapshot."""
    latest = context.snapshots.latest()
    return None if latest is None else next(snapshots_of(context, user, latest), None)


def check_ascending(context: TableContext, user: str, identifier: int, own: OwnSnapshots) -> None:
    """Raise InvalidRequest when ``own`` shows that the user has committed a higher identifier."""
    if own.higher is not None:
        raise InvalidRequest(
            f"user {user!r} has committed identifier {own.higher.commit_identifier} to {context.name}: "
            f"identifier {identifier} is too low, because the identifiers of a user must ascend",
            user=user,
            identifier=identifier,
        )
