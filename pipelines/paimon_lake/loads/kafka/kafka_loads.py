"""Kafka loads: loads that read the messages of topics, batch by batch.

The snapshot of each load has, for each partition, the offset before which all messages are loaded (decision 0054).
Messages of a committed load are not read again; messages that a load read without a commit are read again. No consumer
group is used.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_core.spark.tasks import spark_context
from paimon_core.storage.secret import Secret
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.sources.kafka import CLIENT_PATHS, KafkaSource
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.database import naming
from paimon_lake.loads.kafka.range_reports import RangeReport
from paimon_lake.loads.kafka.rules import check_source, first_offsets, next_offsets
from paimon_lake.loads.ledger.load_snapshot import POSITION
from paimon_lake.loads.shapes.added_columns import alterations, left_out_columns
from paimon_lake.loads.shapes.row_shape import RowShape, shape_of
from paimon_lake.loads.shapes.schema_changes import TableAltered
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad, abort_written
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import KIND, PipelineError, some
from paimon_lake.sources.files.events.heads import check_one_source
from paimon_lake.sources.files.formats import FileFormat, file_format
from paimon_lake.sources.files.listing import SourceFile
from paimon_lake.sources.files.rejects import Parsed
from paimon_lake.sources.kafka.broker import Broker, KafkaBroker, places_of
from paimon_lake.sources.kafka.connection import Connection
from paimon_lake.sources.kafka.message_rows import MessageRows
from paimon_lake.sources.kafka.messages import reader
from paimon_lake.sources.kafka.position import Place, Position, Topic, offsets_text, place_text
from paimon_lake.sources.kafka.ranges import OffsetRange, cut_ranges, next_ranges

TASK_BYTES = 16 << 20
"""A load has one task, and one further task for each ``TASK_BYTES`` of messages; the size of the messages is
estimated.
"""
MOST_TASKS = 16
"""The largest number of tasks of a load: each adds a sorted run to the buckets of a table with a key."""
MESSAGE_BYTES = 1024
"""The size of a message that is assumed for the first batch of a run."""


@dataclass(frozen=True)
class _Topics:
    """The current topics of a load, and the next offset of each partition."""

    cluster: str
    topics: Mapping[str, Topic]
    before: Position
    offsets: Mapping[Place, int]
    latest: Mapping[Place, int]

    def position(self, offsets: Mapping[Place, int]) -> Position:
        """Return the position of a table that has loaded all messages before ``offsets``."""
        return self.before.with_offsets(self.cluster, self.topics, offsets)


class KafkaLoads:
    """The loads of a table from topics, in batches up to the end that the topics had when the first load began."""

    def __init__(self, source: KafkaSource, opened: Callable[[Connection], Broker] = KafkaBroker) -> None:
        self._source, self._open = source, opened
        self._broker: Broker | None = None
        self._until: Mapping[Place, int] | None = None
        """The end offset of each partition when the first load of this run was planned."""
        self._ends_at = time.monotonic() + source.run_seconds
        self._message_bytes = float(MESSAGE_BYTES)
        self._newest = -1
        """The timestamp of the newest message that this run loaded, in epoch milliseconds."""
        self._altered: list[str] = []
        """The alterations of the table in this run, one sentence each."""

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the next batch of messages, or why none is left; a first load is made even without messages, to record
        its first offsets.
        """
        with naming(step):
            form = messages_format(self._source)
            connection = connection_of(self._source, str(step.settings.folder))
            self._broker = broker = self._broker or self._open(connection)
            found = self._topics(step, broker)
        if not found.topics:
            return NothingToLoad([f"no topic matches {some(self._source.topic)}"])
        self._until = found.latest if self._until is None else self._until
        told = self._told(found, found.offsets)
        is_first = step.ledger.position is None or step.reload
        left = sum(max(0, end - found.offsets.get(place, end)) for place, end in self._until.items())
        if not left and not is_first:
            return NothingToLoad([f"all messages of {some(sorted(found.topics))} are loaded"], told)
        if not is_first and time.monotonic() >= self._ends_at:
            return NothingToLoad([f"source.run_seconds is over: {left:,} offsets are left to the next load"], told)
        return PlannedLoad(
            lambda: self._write(step, broker, connection, form, found),
            {},
            told,
            step.replacement(None),
            rejects_of={place_text(place) for place in found.offsets} if step.reload else (),
            has_more=True,
            schema_changes=tuple(self._altered),
        )

    def _topics(self, step: LoadStep, broker: Broker) -> _Topics:
        source, entry = self._source, step.ledger.position
        cluster, topics = broker.cluster(), broker.topics(source.topic)
        places = places_of(topics)
        before = Position(cluster, {})
        if entry is not None and not step.reload:
            before = Position.from_json(entry)
            check_source(before, cluster, topics, source.topic)
        earliest, latest = broker.offsets(places, "earliest"), broker.offsets(places, "latest")
        if entry is not None and not step.reload:
            return _Topics(cluster, topics, before, next_offsets(before, places, earliest, latest), latest)
        if step.reload and source.starts == "latest":
            raise PipelineError("a reload would leave all messages out: source.starts is latest, set it to earliest")
        return _Topics(cluster, topics, before, first_offsets(source, places, earliest, latest), latest)

    def _told(self, found: _Topics, offsets: Mapping[Place, int]) -> dict[str, str | int | float]:
        """Return details about the position at ``offsets``: the offsets, and their distance from the ends of the
        topics.
        """
        lag = sum(found.latest[place] - offset for place, offset in offsets.items())
        told: dict[str, str | int | float] = {
            "position": offsets_text(offsets),
            "lag_messages": lag,
        }
        if not lag or self._newest >= 0:
            told["lag_seconds"] = round(max(0.0, time.time() - self._newest / 1000), 1) if lag else 0.0
        return told

    def _write(
        self, step: LoadStep, broker: Broker, connection: Connection, form: FileFormat, found: _Topics
    ) -> WriteResult:
        assert self._until is not None
        until = {place: end for place, end in self._until.items() if place in found.offsets}
        limit = max(1, min(self._source.batch_rows, int(self._source.batch_bytes / self._message_bytes)))
        shape = _shape(step.spec, self._source, step)
        task = RangeTask(connection, self._source.key, form, shape, self._source.batch_bytes)
        while True:
            ranges = next_ranges(found.offsets, until, limit)
            written, report = self._read(step, task, ranges)
            if report.messages:
                self._message_bytes = max(1.0, report.size / report.messages)
            if report.is_whole:
                break
            abort_written(step, written)
            limit = max(1, min(limit // 2, int(self._source.batch_bytes / self._message_bytes)))
        try:
            self._check(broker, found, report)
            where = f"source.topic {some(self._source.topic)}"
            with naming(step):
                ignored = left_out_columns(step, self._source, [report.new_columns], where)
        except BaseException as error:
            abort_written(step, written)
            if isinstance(error, TableAltered):
                self._altered += alterations(step.table.schema.fields, error.table.schema.fields)
            raise
        self._newest = max(self._newest, report.newest)
        offsets = {**found.offsets, **{one.place: one.end for one in ranges}}
        told = report.told(shape.file_schema, allow_missing=form.allow_missing_columns)
        entries = {POSITION: json.dumps(found.position(offsets).to_json())}
        ignored = [*written.ignored_columns, *ignored]
        return replace(written, entries=entries, skipped=tuple(told), ignored_columns=tuple(ignored))

    def _read(self, step: LoadStep, task: RangeTask, ranges: Sequence[OffsetRange]) -> tuple[WriteResult, RangeReport]:
        """Read the ranges in tasks and write their rows."""
        lookups = step.lookups
        retries = lookups is not None and lookups.retries and not step.replaces
        if not ranges and not retries:
            return WriteResult(), RangeReport()
        session = step.spark()
        context = spark_context(session)
        cores = 2 if context is None else max(1, int(context.defaultParallelism))
        size = sum(one.size for one in ranges) * self._message_bytes
        is_one = lookups is not None and lookups.keeps_order
        groups = cut_ranges(ranges, 1 if is_one else min(MOST_TASKS, cores, 1 + int(size // TASK_BYTES)))
        parts = [json.dumps([[*one.place, one.start, one.end] for one in group]).encode() for group in groups]
        kinds = KIND if self._source.key else task.shape.kinds_column
        written = write_parts(
            session,
            parts,
            task,
            step.table,
            step.rejects,
            step.stamp,
            kinds=kinds,
            overwrites=step.replaces,
            lookups=lookups,
        )
        return written, RangeReport.total(written.reports)

    def _check(self, broker: Broker, found: _Topics, report: RangeReport) -> None:
        """Refuse events of several tables, and topics that were re-created while they were read."""
        check_one_source(report.sources, f"source.topic {some(self._source.topic)}")
        check_source(found.position(found.offsets), broker.cluster(), broker.topics(list(found.topics)), found.topics)


@dataclass(frozen=True)
class RangeTask:
    """Reads ranges of offsets in a task, as rows of the table."""

    connection: Connection
    key: tuple[str, ...]
    """The members of the message's key; () when the source declares no key: then tombstones are skipped."""
    form: FileFormat
    shape: RowShape
    most_bytes: int
    """A task that has read more than one block, and more bytes than this, ends early; then its rows are not committed.
    """

    def __call__(self, payload: bytes) -> Iterator[Parsed]:
        """Yield the rows, the rejects and one report for each range of a payload."""
        size = blocks = 0
        with reader(self.connection, with_keys=bool(self.key)) as consumer:
            for topic, partition, start, end in json.loads(payload):
                wanted, report = OffsetRange(topic, partition, start, end), RangeReport()
                rows = MessageRows(wanted.place, self.form, self.shape.file_schema, self.shape.rules, self.key)
                file = SourceFile(topic, 0, "", str(partition))
                for messages in consumer.read(wanted):
                    size += messages.size
                    report.size += messages.size
                    report.messages += len(messages.values)
                    report.newest = max(report.newest, messages.newest)
                    if size > self.most_bytes and blocks:
                        report.is_whole = False
                        break
                    blocks += 1
                    parsed = rows.parse(messages)
                    report.note(parsed)
                    yield replace(parsed, rows=self.shape.table_rows(parsed.rows, file), file=place_text(wanted.place))
                yield report.to_parsed()
                if not report.is_whole:
                    return


def messages_format(source: KafkaSource) -> FileFormat:
    """Return the format of the values of messages; raises PipelineError for a wrong option."""
    return file_format("jsonl" if source.format == "json" else source.format, source.options)


def connection_of(source: KafkaSource, folder: str) -> Connection:
    """Return how to connect to the brokers; relative paths of files start at the folder of the declarations."""
    settings = {
        name: Secret(os.path.join(os.path.abspath(folder), value) if name in CLIENT_PATHS else value)
        for name, value in source.client.items()
    }
    return Connection(source.servers, settings)


def _shape(spec: TableSpec, source: KafkaSource, step: LoadStep) -> RowShape:
    """Return how the members of messages become columns, by the same rules as for files of JSON or events."""
    add = {column: {"topic": "file"}.get(what, what) for column, what in source.add.items()}
    kind = "jsonl" if source.format == "json" else source.format
    files = FilesSource(
        type="files",
        path="messages",
        format=kind,
        rename=source.rename,
        add=add,  # type: ignore[arg-type]
        schema_changes=source.schema_changes,
    )
    return shape_of(spec, files, step.table, step.lookups)
