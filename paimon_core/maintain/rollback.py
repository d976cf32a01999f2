"""rollback: make an older snapshot the latest again (format 15.3).

Only snapshot and tag files go; the data files of what is given up become orphans. LATEST moves first, then snapshots go
newest first, so that the table is whole at every moment and a rollback that was cut short is finished by another. A
commit that lands meanwhile is given up with the rest; one that was prepared on a snapshot given up finds it gone and
goes again. Expiry and rollback of one table are not meant to run at the same time.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from paimon_core.errors import CommitConflict, SnapshotNotFound, TagNotFound
from paimon_core.maintain.garbage import refuse_unbuilt
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot


@dataclass(frozen=True)
class RollbackPlan:
    """What a rollback would delete and restore."""

    to: Snapshot
    snapshots: tuple[int, ...]
    """Ids that go, newest first."""
    tags: tuple[str, ...]
    """Tags of newer snapshots, which go too."""
    restores: bool
    """The snapshot has expired and comes back from its tag."""


def plan_rollback(context: TableContext, to: Snapshot) -> RollbackPlan:
    """Look what a rollback to a live or tagged snapshot means.

    Raises SnapshotNotFound when the table holds no such snapshot, neither by id nor by a tag.
    """
    ids = context.snapshots.ids()
    tags = context.tags.list()
    restores = not ids or to.id < ids[0]
    known = any(t.snapshot == to for t in tags) if restores else to.id in ids and context.snapshots.read(to.id) == to
    if not known:
        raise SnapshotNotFound(
            f"table {context.name} holds no snapshot {to.id} of user {to.commit_user} to roll back to"
            + (f": it has {ids[0]} to {ids[-1]}" if ids else ""),
            snapshot=to.id,
            table=context.name,
        )
    return RollbackPlan(
        to,
        tuple(i for i in reversed(ids) if i > to.id),
        tuple(t.name for t in tags if t.snapshot.id > to.id),
        restores,
    )


def rollback(context: TableContext, to: Snapshot) -> Snapshot:
    """Go back to ``to``: newer snapshots and the tags on them are deleted, later commits reuse their ids.

    Raises SnapshotNotFound, CommitConflict when the snapshot went away meanwhile.
    """
    plan = plan_rollback(context, to)
    snapshots = context.snapshots
    if plan.restores:
        refuse_unbuilt(context)
        snapshots.publish(to)
        snapshots.write_earliest_hint(to.id)
    snapshots.write_latest_hint(to.id)
    while newer := [i for i in reversed(snapshots.ids()) if i > to.id]:
        snapshots.delete(newer)
    for name in plan.tags:
        with contextlib.suppress(TagNotFound):
            context.tags.delete(name)
    try:
        stands = snapshots.read(to.id) == to
    except SnapshotNotFound:
        stands = False
    if not stands:
        raise CommitConflict(
            f"table {context.name}: snapshot {to.id} was removed while the table was rolled back to it",
            table=context.name,
            snapshot=to.id,
        )
    return to
