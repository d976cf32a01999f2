"""Table commit: commit one table's part of a group's publish; any process may have done some of the steps before."""

from __future__ import annotations

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import AlreadyExists, SnapshotNotFound, TableNotFound, TagNotFound
from paimon_core.group.record import Intent, Member, Mode, Part
from paimon_core.maintain.tags.operations import create_tag
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import table_to_change
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table

_OVERWRITES = {
    Mode.APPEND: None,
    Mode.OVERWRITE_PARTITIONS: Overwrite(),
    Mode.OVERWRITE_TABLE: Overwrite(lambda partition: True),
}


def user_of(group: str) -> str:
    """Return the commit user of a group's snapshots."""
    return f"group-{group}"


def commit_part(table: Table, part: Part, intent: Intent, group: str) -> Member:
    """Commit the part under (the group's user, the intent's number) and tag its snapshot, or roll back to a tag.

    Raises AlreadyExists when the tag name is used for another snapshot, SnapshotNotFound for an empty part of a table
    without snapshots, TableNotFound for a table that was re-created since the intent, and what ``Table.commit`` and
    ``Table.rollback`` raise.
    """
    _check_same(table, part, intent, group)
    if part.mode is Mode.ROLLBACK:
        return Member(_rolled_back(table, part).id, part.tag or "")
    tag = f"group-{group}-{intent.number}"
    try:
        return Member(_tagged_before(table, tag, part, intent, group).id, tag)
    except TagNotFound:
        properties = {**intent.properties, "group.name": group, "group.version": str(intent.number)}
        snapshot = table.commit(
            part.messages,
            user=user_of(group),
            identifier=intent.number,
            properties=properties,
            overwrite=_OVERWRITES[part.mode],
        )
    snapshot = snapshot or table.latest_snapshot()
    if snapshot is None:
        raise SnapshotNotFound(f"table {table.name} has no snapshot for group {group}: publish rows", table=table.name)
    return Member(_tag(table, tag, snapshot).id, tag)


def is_part_committed(table: Table, part: Part, intent: Intent, group: str) -> bool:
    """Whether the table has committed its part; raises TableNotFound for a table that was re-created since."""
    _check_same(table, part, intent, group)
    if part.mode is Mode.ROLLBACK:
        return part.undone is not None and not _is_pending(table, part.undone)
    newest = CommitRequest.of(table.context, user_of(group), None, None).newest()
    return newest is not None and newest.commit_identifier == intent.number


def _check_same(table: Table, part: Part, intent: Intent, group: str) -> None:
    if part.schema is None:
        return
    schema_id, time_millis = part.schema
    if schema_id in table.context.schemas.ids() and table.context.schemas.read(schema_id).time_millis == time_millis:
        return
    raise TableNotFound(
        f"table {table.name} was dropped or re-created since publish {intent.number} of group {group} was decided: "
        "call abandon() to give up that publish",
        table=table.name,
        group=group,
    )


def _tagged_before(table: Table, tag: str, part: Part, intent: Intent, group: str) -> Snapshot:
    """Return the snapshot that an earlier process tagged for this publish; raises TagNotFound if tagged is none."""
    tagged = table.tags.read(tag).snapshot
    if part.messages and (tagged.commit_user, tagged.commit_identifier) != (user_of(group), intent.number):
        raise AlreadyExists(
            f"tag {tag!r} of table {table.name} is not of group {group}, which needs the name: rename that tag, then "
            "call recover()",
            table=table.name,
            tag=tag,
        )
    return tagged


def _tag(table: Table, tag: str, snapshot: Snapshot) -> Snapshot:
    try:
        return create_tag(table_to_change(table.context), tag, snapshot).snapshot
    except AlreadyExists:
        return table.tags.read(tag).snapshot


def _rolled_back(table: Table, part: Part) -> Snapshot:
    """Roll back unless that was done before: a paused process must not remove later commits."""
    target = table.tags.read(part.tag or "").snapshot
    if part.undone is None or part.undone[0] == target.id:
        return target
    return table.rollback(tag=part.tag) if _is_pending(table, part.undone) else target


def _is_pending(table: Table, undone: tuple[int, str]) -> bool:
    """Whether the former latest snapshot still exists, so that the rollback is not done yet."""
    try:
        return (table.context.snapshots.read(undone[0]).uuid or "") == undone[1]
    except SnapshotNotFound:
        return False
