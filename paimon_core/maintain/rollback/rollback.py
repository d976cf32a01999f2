"""rollback: make an older snapshot the latest again (format 15.3).

Only snapshot, changelog and tag files go; the data files of what is given up become orphans. Order, and what it
protects. A tag of our own is laid on the target first: an expiry that runs meanwhile sees it, or we see that the target
is gone and nothing has happened. Then the target comes back if it had expired, LATEST moves, and snapshots go newest
first. So the table is whole at every moment, and a rollback that was cut short is finished by another; until then, or
for a day, its tag keeps the target. At the end we look once more, and put the target back should an expiry have
removed its file while we removed all above it: of the two, whoever is later leaves a table with a snapshot.

A commit that lands meanwhile is given up with the rest; one that was prepared on a snapshot given up finds it gone and
goes again.
"""

from __future__ import annotations

import contextlib

from paimon_core.errors import CommitConflict, PlanOutdated, SnapshotNotFound, TagNotFound
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.rollback.rollback_guard import GUARD
from paimon_core.maintain.tags.operations import check_held
from paimon_core.maintain.tags.success_files import note_deleted
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.tag_store import new_tag

OPERATION = "rollback"
_GUARD_MILLIS = 86_400_000
_ROUNDS = 5


def plan_rollback(context: TableContext, to: Snapshot) -> Plan:
    """Look what a rollback to a live or tagged snapshot means.

    Raises SnapshotNotFound when the table holds no such snapshot, neither by id nor by a tag.
    """
    state = TableState.of(context)
    restores = _restores(context, to)
    ids = context.snapshots.ids()
    subjects = [f"snapshot {i}" for i in reversed(ids) if i > to.id]
    subjects += [f"changelog {i}" for i in reversed(context.changelogs.ids()) if i > to.id]
    subjects += [f"tag {t.name}" for t in context.tags.list() if t.snapshot.id > to.id]
    arguments = {"to": to.to_members(), "latest": max(ids, default=0), "restores": restores}
    return Plan(OPERATION, context.name, context.branch, state, tuple(subjects), arguments=arguments)


def apply_rollback(context: TableContext, plan: Plan) -> Snapshot:
    """Roll back as planned; raises PlanOutdated also when there are newer commits, which the plan does not name."""
    plan.check(context, OPERATION)
    latest = context.snapshots.latest_id() or 0
    if latest != plan.argument("latest", int):
        raise PlanOutdated(
            f"table {context.name} moved since the plan was made: its latest snapshot is {latest}, not "
            f"{plan.arguments['latest']}. Nothing was done; plan again",
            table=context.name,
        )
    return rollback(context, Snapshot.from_members(plan.argument("to", dict)))


def rollback(context: TableContext, to: Snapshot) -> Snapshot:
    """Go back to ``to``: newer snapshots, changelogs and the tags on them go, later commits reuse their ids.

    Raises SnapshotNotFound when the table does not hold it, CommitConflict when others kept changing the table,
    UnsupportedFeature where the catalog owns the history.
    """
    context.snapshots.check_own_history("roll back")
    restores = _restores(context, to)
    guard = _guard(context, to)
    if restores:
        _put_back(context, to)
    context.snapshots.write_latest_hint(to.id)
    for _ in range(_ROUNDS):
        while newer := [i for i in reversed(context.snapshots.ids()) if i > to.id]:
            for snapshot_id in newer:
                if not context.snapshots.is_live(to):
                    _put_back(context, to)  # it expired while we slept
                context.snapshots.delete([snapshot_id])
        _drop_changelogs(context, to)
        _drop_tags(context, to)
        if context.snapshots.is_live(to) and context.snapshots.ids()[-1] == to.id:
            break
        _put_back(context, to)
    else:
        raise CommitConflict(
            f"table {context.name}: snapshot {to.id} kept being removed, or commits kept landing, while the table was "
            f"rolled back to it; tag {guard!r} holds it: stop the others, then roll back again",
            table=context.name,
            snapshot=to.id,
        )
    with contextlib.suppress(TagNotFound):
        context.tags.delete(guard)
    return to


def _restores(context: TableContext, to: Snapshot) -> bool:
    """Whether the target comes back from a tag; raises SnapshotNotFound when nothing holds it."""
    ids = context.snapshots.ids()
    if to.id in ids and context.snapshots.is_live(to):
        return False
    absent = to.id not in ids and (not ids or to.id < ids[-1])
    if absent and any(t.snapshot == to for t in context.tags.list()):
        return True
    raise SnapshotNotFound(
        f"table {context.name} holds no snapshot {to.id} of user {to.commit_user} to roll back to"
        + (f": it has {ids[0]} to {ids[-1]}" if ids else ""),
        snapshot=to.id,
        table=context.name,
    )


def _guard(context: TableContext, to: Snapshot) -> str:
    """Hold the target by a tag of our own, or by that of a rollback to it that was cut short."""
    name = f"{GUARD}{to.id}"
    held = any(t.name == name and t.snapshot == to for t in context.tags.list())
    context.tags.put(new_tag(name, to, _GUARD_MILLIS))
    if held:
        return name  # a rollback that was cut short may have left nothing else that holds the target
    try:
        check_held(context, to, name)
    except SnapshotNotFound:
        with contextlib.suppress(TagNotFound):
            context.tags.delete(name)
        raise
    return name


def _put_back(context: TableContext, to: Snapshot) -> None:
    if not context.snapshots.publish(to) and not context.snapshots.is_live(to):
        raise CommitConflict(
            f"table {context.name}: another snapshot {to.id} was made while the table was rolled back to that of user "
            f"{to.commit_user}",
            table=context.name,
            snapshot=to.id,
        )
    if min(context.snapshots.ids(), default=to.id) == to.id:
        context.snapshots.write_earliest_hint(to.id)


def _drop_changelogs(context: TableContext, to: Snapshot) -> None:
    """Changelogs that outlived their snapshots, newest first; their hint moves before."""
    ids = context.changelogs.ids()
    newer = [i for i in reversed(ids) if i > to.id]
    if newer:
        left = ids[len(ids) - len(newer) - 1] if len(newer) < len(ids) else -1
        context.changelogs.write_latest_hint(left)
        context.changelogs.delete(newer)


def _drop_tags(context: TableContext, to: Snapshot) -> None:
    for tag in context.tags.list():
        if tag.snapshot.id > to.id:
            with contextlib.suppress(TagNotFound):
                context.tags.delete(tag.name)
                note_deleted(context, tag.name)
