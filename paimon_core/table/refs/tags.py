"""Tags: create, list, rename, replace, delete and expire the tags of one table (format 15.1); rollback targets.

A tag is a named snapshot. A tagged snapshot and its files are kept when snapshots expire.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from paimon_core.argument_checks import as_millis, epoch_millis, whole
from paimon_core.display import Displayed, Summary
from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.maintain.tags.automatic import create_due_tags
from paimon_core.maintain.tags.expiry import expire_tags
from paimon_core.maintain.tags.operations import create_tag, delete_tag, rename_tag, replace_tag
from paimon_core.metadata import clock, time_travel
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.metadata.table_identity import changing_same_table, same_table, within_same_table
from paimon_core.table.summaries import place

_Time = datetime.datetime | int


@dataclass(frozen=True, repr=False)
class Tags(Displayed):
    """The tags of one table; every method raises TableNotFound when the table was dropped or re-created."""

    context: TableContext
    pinned: Snapshot | None = None

    def _summary(self) -> Summary:
        return Summary(place(self.context, self.pinned))

    def create(
        self,
        name: str,
        snapshot: int | None = None,
        *,
        time: _Time | None = None,
        watermark: int | None = None,
        keep_for: datetime.timedelta | None = None,
    ) -> Tag:
        """Create a tag on a snapshot (default: the snapshot to which the table is pinned, or the latest).

        ``snapshot`` is an id; the snapshot may have expired if another tag references it. ``time`` and ``watermark``
        select the first snapshot, live or tagged, that was committed at or after ``time``, or whose watermark is at or
        after ``watermark``. After ``keep_for``, ``expire`` and later commits may delete the tag; the default is option
        ``tag.default-time-retained``.

        Raises AlreadyExists when a tag of this name exists, SnapshotNotFound when there is no such snapshot, and
        InvalidRequest for a wrong argument (for example a name of digits only, which looks like an id).
        """
        self.context.paths.tag(name)  # raises InvalidRequest for an invalid name
        if sum(v is not None for v in (snapshot, time, watermark)) > 1:
            raise InvalidRequest(f"tag {name!r}: give at most one of snapshot, time and watermark")
        retained = self._retained(name, keep_for)
        if time is not None or watermark is not None:
            millis = None if time is None else epoch_millis(time)
            mark = None if watermark is None else whole("watermark", watermark)
            with within_same_table(self.context):
                target = time_travel.tag_source(self.context, millis, mark)
            with changing_same_table(self.context) as context:
                return create_tag(context, name, target, retained)
        with changing_same_table(self.context) as context:
            return self._tag_snapshot(snapshot, lambda target: create_tag(context, name, target, retained))

    def rename(self, name: str, new_name: str) -> Tag:
        """Rename a tag; raises TagNotFound for an unknown ``name``, InvalidRequest for an invalid ``new_name``.

        When a tag with the new name exists, it is not changed, and AlreadyExists is raised. Renaming a tag to its own
        name changes nothing. After a crash the tag may have both names; the same call then completes the rename.
        """
        with changing_same_table(self.context) as context:
            return rename_tag(context, name, new_name)

    def replace(self, name: str, snapshot: int | None = None, *, keep_for: datetime.timedelta | None = None) -> Tag:
        """Make an existing tag refer to another snapshot, in one atomic step.

        The default of ``snapshot`` is the snapshot to which the table is pinned, or the latest. Without ``keep_for``
        the tag is kept until it is deleted. Files that only the old snapshot used are deleted. Raises TagNotFound for
        an unknown tag, SnapshotNotFound when there is no such snapshot, InvalidRequest for a wrong argument.
        """
        retained = None if keep_for is None else self._retained(name, keep_for)
        with changing_same_table(self.context) as context:
            return self._tag_snapshot(snapshot, lambda target: replace_tag(context, name, target, retained))

    def list(self) -> list[Tag]:
        """Return all tags, sorted by name."""
        return same_table(self.context).tags.list()

    def read(self, name: str) -> Tag:
        """Return one tag; raises TagNotFound when it does not exist."""
        return same_table(self.context).tags.read(name)

    def delete(self, name: str) -> None:
        """Delete a tag, and the files that only this tag used; raises TagNotFound when the tag does not exist."""
        with changing_same_table(self.context) as context:
            delete_tag(context, name)

    def expire(self, *, older_than: datetime.timedelta | None = None) -> tuple[str, ...]:
        """Delete the tags whose retention time is over, and the tags older than ``older_than``; return their names."""
        now = clock.now_millis()
        created_before = None if older_than is None else now - as_millis("older_than", older_than)
        with changing_same_table(self.context) as context:
            return tuple(expire_tags(context, now, older_than_millis=created_before))

    def create_due(self) -> tuple[Tag, ...]:
        """Create the automatic tags that are due now; return the new tags.

        Every commit also creates due tags unless the table is write-only. Raises InvalidRequest for options that
        contradict each other.
        """
        with changing_same_table(self.context) as context:
            return tuple(create_due_tags(context))

    def _tag_snapshot(self, snapshot: int | None, tag: Callable[[Snapshot], Tag]) -> Tag:
        """Call ``tag`` with the snapshot; if the latest snapshot expires before it is tagged, use a newer snapshot."""

        def latest(found: Snapshot | None) -> Tag:
            if found is None:
                raise SnapshotNotFound(f"table {self.context.name} has no snapshot to tag", table=self.context.name)
            return tag(found)

        if snapshot is not None:
            with within_same_table(self.context):
                target = time_travel.by_id(self.context, whole("snapshot", snapshot), tagged=True)
            return tag(target)
        if self.pinned is not None:
            return tag(self.pinned)
        with within_same_table(self.context):
            return read_latest(self.context.snapshots, latest)

    def _retained(self, name: str, keep_for: datetime.timedelta | None) -> int | None:
        if keep_for is None:
            default: int | None = self.context.options["tag.default-time-retained"]
            return default
        millis = as_millis("keep_for", keep_for)
        if millis < 1:
            raise InvalidRequest(f"tag {name!r}: keep_for must be positive, not {keep_for}")
        return millis


def rollback_target(
    context: TableContext, snapshot: int | None, tag: str | None, time: _Time | None, watermark: int | None
) -> Snapshot:
    """Return the snapshot to roll back to; raises InvalidRequest unless exactly one argument is given.

    Raises SnapshotNotFound or TagNotFound when the snapshot or the tag does not exist.
    """
    if sum(v is not None for v in (snapshot, tag, time, watermark)) != 1:
        raise InvalidRequest("a rollback takes exactly one of snapshot, tag, time and watermark")
    with within_same_table(context):
        if tag is not None:
            return context.tags.read(tag).snapshot
        if snapshot is not None:
            return time_travel.by_id(context, whole("snapshot", snapshot), tagged=True)
        if time is not None:
            return context.snapshots.as_of(epoch_millis(time))
        return time_travel.until_watermark(context, whole("watermark", watermark))
