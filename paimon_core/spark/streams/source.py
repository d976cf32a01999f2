"""PaimonStreamReader: the source of Spark Structured Streaming (``spark.readStream.format("paimon")``).

An offset is a position of ``Table.stream``: the next snapshot, and how many of its units were read. A unit is what one
task reads of a snapshot: a split, a file of changes, or a bucket or partition whose files changed. A query that
restarts from a checkpoint continues at exactly this position. Spark may plan a batch again from its two offsets, even
after a restart. So the units of a snapshot have a fixed order, and a rollback or an expiry of the snapshots of the
batch is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from paimon_core.errors import InvalidOption, ReadOutdated, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.changed_places import ChangedPlace
from paimon_core.plan.changelog_plan import ChangedFile
from paimon_core.plan.split import Split
from paimon_core.plan.stream_plan import SnapshotPlan, Unit, plan_changes, plan_full
from paimon_core.read.changelog_reader import ROW_KIND
from paimon_core.schema import ROW_KINDS
from paimon_core.spark.reference import TableReference
from paimon_core.spark.types import arrow_schema, to_spark
from paimon_core.table.stream.position import Position
from paimon_core.table.stream.start import open_stream, overwrite_rule
from paimon_core.table.stream.table_stream import TableStream, is_delayed, next_snapshot, read_unit
from paimon_core.table.table import Table

LIMITS = {
    "read.stream.maxfilespertrigger": "files",
    "read.stream.maxbytespertrigger": "bytes",
    "read.stream.maxrowspertrigger": "rows",
}
"""The options that limit a batch, and the field of ``Limits`` that each option sets.

