"""Tags: named snapshots of one table, kept whatever expires (format 15.1)."""

from __future__ import annotations

import datetime
import time as clock
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.maintain.tags import create_tag, delete_tag, expire_tags
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.tag_store import Tag


@dataclass(frozen=True)
class Tags:
    """The tags of one table."""

    context: TableContext
    pinned: Snapshot | None = None

    def create(self, name: str, snapshot: int | None = None, *, keep_for: datetime.timedelta | None = None) -> Tag:
        """Name a snapshot (default: the one the table is pinned to, or the latest).

        ``keep_for`` lets ``expire`` drop the tag after that time.

        Raises AlreadyExists, SnapshotNotFound, InvalidRequest.
        """
        self.context.paths.tag(name)  # refuses a name that is none
        snapshots = self.context.snapshots
        target = self.pinned or snapshots.latest() if snapshot is None else snapshots.read(snapshot)
        if target is None:
            raise SnapshotNotFound(f"table {self.context.name} has no snapshot to tag", table=self.context.name)
        default = self.context.options["tag.default-time-retained"]
        millis = default if keep_for is None else as_millis("keep_for", keep_for)
        if keep_for is not None and millis < 1:
            raise InvalidRequest(f"tag {name!r}: keep_for must be positive, not {keep_for}")
        return create_tag(self.context, name, target, millis)

    def list(self) -> list[Tag]:
        """All tags, by name."""
        return self.context.tags.list()

    def read(self, name: str) -> Tag:
        """One tag; raises TagNotFound."""
        return self.context.tags.read(name)

    def delete(self, name: str) -> None:
        """Remove a tag, and the files that only it still used; raises TagNotFound."""
        delete_tag(self.context, name)

    def expire(self) -> tuple[str, ...]:
        """Delete the tags whose time is over; their names."""
        return tuple(expire_tags(self.context, clock.time_ns() // 1_000_000))


def as_millis(name: str, value: object) -> int:
    """A timedelta in milliseconds; raises InvalidRequest naming the argument for anything else, and for less than 0."""
    if not isinstance(value, datetime.timedelta) or value < datetime.timedelta():
        raise InvalidRequest(f"{name} must be a timedelta that is not negative, not {value!r:.60}")
    return int(value.total_seconds() * 1000)
