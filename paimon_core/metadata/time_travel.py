"""Time travel: finds the snapshot for a time, a watermark, an id or a version text (format 15.4).

Commit times and watermarks never decrease along the snapshot chain, so a binary search finds the snapshot. A snapshot
without a watermark is ordered like the nearest earlier snapshot with a watermark. When a snapshot expires during a
search, the search is retried on the remaining snapshots.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable
from typing import Any, NoReturn

from paimon_core.argument_checks import whole
from paimon_core.errors import InvalidRequest, SnapshotNotFound, TagNotFound, nearest_names
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.read_again import read_again
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore

_NONE = -(2**63)
"""The value that Java writes for a snapshot without a watermark."""
_WATERMARK = re.compile(r"watermark-(-?\d{1,19})")


def by_id(context: TableContext, snapshot_id: int, *, tagged: bool = False) -> Snapshot:
    """Return the live snapshot of this id; with ``tagged``, also an expired snapshot that a tag contains.

    Otherwise raises SnapshotNotFound, which names the ids that exist; InvalidRequest for a number of more than 64 bits.
    """
    whole("a snapshot id", snapshot_id)
    try:
        return context.snapshots.read(snapshot_id)
    except SnapshotNotFound:
        tags = [t for t in context.tags.list() if t.snapshot.id == snapshot_id]
        if tags and tagged:
            return tags[0].snapshot
        if tags:
            ids = context.snapshots.ids()
            raise SnapshotNotFound(
                f"snapshot {snapshot_id} of table {context.name} has expired"
                + (f" (there are {ids[0]} to {ids[-1]})" if ids else "")
                + f"; tag {tags[0].name!r} still contains it",
                snapshot=snapshot_id,
                tag=tags[0].name,
            ) from None
        raise


def by_version(context: TableContext, version: str | int) -> Snapshot:
    """Return the snapshot of a version, such as the value of option ``scan.version``.

    A text is interpreted as a tag name if the tag exists, otherwise as ``watermark-<millis>``, otherwise as a snapshot
    id. A number is a snapshot id. Raises InvalidRequest for any other version, TagNotFound when the tag is deleted
    during the read, and SnapshotNotFound when there is no such snapshot.
    """
    text = str(whole("version", version) if isinstance(version, int) else version)
    tags = [] if isinstance(version, int) else context.tags.names()
    if text in tags:
        return context.tags.read(text).snapshot
    if found := _WATERMARK.fullmatch(text):
        return from_watermark(context, int(found.group(1)))
    if re.fullmatch(r"[0-9]{1,19}", text):
        return by_id(context, int(text))
    raise InvalidRequest(
        f"version {text!r:.80} of table {context.name} is not a tag, a snapshot id or watermark-<milliseconds> (tags: "
        f"{nearest_names(text, tags) or 'none'})",
        version=text,
    )


def by_option(context: TableContext, option: str, value: Any) -> Snapshot:
    """Return the snapshot that an option ``scan.*`` with this value selects.

    Raises the errors of ``by_version``. SnapshotNotFound and TagNotFound name the option, because the caller did not
    choose the snapshot.
    """
    try:
        return _by_option(context, option, value)
    except (SnapshotNotFound, TagNotFound) as error:
        message = f"option {option} = {value} of table {context.name}: {error.message}"
        raise type(error)(message, **{**error.facts, "option": option}) from None


def _by_option(context: TableContext, option: str, value: Any) -> Snapshot:
    match option:
        case "scan.snapshot-id":
            return by_id(context, value)
        case "scan.tag-name":
            return context.tags.read(value).snapshot
        case "scan.watermark":
            return from_watermark(context, value)
        case "scan.version":
            return by_version(context, value)
        case "scan.mode":
            return latest_compaction(context)
        case "scan.creation-time-millis":
            return after_time(context, value) or _raise_not_found(context, f"after one from before {value} ms")
        case _:
            return context.snapshots.as_of(value)


def latest_compaction(context: TableContext) -> Snapshot:
    """Return the latest COMPACT snapshot, or the latest snapshot if there is none (``scan.mode`` = compacted-full).

    With option full-compaction.delta-commits = N, a COMPACT snapshot counts only if its commit identifier is a multiple
    of N, as in the full compactions of Java, or if a batch job wrote it. Raises SnapshotNotFound without snapshots.
    """
    options = context.options
    every = options["full-compaction.delta-commits"] or 1

    def counts(snapshot: Snapshot) -> bool:
        number = snapshot.commit_identifier
        return snapshot.commit_kind is CommitKind.COMPACT and (number % every == 0 or number == BATCH_IDENTIFIER)

    def last() -> Snapshot | None:
        ids = context.snapshots.ids()
        found = filter(counts, map(context.snapshots.read, reversed(ids)))
        return next(found, None) or (context.snapshots.read(ids[-1]) if ids else None)

    return read_again(last) or _raise_not_found(context, "to read")


def after_time(context: TableContext, millis: int) -> Snapshot | None:
    """Return the first live snapshot at or after a time in epoch milliseconds.

    Return None when no live snapshot is older than the time, or all live snapshots are older.
    """

    def first() -> Snapshot | None:
        ids = context.snapshots.ids()
        at = bisect.bisect_left(ids, millis, key=lambda i: context.snapshots.read(i).time_millis)
        return context.snapshots.read(ids[at]) if 0 < at < len(ids) else None

    return read_again(first)


def from_time(context: TableContext, millis: int) -> Snapshot:
    """Return the first live or tagged snapshot committed at or after a time (epoch milliseconds).

    Raises SnapshotNotFound when there is no such snapshot.
    """

    def first() -> Snapshot | None:
        ids = context.snapshots.ids()
        at = bisect.bisect_left(ids, millis, key=lambda i: context.snapshots.read(i).time_millis)
        return context.snapshots.read(ids[at]) if at < len(ids) else None

    tagged = [t.snapshot for t in context.tags.list() if t.snapshot.time_millis >= millis]
    found = [s for s in (read_again(first), *tagged) if s is not None]
    if not found:
        _raise_not_found(context, f"committed at or after {millis} ms")
    return min(found, key=lambda s: (s.time_millis, s.id))


def from_watermark(context: TableContext, watermark: int) -> Snapshot:
    """Return the first live snapshot whose watermark is at least ``watermark``.

    Raises SnapshotNotFound when there is no such snapshot.
    """

    def first() -> Snapshot | None:
        ids = context.snapshots.ids()
        at = bisect.bisect_left(ids, watermark, key=_order_by_watermark(context.snapshots, ids))
        return context.snapshots.read(ids[at]) if at < len(ids) else None

    return read_again(first) or _raise_not_found(context, f"with a watermark at or after {watermark}")


def until_watermark(context: TableContext, watermark: int) -> Snapshot:
    """Return the last live snapshot with a watermark of at most ``watermark``.

    Raises SnapshotNotFound when there is no such snapshot.
    """

    def last() -> Snapshot | None:
        ids = context.snapshots.ids()
        at = bisect.bisect_right(ids, watermark, key=_order_by_watermark(context.snapshots, ids))
        own = (s for s in map(context.snapshots.read, reversed(ids[:at])) if _watermark(s) is not None)
        return next(own, None)

    return read_again(last) or _raise_not_found(context, f"with a watermark at or before {watermark}")


def tag_source(context: TableContext, time_millis: int | None, watermark: int | None) -> Snapshot:
    """Return the snapshot for a new tag: the first live or tagged snapshot at or after a time.

    If ``time_millis`` is None, the watermarks of the snapshots are compared with ``watermark`` instead. Raises
    SnapshotNotFound when there is no such snapshot.
    """
    if time_millis is not None:
        return from_time(context, time_millis)
    assert watermark is not None
    tagged = [t.snapshot for t in context.tags.list() if (_watermark(t.snapshot) or _NONE) >= watermark]
    try:
        live = [from_watermark(context, watermark)]
    except SnapshotNotFound:
        if not tagged:
            raise
        live = []
    return min([*live, *tagged], key=lambda s: (_watermark(s) or _NONE, s.id))


def _watermark(snapshot: Snapshot) -> int | None:
    return None if snapshot.watermark == _NONE else snapshot.watermark


def _order_by_watermark(snapshots: SnapshotStore, ids: list[int]) -> Callable[[int], int]:
    """Return a function that gives the watermark by which the snapshot with an id is ordered (see the module)."""
    known: dict[int, int | None] = {}

    def position(snapshot_id: int) -> int:
        for at in range(bisect.bisect_left(ids, snapshot_id), -1, -1):
            if ids[at] not in known:
                known[ids[at]] = _watermark(snapshots.read(ids[at]))
            if (own := known[ids[at]]) is not None:
                return own
        return _NONE

    return position


def _raise_not_found(context: TableContext, what: str) -> NoReturn:
    ids = context.snapshots.ids()
    raise SnapshotNotFound(
        f"table {context.name} has no snapshot {what}" + (f": it has snapshots {ids[0]} to {ids[-1]}" if ids else ""),
        table=context.name,
    )