Spark passes the keys in lower case.
"""


@dataclass(frozen=True)
class Limits:
    """The largest numbers of files, bytes and rows of a batch (None: no limit); a batch has at least one unit."""

    files: int | None = None
    bytes: int | None = None
    rows: int | None = None

    @staticmethod
    def of(options: Mapping[str, str]) -> Limits:
        """Return the limits in the options; raises InvalidOption for a value that is not a whole number from 1."""
        found = {}
        for option, text in options.items():
            if (name := LIMITS.get(option.lower())) is not None:
                if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) < 1:
                    raise InvalidOption(f"option {option} = {text!r:.60} must be a whole number from 1", option=option)
                found[name] = int(text)
        return Limits(**found)

    def admit(self, taken: Limits) -> bool:
        """Whether a batch with the numbers ``taken`` is within these limits."""
        pairs = ((self.files, taken.files), (self.bytes, taken.bytes), (self.rows, taken.rows))
        return all(most is None or (count or 0) <= most for most, count in pairs)

    def plus(self, unit: Unit) -> Limits:
        """Return these numbers plus the files, bytes and rows of a unit."""
        files: Sequence[DataFile]
        match unit:
            case Split():
                files = unit.files
            case ChangedFile():
                files = (unit.file,)
            case ChangedPlace():
                files = [part.file for part in unit.parts]
        size, rows = sum(f.file_size for f in files), sum(f.row_count for f in files)
        return Limits((self.files or 0) + len(files), (self.bytes or 0) + size, (self.rows or 0) + rows)


@dataclass
class UnitPartition(InputPartition):
    """One serialized unit of a snapshot; a file of changes is serialized as a split with one file."""

    snapshot: str
    unit: bytes
    kind: str
    """"split", "file" (a file of changes) or "place" (a bucket or partition whose files changed)."""


class PaimonStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Streams the changes of one table.

    With ``kinds``, the first column is ``rowkind``; without ``kinds``, a row of kind -U or -D raises
    UnsupportedFeature.

    Spark creates readers in several processes, so the constructor reads nothing from the table and writes nothing.
    """

    def __init__(
        self, table: Table, columns: Sequence[str], limits: Limits, *, kinds: bool, on_overwrite: str | None = None
    ) -> None:
        """``on_overwrite``: see ``Table.stream``.

        The options of ``table`` decide at which snapshot a new query starts.
        """
        self._reference = TableReference.of(table.context)
        self._columns = tuple(columns)
        self._limits = limits
        self._kinds = kinds
        self._on_overwrite = overwrite_rule(table.context, on_overwrite)
        self._schema = arrow_schema(table.schema.select(columns))
        self._target: int | None = None
        self._context: TableContext | None = table.context
        self._stream: TableStream | None = None
        self._stored: dict[str, Any] = {}
        self._plans: dict[int, SnapshotPlan | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_context": None, "_stream": None, "_plans": {}}

    @property
    def context(self) -> TableContext:
        """The table; a process opens it at the first use."""
        if self._context is None:
            self._context = self._reference.open()
        return self._context

    def initialOffset(self) -> dict[str, Any]:
        """Return the offset at which a query without a checkpoint starts."""
        self._stream = open_stream(self.context, on_overwrite=self._on_overwrite)
        return self._stream.position.to_members()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return ReadAllAvailable if the options set no limit, otherwise another limit.

        Its value does not matter, because ``latestOffset`` applies the options.
        """
        return ReadAllAvailable() if self._limits == Limits() else ReadMaxFiles(self._limits.files or 2**31 - 1)

    def prepareForTriggerAvailableNow(self) -> None:
        """Limit this query to the snapshots that exist at the time of this call."""
        self._target = self.context.snapshots.latest_id() or 0

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the next batch; ``start`` when there is nothing new.

        Raises the errors of ``TableStream.poll``.
        """
        self.commit(start)  # Spark asks for the next batch when the batch before ``start`` is complete
        limits = Limits() if isinstance(limit, ReadAllAvailable) else self._limits
        taken, end = Limits(), Position.from_members(start)
        for behind, _, unit in self._walk(end, None):
            taken = taken if unit is None else taken.plus(unit)
            if end.to_members() != start and not limits.admit(taken):
                break
            end = behind
        return end.to_members()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return one partition per unit between the offsets.

        Raises the errors of ``TableStream.poll``, and ReadOutdated when the snapshots of the batch were rolled back
        after ``end`` was computed.
        """
        walked = self._walk(Position.from_members(start), Position.from_members(end))
        return [as_partition(snapshot, unit) for _, snapshot, unit in walked if unit is not None]

    def _walk(self, position: Position, last: Position | None) -> Iterator[tuple[Position, Snapshot, Unit | None]]:
        """Yield (position after the unit, snapshot, unit) for each unit between two positions.

        The units start at ``position`` and end at ``last``. None: they end with the newest snapshot, or with the
        snapshot of ``prepareForTriggerAvailableNow``.

        A snapshot without changes is yielded once, with None as its unit.
        """
        start = position
        while last is None or _order(position) < _order(last):
            if last is None and self._target is not None and position.next_snapshot > self._target:
                if position is start:  # a rollback, or a table that was created again, is no end of the stream
                    next_snapshot(self.context, position)
                return
            snapshot = next_snapshot(self.context, position)
            if snapshot is None:
                if last is not None:
                    raise self._outdated(position.next_snapshot)
                return
            if last is None and is_delayed(self.context, position, snapshot):
                return
            plan = self._plan(snapshot, full=position.full)
            units: Sequence[Unit | None] = (None,) if plan is None or not plan.units else plan.units
            after = Position.after(snapshot)
            for index in range(position.index, len(units)):
                part = replace(position, index=index + 1, current=snapshot.delta_manifest_list)
                behind = after if index + 1 == len(units) else part
                yield behind, snapshot, units[index]
                if last is not None and _order(behind) == _order(last):
                    if (behind.previous, behind.current) != (last.previous, last.current):
                        raise self._outdated(snapshot.id)
                    return
            position = after

    def _outdated(self, snapshot_id: int) -> ReadOutdated:
        return ReadOutdated(
            f"table {self.context.name} was rolled back: snapshot {snapshot_id}, a part of this batch, does not exist "
            "or is now another snapshot. Start the query with a new checkpoint",
            table=self.context.name,
            snapshot=snapshot_id,
        )

    def _plan(self, snapshot: Snapshot, *, full: bool) -> SnapshotPlan | None:
        known = self._plans.get(snapshot.id)
        if known is not None and known.snapshot == snapshot and (known.kind == "full") == full:
            return known
        plan = (
            plan_full(self.context, snapshot, None)
            if full
            else plan_changes(self.context, snapshot, self._on_overwrite)
        )
        while len(self._plans) > _PLANS:
            self._plans.pop(next(iter(self._plans)))
        self._plans[snapshot.id] = plan
        return plan

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one unit."""
        assert isinstance(partition, UnitPartition)
        snapshot, unit = Snapshot.from_json(partition.snapshot), unit_of(partition)
        for batch in read_unit(self.context, snapshot, unit, self._columns, None):
            rows = pa.Table.from_batches([batch])
            kinds, values = rows.column(0), to_spark(rows.drop_columns([ROW_KIND.name]), self._schema)
            if self._kinds:
                values = values.add_column(0, ROW_KIND, kinds)
            elif pc.any(pc.not_equal(kinds, ROW_KINDS[0])).as_py():
                self._check_inserts(kinds, snapshot)
            yield from values.to_batches()

    def _check_inserts(self, kinds: pa.ChunkedArray, snapshot: Snapshot) -> None:
        found = sorted(set(pc.unique(kinds).to_pylist()) & {"-U", "-D"})
        if found:
            raise UnsupportedFeature(
                f"snapshot {snapshot.id} of table {self.context.name} has rows of kind {' and '.join(found)}, which "
                "are not rows to insert: set option read.changelog = true, which adds the column rowkind",
                table=self.context.name,
                option="read.changelog",
            )

    def commit(self, end: dict[str, Any]) -> None:
        """Store the progress of the consumer, if option ``consumer-id`` is set: rows before ``end`` are processed.

        A snapshot that was processed only in part counts as not processed.
        """
        position = Position.from_members(end)
        if self.context.options["consumer-id"] is None or position.to_members() == self._stored:
            return
        if self._stream is None:  # the query continues at its checkpoint
            self._stream = open_stream(self.context, position, on_overwrite=self._on_overwrite)
        self._stream.commit(position)
        self._stored = position.to_members()


_PLANS = 64
"""The number of cached plans: ``latestOffset`` and ``partitions`` use the same plan of a snapshot."""


def _order(position: Position) -> tuple[int, int]:
    return position.next_snapshot, position.index


def unit_of(part: UnitPartition) -> Unit:
    """Return the unit that a task reads."""
    if part.kind == "place":
        return ChangedPlace.from_bytes(part.unit)
    split = Split.from_bytes(part.unit)
    return ChangedFile(split.partition, split.bucket, split.files[0]) if part.kind == "file" else split


def as_partition(snapshot: Snapshot, unit: Unit) -> UnitPartition:
    """Return a unit of ``snapshot`` as an input partition, from which a task reads it."""
    match unit:
        case Split():
            return UnitPartition(snapshot.to_json(), unit.to_bytes(), "split")
        case ChangedPlace():
            return UnitPartition(snapshot.to_json(), unit.to_bytes(), "place")
        case ChangedFile():
            split = Split(unit.partition, unit.bucket, 0, snapshot.id, (unit.file,), True)
            return UnitPartition(snapshot.to_json(), split.to_bytes(), "file")
