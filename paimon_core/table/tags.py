"""Tags: named snapshots of one table, kept whatever expires (format 15.1); and where a rollback may go to."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.maintain.tags.automatic import create_due_tags
from paimon_core.maintain.tags.expiry import expire_tags
from paimon_core.maintain.tags.operations import create_tag, delete_tag, rename_tag, replace_tag
from paimon_core.metadata import clock, time_travel
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.metadata.table_identity import same_table, table_to_change, within_same_table
from paimon_core.table.argument_checks import as_millis, epoch_millis, whole

_Time = datetime.datetime | int


@dataclass(frozen=True)
class Tags:
    """The tags of one table; every call raises TableNotFound when the table was dropped or made anew."""

    context: TableContext
    pinned: Snapshot | None = None

    def create(
        self,
        name: str,
        snapshot: int | None = None,
        *,
        time: _Time | None = None,
        watermark: int | None = None,
        keep_for: datetime.timedelta | None = None,
    ) -> Tag:
        """Name a snapshot (default: the one the table is pinned to, or the latest).

        By its id, also one that has expired and another tag holds; or the first that was committed at or after a
        ``time``, or whose ``watermark`` is at or after this one, live or tagged. ``keep_for`` lets ``expire`` and later
        commits drop the tag after that time; default is option ``tag.default-time-retained``.

        Raises AlreadyExists, SnapshotNotFound, InvalidRequest (a name of digits only would be taken for an id).
        """
        self.context.paths.tag(name)  # refuses a name that is none
        if sum(v is not None for v in (snapshot, time, watermark)) > 1:
            raise InvalidRequest(f"tag {name!r}: at most one of snapshot, time and watermark")
        retained = self._retained(name, keep_for)
        if time is not None or watermark is not None:
            millis = None if time is None else epoch_millis(time)
            mark = None if watermark is None else whole("watermark", watermark)
            with within_same_table(self.context):
                target = time_travel.tag_source(self.context, millis, mark)
            return create_tag(table_to_change(self.context), name, target, retained)
        return self._with_target(
            snapshot, lambda target: create_tag(table_to_change(self.context), name, target, retained)
        )

    def rename(self, name: str, new_name: str) -> Tag:
        """Give a tag another name; raises TagNotFound, AlreadyExists, InvalidRequest.

        A tag that has the new name stays as it is, whatever it holds; its own name changes nothing. A crash leaves the
        tag under both names, and the same call then finishes.
        """
        return rename_tag(table_to_change(self.context), name, new_name)

    def replace(self, name: str, snapshot: int | None = None, *, keep_for: datetime.timedelta | None = None) -> Tag:
        """Let a tag that exists name another snapshot (default as ``create``), at one stroke.

        Without ``keep_for`` it is kept until it is deleted. What only the old snapshot used is deleted. Raises
        TagNotFound, SnapshotNotFound, InvalidRequest.
        """
        retained = None if keep_for is None else self._retained(name, keep_for)
        return self._with_target(
            snapshot, lambda target: replace_tag(table_to_change(self.context), name, target, retained)
        )

    def list(self) -> list[Tag]:
        """All tags, by name."""
        return same_table(self.context).tags.list()

    def read(self, name: str) -> Tag:
        """One tag; raises TagNotFound."""
        return same_table(self.context).tags.read(name)

    def delete(self, name: str) -> None:
        """Remove a tag, and the files that only it still used; raises TagNotFound."""
        delete_tag(table_to_change(self.context), name)

    def expire(self, *, older_than: datetime.timedelta | None = None) -> tuple[str, ...]:
        """Delete the tags whose time is over, and with ``older_than`` those that are older; their names."""
        now = clock.now_millis()
        made_before = None if older_than is None else now - as_millis("older_than", older_than)
        return tuple(expire_tags(table_to_change(self.context), now, older_than_millis=made_before))

    def create_due(self) -> tuple[Tag, ...]:
        """Make the automatic tags that are due now, as every commit does unless the table is write-only; those made.

        Raises InvalidRequest for options that do not fit together.
        """
        return tuple(create_due_tags(table_to_change(self.context)))

    def _with_target(self, snapshot: int | None, name: Callable[[Snapshot], Tag]) -> Tag:
        """Name a snapshot; by default the latest, and a newer one when it expires before it has its name."""

        def latest(found: Snapshot | None) -> Tag:
            if found is None:
                raise SnapshotNotFound(f"table {self.context.name} has no snapshot to tag", table=self.context.name)
            return name(found)

        if snapshot is not None:
            with within_same_table(self.context):
                target = time_travel.by_id(self.context, whole("snapshot", snapshot), tagged=True)
            return name(target)
        if self.pinned is not None:
            return name(self.pinned)
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
    """The snapshot to go back to, by exactly one of these; raises SnapshotNotFound, TagNotFound, InvalidRequest."""
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
