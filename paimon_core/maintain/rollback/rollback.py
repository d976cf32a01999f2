"""Rollback: makes an older snapshot, the target, the latest again (format 15.3).

Only snapshot, changelog and tag files are deleted; data files of the deleted snapshots become orphans. The steps:

1. Create a guard tag on the target. Either a concurrent expiry finds the tag, or the rollback finds that the target
   has expired and stops before any change. A second write of the tag records that the target existed.
2. Re-create the target's snapshot file if it had expired, write LATEST, and delete newer snapshots, newest first.
3. Check that the target exists, and re-create its file when a concurrent expiry deleted it.
4. Delete the guard tag.

The table is complete at every moment. When a rollback and an expiry run at the same time, the table has a snapshot
afterwards, no matter which operation ends last. An interrupted rollback is completed by repeating it; until then, for
at most two days, the guard tag protects the target.

A concurrent commit is deleted together with the other newer snapshots. A writer whose base snapshot was deleted notices
this and retries.
"""

from __future__ import annotations

import contextlib

from paimon_core.commit.vector_switch import check_rollback
from paimon_core.errors import CommitConflict, PlanOutdated, SnapshotNotFound, TagNotFound
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.rollback.rollback_guard import GUARD, recreate
from paimon_core.maintain.tags.operations import check_live_or_tagged
from paimon_core.maintain.tags.success_files import delete_success_file_of_tag
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.tag_store import Tag, new_tag

OPERATION = "rollback"
_GUARD_MILLIS = 86_400_000
_CONFIRMED_MILLIS = 2 * _GUARD_MILLIS
"""The lifetime of a guard tag after the check that the target existed when the tag was created.

A guard tag with this lifetime has passed the check.
"""
_ROUNDS = 5


def plan_rollback(context: TableContext, to: Snapshot) -> Plan:
    """Plan a rollback to a live or tagged snapshot: lists the snapshots, changelogs and tags to delete.

    Raises SnapshotNotFound when the table has no such snapshot, neither by id nor in a tag.
    """
    state = TableState.of(context)
    check_rollback(context, to)
    restores = _restores(context, to)
    ids = context.snapshots.ids()
    subjects = [f"snapshot {i}" for i in reversed(ids) if i > to.id]
    subjects += [f"changelog {i}" for i in reversed(context.changelogs.ids()) if i > to.id]
    subjects += [f"tag {t.name}" for t in context.tags.list() if t.snapshot.id > to.id]
    arguments = {"to": to.to_members(), "latest": max(ids, default=0), "restores": restores}
    return Plan(OPERATION, context.name, context.branch, state, tuple(subjects), arguments=arguments)


def apply_rollback(context: TableContext, plan: Plan) -> Snapshot:
    """Roll back as planned; raises PlanOutdated when the table has changed, for example by newer commits."""
    plan.check(context, OPERATION)
    latest = context.snapshots.latest_id() or 0
    if latest != plan.argument("latest", int):
        raise PlanOutdated(
            f"table {context.name} changed since the plan was created: its latest snapshot is {latest}, not "
            f"{plan.arguments['latest']}. The plan was not applied. Create a new plan",
            table=context.name,
        )
    return rollback(context, Snapshot.from_members(plan.argument("to", dict)))


def rollback(context: TableContext, to: Snapshot) -> Snapshot:
    """Roll back to ``to`` and return it: deletes newer snapshots and changelogs, and the tags on newer snapshots.

    Later commits reuse the deleted ids. Raises SnapshotNotFound when the table does not have the snapshot;
    CommitConflict when concurrent expiries or commits keep changing the table; UnsupportedFeature when the catalog
    owns the history; InvalidRequest as ``check_rollback`` does.
    """
    context.snapshots.refuse_if_catalog_owns_history("roll back")
    check_rollback(context, to)
    try:
        restores = _restores(context, to)
    except SnapshotNotFound:
        _drop_guard(context, to)
        raise
    guard = _guard(context, to)
    if restores:
        _recreate(context, to)
    context.snapshots.write_latest_hint(to.id)
    for _ in range(_ROUNDS):
        while newer := [i for i in reversed(context.snapshots.ids()) if i > to.id]:
            for snapshot_id in newer:
                if not context.snapshots.is_live(to):
                    _recreate(context, to)  # a concurrent expiry deleted the snapshot
                context.snapshots.delete([snapshot_id])
        _drop_changelogs(context, to)
        _drop_tags(context, to)
        if context.snapshots.is_live(to) and context.snapshots.ids()[-1:] == [
            to.id
        ]:  # a slice, because a table that is being dropped may have no snapshot
            break
        _recreate(context, to)
    else:
        raise CommitConflict(
            f"table {context.name}: concurrent commits or expiries kept changing the table during the rollback to "
            f"snapshot {to.id}, which tag {guard!r} protects. Stop the other processes, then repeat the rollback",
            table=context.name,
            snapshot=to.id,
        )
    with contextlib.suppress(TagNotFound):
        context.tags.delete(guard)
    return to


