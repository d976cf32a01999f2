"""open_stream: starts a streaming read at the position that arguments, options ``scan.*`` or a consumer select."""

from __future__ import annotations

import bisect
import datetime
from collections.abc import Sequence
from typing import Any

from paimon_core.argument_checks import epoch_millis, whole
from paimon_core.errors import InvalidRequest, NotFound, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.table_identity import within_same_table
from paimon_core.options.scan_position import scan_position
from paimon_core.plan.changelog_plan import changed_snapshot, check_producer
from paimon_core.plan.stream_plan import ADDED, CHANGES, ON_OVERWRITE
from paimon_core.predicate import Where
from paimon_core.query.scan import new_scan
from paimon_core.table.stream.position import Position
from paimon_core.table.stream.table_stream import TableStream

Start = str | int | datetime.datetime | Position | None
_WORDS = ("full", "latest", "compacted-full", "earliest")


def open_stream(
    context: TableContext,
    start: Start = None,
    *,
    full: bool = False,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
    consumer: str | None = None,
    on_overwrite: str | None = None,
) -> TableStream:
    """Return a stream; see ``Table.stream``."""
    check_producer(context)
    on_overwrite = overwrite_rule(context, on_overwrite)
    scan = new_scan(context, None, columns, where, None)
    consumer = context.options["consumer-id"] if consumer is None else consumer
    known = None
    if consumer is not None:
        context.paths.consumer(consumer)  # raises InvalidRequest for a name that is not a file name
        known = _progress(context, consumer)
    if known is not None and not isinstance(start, Position) and not context.options["consumer.ignore-progress"]:
        position = Position(known)
    else:
        with within_same_table(context):
            position = starting_position(context, start, full=full)
    stream = TableStream(context, position, scan.columns, scan.where, on_overwrite, consumer, known)
    if consumer is not None and known is None:
        stream.commit()  # from now on the unread snapshots do not expire
    return stream


def overwrite_rule(context: TableContext, on_overwrite: str | None) -> str:
    """Return how a stream handles overwrites: ``on_overwrite``, or if it is None the rule in the options of the table.

    Raises InvalidRequest for an unknown word, UnsupportedFeature for "added" in a table with a primary key.
    """
    if on_overwrite is None:
        on_overwrite = ADDED if context.options["streaming-read-append-overwrite"] and not context.is_keyed else CHANGES
    if on_overwrite not in ON_OVERWRITE:
        raise InvalidRequest(f"on_overwrite must be one of {', '.join(ON_OVERWRITE)}, not {on_overwrite!r:.60}")
    if context.is_keyed and on_overwrite == ADDED:
        raise UnsupportedFeature(
            f"table {context.name} has a primary key: on_overwrite = 'added' is not supported", table=context.name
        )
    return on_overwrite


def _progress(context: TableContext, consumer: str) -> int | None:
    try:
        return context.consumers.read(consumer).next_snapshot
    except NotFound:
        return None


def starting_position(context: TableContext, start: Start, *, full: bool = False) -> Position:
    """Return the position that ``start`` selects now; None: the options ``scan.*`` decide, by default "full".

    Raises InvalidRequest for other values, SnapshotNotFound for snapshots that do not exist.
    """
    if isinstance(start, Position):
        return start
    if start is None:
        start, full = _by_options(context)
    if isinstance(start, datetime.datetime):
        return _from_time(context, epoch_millis(start))
    if isinstance(start, int) and not isinstance(start, bool):
        return _from_snapshot(context, whole("start", start), full)
    if start not in _WORDS:
        raise InvalidRequest(
            f"start must be one of {', '.join(_WORDS)}, a snapshot id, a datetime or a Position, not {start!r:.60}"
        )
    latest = context.snapshots.latest()
    if latest is None:
        return Position(1)
    if start == "latest":
        return Position.after(latest)
    if start == "earliest":
        ids = [*context.snapshots.ids(), *context.changelogs.ids()]
        return Position(min(ids, default=1))
    if start == "full":
        return _whole(latest)
    return _whole(_latest_compaction(context))


def _whole(snapshot: Snapshot) -> Position:
    return Position(snapshot.id, full=True, current=snapshot.delta_manifest_list)


def _from_snapshot(context: TableContext, snapshot_id: int, full: bool) -> Position:
    if full:
        return _whole(context.snapshots.read(snapshot_id))
    ids = sorted({*context.snapshots.ids(), *context.changelogs.ids()})
    newest = ids[-1] if ids else 0
    if snapshot_id in ids or snapshot_id == newest + 1:
        return Position(snapshot_id)
    raise SnapshotNotFound(
        f"table {context.name} has no snapshot {snapshot_id} from which a stream could start: "
        + (f"it has the changes of snapshots {ids[0]} to {newest}" if ids else "it has no snapshots"),
        table=context.name,
        snapshot=snapshot_id,
    )


def _from_time(context: TableContext, millis: int) -> Position:
    """Return the position before the first snapshot that was committed at or after a time, as in Java.

    Raises SnapshotNotFound when snapshots that were committed at or after the time may have expired.
    """
    ids = sorted({*context.snapshots.ids(), *context.changelogs.ids()})
    if not ids:
        return Position(1)
    at = bisect.bisect_left(ids, millis, key=lambda i: changed_snapshot(context, i).time_millis)
    if at == 0 and ids[0] > 1:
        raise SnapshotNotFound(
            f"table {context.name}: snapshots before {ids[0]} have expired, including those committed at or after "
            f"{millis} ms, if any. Start at snapshot {ids[0]}, or from the full content",
            table=context.name,
            snapshot=ids[0] - 1,
        )
    return Position(ids[at]) if at < len(ids) else Position.after(context.snapshots.read(ids[-1]))


def _latest_compaction(context: TableContext) -> Snapshot:
    for snapshot_id in reversed(context.snapshots.ids()):
        snapshot = context.snapshots.read(snapshot_id)
        if snapshot.commit_kind is CommitKind.COMPACT:
            return snapshot
    raise SnapshotNotFound(f"table {context.name} has no snapshot of a compaction", table=context.name)


def _by_options(context: TableContext) -> tuple[Any, bool]:
    """Return the values of ``start`` and ``full`` that the options of the table state (format 15.4)."""
    mode, position = context.options["scan.mode"], scan_position(context.options)
    if position is None or position[0] == "scan.mode":
        return ("full" if mode in ("default", "latest-full", "full") else mode), False
    option, value = position
    if option in ("scan.timestamp", "scan.timestamp-millis"):
        return datetime.datetime.fromtimestamp(value / 1000, datetime.UTC), False
    if option == "scan.snapshot-id":
        return value, mode == "from-snapshot-full"
    raise UnsupportedFeature(
        f"option {option} of table {context.name} selects where a stream starts: not supported; pass start",
        table=context.name,
        option=option,
    )
