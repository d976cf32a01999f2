"""Versions: the states of a table between which changes are read, found by id, tag, time or snapshot value."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from paimon_core.argument_checks import epoch_millis
from paimon_core.errors import CorruptTable, InvalidRequest, SnapshotNotFound, nearest_names, shown
from paimon_core.metadata import time_travel
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table

Bound = int | str | datetime.datetime | Snapshot | None
"""A snapshot id, a text (the name of a tag, else a time in ISO format), a datetime, or a snapshot."""


@dataclass(frozen=True, slots=True)
class Version:
    """The state of a table at one snapshot."""

    id: int
    """The id of the snapshot; 0: the empty table before the first snapshot."""
    snapshot: Snapshot | None
    """None for the table before its first snapshot, and for an expired snapshot that no tag contains."""
    name: str

    @property
    def is_known(self) -> bool:
        """Whether the rows of the version can be read."""
        return self.id == 0 or self.snapshot is not None


EMPTY = Version(0, None, "the table before its first snapshot")


def version_of(snapshot: Snapshot | None) -> Version:
    """Return the version at a snapshot; for None, the empty table before the first snapshot."""
    return EMPTY if snapshot is None else Version(snapshot.id, snapshot, f"snapshot {snapshot.id}")


def find_version(context: TableContext, bound: Bound, name: str) -> Version:
    """Return the version that an argument selects.

    An int is a snapshot id; 0 selects the empty table before its first snapshot. A text is the name of a tag, when the
    tag exists, otherwise a time in ISO format. A time selects the snapshot that was the latest at that time; a time
    before snapshot 1 selects the empty table. An expired snapshot is read from a tag that contains it; without such a
    tag, ``snapshot`` of the result is None. Times without offset are local. Raises SnapshotNotFound for a time whose
    snapshot has expired, and InvalidRequest, which names the argument ``name``, for any other bound.
    """
    if isinstance(bound, Snapshot):
        return version_of(bound)
    if isinstance(bound, str):
        text, tags = bound, context.tags.names()
        if text in tags:
            return Version((found := context.tags.read(text).snapshot).id, found, f"tag {text!r}")
        try:
            bound = datetime.datetime.fromisoformat(bound.strip())
        except ValueError:
            raise InvalidRequest(
                f"{name} {bound!r:.80} is neither a tag of table {context.name} nor a time in ISO format (tags: "
                f"{nearest_names(text, tags) or 'none'})",
                table=context.name,
            ) from None
    if isinstance(bound, datetime.datetime):
        return _at_time(context, epoch_millis(bound))
    if not isinstance(bound, int) or isinstance(bound, bool) or bound < 0:
        raise InvalidRequest(
            f"{name} must be a snapshot id, a tag or a time, not {shown(bound, 60)}", table=context.name
        )
    if bound == 0:
        return EMPTY
    try:
        return Version(bound, time_travel.by_id(context, bound, tagged=True), f"snapshot {bound}")
    except SnapshotNotFound:
        return Version(bound, None, f"snapshot {bound}")


def _at_time(context: TableContext, millis: int) -> Version:
    try:
        return version_of(context.snapshots.as_of(millis))
    except SnapshotNotFound:
        if min(context.snapshots.ids(), default=1) > 1:
            raise
        return EMPTY


def known(context: TableContext, version: Version, why: str = "") -> Version:
    """Return ``version`` if its rows can be read, else raise SnapshotNotFound; ``why`` is the reason in the error
    text.
    """
    if version.is_known:
        return version
    live = context.snapshots.ids()
    if not live or version.id > live[-1]:
        latest = f"its latest snapshot is {live[-1]}" if live else "it has no snapshots"
        raise SnapshotNotFound(
            f"table {context.name} has no snapshot {version.id}: {latest}", table=context.name, snapshot=version.id
        )
    raise SnapshotNotFound(
        f"table {context.name}: snapshot {version.id} has expired, and no tag contains it"
        + (f"; {why}" if why else "")
        + (f" (there are snapshots {live[0]} to {live[-1]})" if live else ""),
        table=context.name,
        snapshot=version.id,
    )


@contextlib.contextmanager
def reading_versions(context: TableContext, *snapshots: Snapshot | None) -> Iterator[None]:
    """Wrap reads of the files of some versions: raise SnapshotNotFound for missing files of an expired version."""
    try:
        yield
    except CorruptTable as error:
        if not error.facts.get("missing"):
            raise
        check_same_table(context)
        for snapshot in snapshots:
            if snapshot is not None and not is_referenced(context, snapshot):
                raise SnapshotNotFound(
                    f"snapshot {snapshot.id} of {context.name} expired or was rolled back while its changes were read: "
                    f"{error}",
                    snapshot=snapshot.id,
                ) from error
        raise


def is_referenced(context: TableContext, snapshot: Snapshot) -> bool:
    """Whether exactly this snapshot is live or in a tag, so that its files are kept; the same id is not enough."""
    return context.snapshots.is_live(snapshot) or any(_same(t.snapshot, snapshot) for t in context.tags.list())


def _same(one: Snapshot, other: Any) -> bool:
    return (one.id, one.delta_manifest_list) == (other.id, other.delta_manifest_list)


def is_same(one: Snapshot | None, other: Snapshot | None) -> bool:
    """Whether two values are the same snapshot: after a rollback, different snapshots can have the same id."""
    return one is other or (one is not None and other is not None and _same(one, other))
