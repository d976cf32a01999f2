"""TableStream: follows a table, snapshot by snapshot (format 10, 15.4, 15.6).

``poll`` returns the next snapshot with changes as a ``Batch``; ``follow`` calls ``poll`` again and again, with pauses.
A stream that starts at a stored position returns exactly the batches after the position. No snapshot is skipped
silently: a snapshot that has expired, and a rollback below the position, raise errors.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from paimon_core.argument_checks import epoch_millis, whole
from paimon_core.display import Displayed, Summary, named
from paimon_core.errors import CommitConflict, CorruptTable, InvalidRequest, NotFound, ReadOutdated, SnapshotNotFound
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.plan.changed_places import ChangedPlace
from paimon_core.plan.changelog_plan import ChangedFile, changed_snapshot
from paimon_core.plan.split import Split
from paimon_core.plan.stream_plan import (
    SnapshotPlan,
    Unit,
    check_history,
    plan_changes,
    plan_full,
    reading_context,
    version_before,
)
from paimon_core.predicate import Predicate
from paimon_core.read.changelog_reader import changes_schema, read_changed_file
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.schema import ROW_KINDS
from paimon_core.table.changes.difference import as_changes, difference_of_place
from paimon_core.table.stream.position import Position


class Waits(Protocol):
    """An object on which ``follow`` waits between polls, such as a ``threading.Event``."""

    def wait(self, timeout: float) -> bool:
        """Wait for up to ``timeout`` seconds; return True when the stream must end."""


@dataclass(frozen=True, repr=False)
class Batch(Displayed):
    """The rows of one snapshot: its whole content ("full"), or only its changes."""

    context: TableContext
    plan: SnapshotPlan
    position: Position
    """The position after this batch: store it, or commit it, when the rows are processed."""
    columns: tuple[str, ...]
    where: Predicate | None

    def _summary(self) -> Summary:
        at = f"{self.context.name} at snapshot {self.snapshot.id}"
        return Summary(at, (("kind", self.kind), ("columns", named(self.columns)), ("where", self.where)))

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot whose content or changes the batch contains."""
        return self.plan.snapshot

    @property
    def kind(self) -> str:
        """The content of the batch: "full", "delta", "changelog", or "overwrite" (the rows that it changed)."""
        return self.plan.kind

    @property
    def units(self) -> tuple[Unit, ...]:
        """The splits of a full batch, the files with changes, or the buckets that an overwrite has changed."""
        return self.plan.units

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows: ``rowkind``, then the columns."""
        return changes_schema(self.context.schema, self.columns)

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the rows; changes of one key are in the order in which they were made. Rows of a full batch are +I.

        Raises SnapshotNotFound when the snapshot expires before its rows are read, CorruptTable for a damaged file.
        """
        rows = (
            b for unit in self.units for b in read_unit(self.context, self.snapshot, unit, self.columns, self.where)
        )
        return pa.RecordBatchReader.from_batches(self.schema, rows)

    def to_arrow(self) -> pa.Table:
        """Return the rows as one table; see ``to_batches``."""
        return self.to_batches().read_all()


