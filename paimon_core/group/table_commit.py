"""Table commit: commits the part of one table in a publish of a group; a step that is already done is not repeated."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import (
    AlreadyExists,
    CommitConflict,
    InvalidRequest,
    SnapshotNotFound,
    TableNotFound,
    TagNotFound,
    UnsupportedFeature,
)
from paimon_core.group.record import Intent, Member, Mode, Part
from paimon_core.maintain.tags.operations import create_tag
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import table_to_change
from paimon_core.storage.paths import POSTPONE_BUCKET
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.write.staging import is_staged, written_again

_TRIES = 5
_OVERWRITES = {
    Mode.APPEND: None,
    Mode.OVERWRITE_PARTITIONS: Overwrite(),
    Mode.OVERWRITE_TABLE: Overwrite(lambda partition: True),
}


def user_of(group: str) -> str:
    """Return the commit user of a group's snapshots."""
    return f"group-{group}"


def tag_of(group: str, number: int) -> str:
    """Return the name of the tags of a version of a group."""
    return f"group-{group}-{number}"


def number_of(tag: str, group: str) -> int | None:
    """Return the version number in the name of a tag; None for a tag that is not of the group."""
    number = tag.removeprefix(f"group-{group}-")
    return int(number) if number != tag and re.fullmatch(r"[0-9]{1,18}", number) else None


def commit_part(table: Table, part: Part, intent: Intent, group: str) -> Member:
    """Commit the part under (the group's user, the intent's number) and tag its snapshot, or roll back to a tag.

    Raises AlreadyExists when the tag name is used for another snapshot, SnapshotNotFound for an empty part of a table
    without snapshots, TableNotFound for a table that was re-created since the intent, and the errors of
    ``Table.commit`` and ``Table.rollback``.
    """
    _check_same(table, part, intent, group)
    if part.mode is Mode.ROLLBACK:
        return Member(_rolled_back(table, part).id, part.tag or "")
    tag = tag_of(group, intent.number)
    if part.mode is Mode.SNAPSHOT:
        return Member(_tag(table, tag, _shown(table, part)).id, tag)
    try:
        return Member(_tagged_before(table, tag, part, intent, group).id, tag)
    except TagNotFound:
        properties = {**intent.properties, "group.name": group, "group.version": str(intent.number)}
        commit = partial(
            table.commit,
            user=user_of(group),
            identifier=intent.number,
            properties=properties,
            overwrite=_OVERWRITES[part.mode],
        )
        snapshot = _committed(table, part, commit)
    snapshot = snapshot or table.latest_snapshot()
    if snapshot is None:
        raise SnapshotNotFound(f"table {table.name} has no snapshot for group {group}: publish rows", table=table.name)
    return Member(_tag(table, tag, snapshot).id, tag)


def _committed(
    table: Table, part: Part, commit: Callable[[Sequence[CommitMessage]], Snapshot | None]
) -> Snapshot | None:
    """Commit the messages of a part. The files of the messages are kept, because other processes may also commit them.

    When another commit has since added keys to dynamic buckets, or chosen the number of buckets of a new partition, the
    rows are written again to buckets that fit, so that the publish can continue. Raises CommitConflict when the buckets
    did not fit in any attempt.
    """
    messages: Sequence[CommitMessage] = part.messages
    for left in reversed(range(_TRIES)):
        try:
            return commit(messages)
        except CommitConflict as error:
            if "committed" in error.facts:
                raise
            if messages is not part.messages:
                abort(messages, table.context)
            if not left or not is_staged(table.context):
                raise
        messages = written_again(table.context, part.messages, overwrites=part.mode is not Mode.APPEND)
    raise AssertionError


def check_buckets(table: Table, messages: Sequence[CommitMessage], mode: Mode, group: str) -> None:
    """Raise an error for messages that cannot be committed later, or whose rows the version would not show."""
    if table.context.is_cross_partition:
        raise UnsupportedFeature(
            f"group {group}: table {table.name} has bucket = -1 and a primary key without the partition keys "
            "(cross-partition upsert), which a group cannot publish: its keys may move before the publish",
            group=group,
            table=table.name,
        )
    for message in messages:
        if message.bucket == POSTPONE_BUCKET:
            raise UnsupportedFeature(
                f"group {group}: rows of table {table.name} are in the postpone bucket, where the version would "
                "not show them: write with postpone.batch-write-fixed-bucket = true",
                group=group,
                table=table.name,
            )
        if table.context.has_dynamic_buckets and (
            message.assignment is None or (mode is not Mode.APPEND and message.assignment.base)
        ):
            raise InvalidRequest(
                f"group {group}: table {table.name} has dynamic buckets: write with one flush of a "
                "writer of this table (for an overwrite, with ignore_existing=True)",
                group=group,
                table=table.name,
            )


def is_part_committed(table: Table, part: Part, intent: Intent, group: str) -> bool:
    """Whether the table has committed its part; False for a part that changes nothing.

    Raises TableNotFound for a table that was re-created.
    """
    _check_same(table, part, intent, group)
    if part.mode is Mode.SNAPSHOT:
        return False
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
    """Return the snapshot that an earlier attempt tagged for this publish; raises TagNotFound without a tag."""
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


def _shown(table: Table, part: Part) -> Snapshot:
    """Return the snapshot of a part that changes nothing; raises SnapshotNotFound when it expired or was removed."""
    number, uuid = part.shown or (0, "")
    snapshot = table.context.snapshots.read(number)
    if (snapshot.uuid or "") != uuid:
        raise SnapshotNotFound(f"snapshot {number} of table {table.name} was replaced by another", table=table.name)
    return snapshot


def _rolled_back(table: Table, part: Part) -> Snapshot:
    """Roll back, unless the rollback is already done: a process that was paused must not remove later commits."""
    target = table.tags.read(part.tag or "").snapshot
    if part.undone is None or part.undone[0] == target.id:
        return target
    return table.rollback(tag=part.tag) if _is_pending(table, part.undone) else target


def _is_pending(table: Table, undone: tuple[int, str]) -> bool:
    """Whether the former latest snapshot still exists; then the rollback is not done yet."""
    try:
        return (table.context.snapshots.read(undone[0]).uuid or "") == undone[1]
    except SnapshotNotFound:
        return False