def _restores(context: TableContext, to: Snapshot) -> bool:
    """Whether the target has expired and can be re-created from a tag; raises SnapshotNotFound if no tag has it."""
    ids = context.snapshots.ids()
    if to.id in ids and context.snapshots.is_live(to):
        return False
    absent = to.id not in ids and (not ids or to.id < ids[-1])
    if absent and any(t.snapshot == to and _proves_files(t) for t in context.tags.list()):
        return True
    raise SnapshotNotFound(
        f"table {context.name} has no snapshot {to.id} of user {to.commit_user} to roll back to"
        + (f": it has {ids[0]} to {ids[-1]}" if ids else ""),
        snapshot=to.id,
        table=context.name,
    )


def _guard(context: TableContext, to: Snapshot) -> str:
    """Create the guard tag on the target, or replace the guard tag of an interrupted rollback; return its name."""
    name = f"{GUARD}{to.id}"
    found = [t for t in context.tags.list() if t.name == name and t.snapshot == to]
    if any(map(_proves_files, found)):
        context.tags.put(new_tag(name, to, _CONFIRMED_MILLIS))
        return name  # after an interrupted rollback, the guard may be the only reference to the target
    context.tags.put(new_tag(name, to, _GUARD_MILLIS))
    try:
        check_live_or_tagged(context, to, name)
    except SnapshotNotFound:
        with contextlib.suppress(TagNotFound):
            context.tags.delete(name)
        raise
    context.tags.put(new_tag(name, to, _CONFIRMED_MILLIS))
    return name


def _drop_guard(context: TableContext, to: Snapshot) -> None:
    """Delete the guard tag of an interrupted rollback, unless the tag proves that the files of ``to`` exist."""
    for tag in context.tags.list():
        if tag.name == f"{GUARD}{to.id}" and tag.snapshot == to and not _proves_files(tag):
            with contextlib.suppress(TagNotFound):
                context.tags.delete(tag.name)


def _proves_files(tag: Tag) -> bool:
    """Whether the tag proves that the files of its snapshot exist.

    A guard tag proves this only after its check: an expiry may have deleted the files before the guard was created.
    """
    return not tag.name.startswith(GUARD) or tag.retained_millis == _CONFIRMED_MILLIS


def _recreate(context: TableContext, to: Snapshot) -> None:
    """Create the target's snapshot file again; raises CommitConflict when another snapshot has the same id.

    Raises TableNotFound when the table was dropped or re-created.
    """
    if not recreate(context, to) and not context.snapshots.is_live(to):
        raise CommitConflict(
            f"table {context.name}: another snapshot {to.id} was created while the table was rolled back to snapshot "
            f"{to.id} of user {to.commit_user}",
            table=context.name,
            snapshot=to.id,
        )
    if min(context.snapshots.ids(), default=to.id) == to.id:
        context.snapshots.write_earliest_hint(to.id)


def _drop_changelogs(context: TableContext, to: Snapshot) -> None:
    """Delete the changelogs (format 16.2) newer than ``to``, newest first.

    Before the deletion, the hint LATEST of the changelogs is set to the newest changelog that is kept.
    """
    ids = context.changelogs.ids()
    newer = [i for i in reversed(ids) if i > to.id]
    if newer:
        remaining = ids[len(ids) - len(newer) - 1] if len(newer) < len(ids) else -1
        context.changelogs.write_latest_hint(remaining)
        context.changelogs.delete(newer)


def _drop_tags(context: TableContext, to: Snapshot) -> None:
    for tag in context.tags.list():
        if tag.snapshot.id > to.id:
            with contextlib.suppress(TagNotFound):
                context.tags.delete(tag.name)
                delete_success_file_of_tag(context, tag.name)