def read_unit(
    context: TableContext, snapshot: Snapshot, unit: Unit, columns: Sequence[str], where: Predicate | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one unit, in the schema of ``changes_schema``; raises the errors of ``Batch.to_batches``."""
    if isinstance(unit, Split):
        yield from _content(context, unit, columns, where)
        return
    try:
        if isinstance(unit, ChangedFile):
            yield from read_changed_file(context, unit, columns, where)
        else:
            for rows in difference_of_place(context, unit):
                yield from as_changes(context, rows, columns, where)
    except CorruptTable as error:
        if not error.facts.get("missing"):
            raise
        if isinstance(unit, ChangedPlace):
            version_before(context, snapshot)
        if context.snapshots.is_live(snapshot):
            raise
        raise SnapshotNotFound(
            f"snapshot {snapshot.id} of {context.name} expired or was rolled back during the read: {error}",
            snapshot=snapshot.id,
        ) from error


def _content(
    context: TableContext, split: Split, columns: Sequence[str], where: Predicate | None
) -> Iterator[pa.RecordBatch]:
    schema = changes_schema(context.schema, columns)
    for table in read_split(reading_context(context), split, ReadRequest(columns, where)):
        kinds = pa.chunked_array([pa.repeat(pa.scalar(ROW_KINDS[0]), len(table))])
        yield from pa.Table.from_arrays([kinds, *table.columns], schema=schema).to_batches()


class TableStream(Displayed):
    """One streaming read; only one thread at a time may use it. As an iterator it is ``follow`` without arguments."""

    def __init__(
        self,
        context: TableContext,
        position: Position,
        columns: tuple[str, ...],
        where: Predicate | None,
        on_overwrite: str,
        consumer: str | None = None,
        known: int | None = None,
    ) -> None:
        """See ``stream.start.open_stream``; ``known`` is the next snapshot that the consumer's file states."""
        self._context = context
        self._position = position
        self._columns = columns
        self._where = where
        self._on_overwrite = on_overwrite
        self._consumer = consumer
        self._known = known

    def _summary(self) -> Summary:
        facts = (
            ("next_snapshot", self._position.next_snapshot),
            ("full", self._position.full or None),
            ("columns", named(self._columns)),
            ("where", self._where),
            ("consumer", self._consumer),
        )
        return Summary(self._context.name, facts)

    def __iter__(self) -> Iterator[Batch]:
        """Yield each batch forever, as ``follow`` does without arguments."""
        return self.follow()

    @property
    def position(self) -> Position:
        """The position after the last batch of ``poll``, and after snapshots without changes that follow this batch."""
        return self._position

    def poll(self, until: Until | None = None) -> Batch | None:
        """Return the next batch; None when there is no newer snapshot, or the next snapshot is after the end ``until``.

        None also when the next snapshot is younger than ``streaming.read.snapshot.delay``. The batch has the changes of
        one snapshot. Concurrent commits do not affect the batch; an expiry or a rollback of the snapshot raises
        SnapshotNotFound or ReadOutdated. After an error, the position is before the snapshot that caused it. Raises
        TableNotFound when the table was dropped or re-created. For an overwrite, ``poll`` raises InvalidRequest, which
        names the snapshot, if ``on_overwrite`` is "fail", and SnapshotNotFound if the previous snapshot has expired, so
        that the changes cannot be computed.
        """
        while (snapshot := self._next()) is not None:
            if until is not None and until.is_beyond(snapshot):
                return None
            after = Position.after(snapshot)
            plan: SnapshotPlan | None
            if self._position.full:
                plan = plan_full(self._context, snapshot, self._where)
            else:
                plan = plan_changes(self._context, snapshot, self._on_overwrite)
            self._position = after
            if plan is not None and plan.units:
                return Batch(self._context, plan, after, self._columns, self._where)
        return None

    def _next(self) -> Snapshot | None:
        """Return the next snapshot; None if there is none, or if it is younger than
        ``streaming.read.snapshot.delay``.
        """
        found = next_snapshot(self._context, self._position)
        return None if found is None or is_delayed(self._context, self._position, found) else found

    def follow(
        self,
        *,
        until: Until | None = None,
        interval: datetime.timedelta | None = None,
        stop: Waits | None = None,
    ) -> Iterator[Batch]:
        """Yield batches forever, or up to the end ``until``; wait for ``interval`` when there is no new batch.

        The default of ``interval`` is option ``continuous.discovery-interval``, and of ``until`` the watermark in
        option ``scan.bounded.watermark``. The pauses are calls of ``stop.wait``; the stream ends when a call returns
        True. With ``consumer.mode = at-least-once``, a batch is committed when the caller requests the next batch;
        otherwise the caller must call ``commit`` after the rows of a batch are processed. Raises the errors of
        ``poll``.
        """
        seconds = self._interval(interval)
        stop = stop or threading.Event()
        at_least_once = self._consumer is not None and self._context.options["consumer.mode"] == "at-least-once"
        if until is None and (watermark := self._context.options["scan.bounded.watermark"]) is not None:
            until = Until(watermark=watermark)
        while True:
            now = clock.now_millis()
            batch = self.poll(until)
            if batch is not None:
                yield batch
                if at_least_once:
                    self.commit(batch.position)
            elif self._is_at_end(until, now) or stop.wait(seconds):
                return

    def _is_at_end(self, until: Until | None, now_millis: int) -> bool:
        return until is not None and until.is_reached(
            self._position, next_snapshot(self._context, self._position), now_millis
        )

    def _interval(self, interval: datetime.timedelta | None) -> float:
        if interval is None:
            return float(self._context.options["continuous.discovery-interval"]) / 1000
        if not isinstance(interval, datetime.timedelta) or interval < datetime.timedelta():
            raise InvalidRequest(f"interval must be a timedelta that is not negative, not {interval!r:.60}")
        return interval.total_seconds()

    def commit(self, position: Position | None = None) -> None:
        """Store in the consumer that all snapshots before ``position`` (default: the stream's position) are processed.

        The snapshots from ``position`` on do not expire. When several streams use one consumer, each stream returns all
        batches. A commit raises CommitConflict when another stream or a reset has moved the consumer since this
        stream's last commit. When two commits run at the same moment, the later commit is stored. Raises InvalidRequest
        without a consumer.
        """
        position = self._position if position is None else position
        if self._consumer is None:
            raise InvalidRequest("the stream has no consumer to store its progress in", table=self._context.name)
        if position.full:
            return  # a consumer stores only a snapshot id, so the full content must be read to its end before a commit
        store = self._context.consumers
        check_same_table(self._context)
        try:
            stored: int | None = store.read(self._consumer).next_snapshot
        except NotFound:
            stored = None
        if stored is not None and stored not in (self._known, position.next_snapshot):
            raise CommitConflict(
                f"consumer {self._consumer!r} of table {self._context.name} was moved to snapshot {stored} by another "
                f"stream or a reset; this stream had stored {self._known or 'nothing'}. Start the stream again",
                consumer=self._consumer,
                snapshot=stored,
            )
        if stored != position.next_snapshot:
            store.reset(self._consumer, position.next_snapshot)
        self._known = position.next_snapshot


def next_snapshot(context: TableContext, position: Position) -> Snapshot | None:
    """Return the snapshot to read next, at the position; None when this snapshot does not exist yet.

    Raises ReadOutdated after a rollback below the position, SnapshotNotFound when the snapshot has expired,
    TableNotFound when the table was dropped or re-created.
    """
    found: Snapshot | None
    try:
        read = context.snapshots.read if position.full else lambda i: changed_snapshot(context, i)
        found = read(position.next_snapshot)
    except SnapshotNotFound:
        found = None
    check_same_table(context)
    check_history(context, position.next_snapshot, position.previous, position.previous_uuid, found)
    if position.current and found is not None and found.delta_manifest_list != position.current:
        raise ReadOutdated(
            f"table {context.name} was rolled back: snapshot {found.id}, of which the stream has read a part, was "
            "replaced by another one. Start again from the full content",
            table=context.name,
            snapshot=found.id,
        )
    return found


def is_delayed(context: TableContext, position: Position, snapshot: Snapshot) -> bool:
    """Whether the snapshot is younger than ``streaming.read.snapshot.delay``; False for full content, as in Java."""
    delay = context.options["streaming.read.snapshot.delay"]
    return delay is not None and not position.full and snapshot.time_millis > clock.now_millis() - delay


@dataclass(frozen=True)
class Until:
    """The end of a stream: it stops before the first snapshot that exceeds one of the bounds."""

    snapshot: int | None = None
    """The last snapshot id that is read."""
    watermark: int | None = None
    """Epoch milliseconds: snapshots with a greater watermark are not read."""
    time: datetime.datetime | int | None = None
    """A time, or epoch milliseconds: snapshots that were committed later are not read."""

    def __post_init__(self) -> None:
        for name, value in (("snapshot", self.snapshot), ("watermark", self.watermark)):
            if value is not None:
                whole(name, value)
        if self.time is not None:
            epoch_millis(self.time)

    def is_beyond(self, snapshot: Snapshot) -> bool:
        """Whether the snapshot exceeds one of the bounds, so that the stream must stop before this snapshot."""
        return (
            (self.snapshot is not None and snapshot.id > self.snapshot)
            or (self.watermark is not None and snapshot.watermark is not None and snapshot.watermark > self.watermark)
            or (self.time is not None and snapshot.time_millis > epoch_millis(self.time))
        )

    def is_reached(self, position: Position, following: Snapshot | None, now_millis: int) -> bool:
        """Whether the stream has ended, because the next snapshot ``following`` exceeds a bound.

        Without a next snapshot, the stream has ended if it is past ``snapshot``, or ``time`` is over.
        """
        if following is not None:
            return self.is_beyond(following)
        done = self.snapshot is not None and position.next_snapshot > self.snapshot
        return done or (self.time is not None and now_millis > epoch_millis(self.time))
