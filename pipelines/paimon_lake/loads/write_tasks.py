"""Write tasks: read rows in Spark tasks and write them to a table and to its table of rejects.

Task n reads part n of the source and writes in lane n: if several rows have the same key, the row of the later part is
the newest. Only small values pass through Spark: the parts, and in return commit messages and counts. A task that is
retried writes new files; only the messages that Spark returns are committed.

If tasks cannot choose buckets independently (dynamic buckets, the postpone bucket), they stage their rows, and tasks of
a second stage place them (``paimon_core.spark.writes.placement``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from paimon_core.errors import SchemaMismatch
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import collect_tasks, map_batches
from paimon_core.spark.writes.placement import place
from paimon_core.spark.writes.task_rows import TaskRows
from paimon_core.table.table import Table
from paimon_core.write.postpone import writer_name
from paimon_core.write.staging import Staged, StagingWriter, is_staged
from paimon_core.write.table_writer import TableWriter
from paimon_lake.loads.lookup.counts import LookupCounts
from paimon_lake.loads.lookup.lookups import Lookups, abort_waiting
from paimon_lake.loads.lookup.task_lookups import NoLookups, TaskLookups
from paimon_lake.loads.rejected.reject_rows import Stamp
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.rejects import Parsed

ReadPart = Callable[[bytes], Iterator[Parsed]]
"""Reads one part of a source in a task, as rows of the table, with a column of kinds if the load has kinds."""


_READ, _RETRIED = b"\0", b"\1"
"""The mark of a payload: the task reads a part of the source, or tries waiting rows again."""
EXAMPLES = 3
"""The number of rejected rows that a refused load shows."""


@dataclass(frozen=True)
class WriteResult:
    """The files that the tasks of a load wrote, not committed yet, and numbers of rows.

    ``rows_read`` counts the rows that the source delivers. ``rows_written`` counts, for a table without a key, the rows
    in the new files; for a table with a key, the rows that the writer received before it merged rows with the same key.
    """

    messages: tuple[CommitMessage, ...] = ()
    rejects: tuple[CommitMessage, ...] = ()
    rows_read: int = 0
    rows_written: int = 0
    removals: int = 0
    """The number of written rows -D that only remove older rows: of the key of a rejected row, or, after a copy or a
    TRUNCATE, of keys that the source does not have any more.
    """
    examples: tuple[str, ...] = ()
    """The first rejected rows, one sentence each."""
    ignored_columns: tuple[str, ...] = ()
    """The columns of the source that the table does not have, and that the declaration ignores."""
    lineage: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """For each column, the columns of inputs (table, column) from which it is computed; a column is missing if that is
    not known.
    """
    reports: tuple[bytes, ...] = ()
    """The reports of tasks about the splits that they have read."""
    skipped: tuple[str, ...] = ()
    """Input that was read and changes no row, one sentence each."""
    source_tables: tuple[str, ...] = ()
    """The tables whose changes were read, if the declaration names tables by a pattern."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """Properties of the snapshot that are known only when the whole source is read."""
    waiting: tuple[CommitMessage, ...] = ()
    """The files of rows that begin to wait for rows of other tables, or no longer wait."""
    lookup: LookupCounts = field(default_factory=LookupCounts)
    """The numbers of rows that wait, or for which another table has no row."""

    @property
    def rows_rejected(self) -> int:
        """The number of rows in the new files of rejects."""
        return row_count(self.rejects)

    @property
    def rows_merged(self) -> int:
        """The number of written rows that are not in the new files, because the load has a newer row with the key."""
        return self.rows_written - row_count(self.messages)


def row_count(messages: Sequence[CommitMessage]) -> int:
    """Return the number of rows in the new files of the messages."""
    return sum(file.row_count for message in messages for file in message.new_files)


@dataclass(frozen=True)
class _TaskResult:
    """The result of one task. ``error`` is a sentence for the user; when it is set, the task has written nothing."""

    rows: bytes = b""
    """The encoded messages of the new files of the table; for staged rows also the hashes of their keys."""
    rejects: list[bytes] = field(default_factory=list)
    rows_read: int = 0
    rows_written: int = 0
    removals: int = 0
    examples: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    reports: list[bytes] = field(default_factory=list)
    waiting: list[bytes] = field(default_factory=list)
    lookup: str = ""
    error: str | None = None

    def to_bytes(self) -> bytes:
        """Return the result as an Arrow stream of one row."""
        row = pa.record_batch([pa.array([getattr(self, f.name)], f.type) for f in _ANSWER], schema=_ANSWER)
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, _ANSWER) as writer:
            writer.write_batch(row)
        data: bytes = stream.getvalue().to_pybytes()
        return data

    @staticmethod
    def from_bytes(data: bytes) -> _TaskResult:
        """Return the result that ``to_bytes`` encoded."""
        return _TaskResult(**pa.ipc.open_stream(data).read_all().to_pylist()[0])


def write_parts(
    spark: SparkSession,
    parts: Sequence[bytes],
    read: ReadPart,
    table: Table,
    rejects: Table,
    stamp: Stamp,
    *,
    kinds: str | None,
    overwrites: bool,
    lookups: Lookups | None = None,
) -> WriteResult:
    """Read and write all parts, one task each; the rows become visible when the returned messages are committed.

    With ``lookups``, the rows get columns of other tables. If rows that wait since earlier loads are tried again, the
    first task writes them, because they are older than all rows of the parts.

    Raises PipelineError when ``read`` raises it in a task; then the files of the other tasks are deleted.
    """
    write = _Writing.of(table, rejects, stamp, kinds, overwrites, lookups)
    retried = [_RETRIED] if lookups is not None and lookups.retries and not overwrites else []

    def work(payload: bytes) -> bytes:
        part = payload[5:]
        found = None if payload[4:5] == _RETRIED else read(part)
        return write(int.from_bytes(payload[:4], "big"), found).to_bytes()

    marked = [*retried, *(_READ + part for part in parts)]
    payloads = [lane.to_bytes(4, "big") + part for lane, part in enumerate(marked)]
    found = _collected(collect_tasks(spark, payloads, work), table, rejects, lookups)
    return _placed(found, spark, table, rejects, overwrites, lookups)


def write_frame(
    frame: DataFrame,
    received: TaskRows,
    parse: Callable[[pa.Table], Parsed],
    table: Table,
    rejects: Table,
    stamp: Stamp,
    *,
    kinds: str | None,
    overwrites: bool,
) -> WriteResult:
    """Write a DataFrame as ``write_parts`` writes parts; all rows of a bucket must be in the same Spark partition.

    ``frame`` and ``received`` are from ``task_rows``, inside of whose block this must be called.
    """
    write = _Writing.of(table, rejects, stamp, kinds, overwrites)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        answer = write(0, map(parse, received.tables(batches)))
        yield pa.record_batch([pa.array([answer.to_bytes()], pa.binary())], ["answer"])

    answers = map_batches(frame, work, "answer binary").collect()
    found = _collected([bytes(row["answer"]) for row in answers], table, rejects)
    return _placed(found, frame.sparkSession, table, rejects, overwrites)


@dataclass(frozen=True)
class _Writing:
    """The values that a task needs to write rows and rejects."""

    target: TableReference
    reject_target: TableReference
    is_keyed: bool
    stamp: Stamp
    kinds: str | None
    overwrites: bool
    staging: str | None = None
    """The name of the writer in the names of staged files; None when tasks write their rows directly to buckets."""
    lookups: Lookups | None = None

    @staticmethod
    def of(
        table: Table,
        rejects: Table,
        stamp: Stamp,
        kinds: str | None,
        overwrites: bool,
        lookups: Lookups | None = None,
    ) -> _Writing:
        context = table.context
        return _Writing(
            TableReference.of(context),
            TableReference.of(rejects.context),
            context.is_keyed,
            stamp,
            kinds,
            overwrites,
            writer_name() if is_staged(context) else None,
            lookups,
        )

    def __call__(self, lane: int, found: Iterator[Parsed] | None) -> _TaskResult:
        """Write all rows of one task in lane ``lane``; the order of lanes decides which row of a key is the newest.

        ``found`` None: write the rows that wait since earlier loads.
        """
        try:
            return self._answer(lane, found)
        except (PipelineError, SchemaMismatch) as error:  # returned, not raised, because Spark would retry the task
            return _TaskResult(error=str(error))

    def _answer(self, lane: int, found: Iterator[Parsed] | None) -> _TaskResult:
        with (
            self._writer(lane) as writer,
            TableWriter(self.reject_target.open()) as reject_writer,
            self._looking_up(lane) as task,
        ):
            rows_read = removals = 0
            ignored: dict[str, None] = {}
            examples: list[str] = []
            reports: list[bytes] = []
            for parsed in task.rows(found):
                rows, rejected = parsed.rows, parsed.rejects
                rows_read += parsed.read
                removals += parsed.removals
                ignored |= dict.fromkeys(parsed.extra)
                reports += [parsed.report] if parsed.report else []
                if len(rows):
                    writer.write(rows, self.kinds)
                if len(rejected):
                    reject_writer.write(self.stamp.rows(rejected, parsed.version))
                    examples += [_sentence(row) for row in rejected.slice(0, EXAMPLES - len(examples)).to_pylist()]
            written = writer.finish() if isinstance(writer, StagingWriter) else Staged(tuple(writer.flush()))
            rejects = [m.to_bytes() for m in reject_writer.flush()]
            waiting, counts = task.finish()
            rows_written = writer.rows_received if self.is_keyed else row_count(written.messages)
            return _TaskResult(
                written.to_bytes(),
                rejects,
                rows_read,
                rows_written,
                removals,
                examples,
                list(ignored),
                reports,
                [m.to_bytes() for m in waiting],
                counts.to_json(),
            )

    def _looking_up(self, lane: int) -> TaskLookups | NoLookups:
        if self.lookups is None:
            return NoLookups()
        return TaskLookups(self.lookups, lane, self.kinds, overwrites=self.overwrites)

    def _writer(self, lane: int) -> TableWriter:
        context = self.target.open()
        if self.staging is not None:
            return StagingWriter(context, name=self.staging)
        return TableWriter(context, ignore_existing=self.overwrites, lane=lane)


def _placed(
    found: tuple[WriteResult, list[Staged]],
    spark: SparkSession,
    table: Table,
    rejects: Table,
    overwrites: bool,
    lookups: Lookups | None = None,
) -> WriteResult:
    """Return the result with all rows in their buckets: rows that tasks have staged are first written to buckets."""
    written, staged = found
    if not is_staged(table.context):
        return written
    try:
        messages = place(table.context, staged, partial(collect_tasks, spark), overwrites=overwrites)
    except BaseException:
        abort(written.rejects, rejects.context)
        abort_waiting(lookups, written.waiting)
        raise
    return replace(written, messages=tuple(messages))


def _collected(
    encoded: Sequence[bytes], table: Table, rejects: Table, lookups: Lookups | None = None
) -> tuple[WriteResult, list[Staged]]:
    """Return the combined result of all tasks.

    If a task has an error, delete the files of all tasks and raise PipelineError.
    """
    answers = [_TaskResult.from_bytes(answer) for answer in encoded]
    found = [Staged.from_bytes(answer.rows) for answer in answers if answer.error is None]
    written = WriteResult(
        tuple(message for one in found for message in one.messages),
        tuple(CommitMessage.from_bytes(m) for answer in answers for m in answer.rejects),
        sum(answer.rows_read for answer in answers),
        sum(answer.rows_written for answer in answers),
        sum(answer.removals for answer in answers),
        tuple(example for answer in answers for example in answer.examples)[:EXAMPLES],
        tuple(dict.fromkeys(column for answer in answers for column in answer.ignored)),
        reports=tuple(report for answer in answers for report in answer.reports),
        waiting=tuple(CommitMessage.from_bytes(m) for answer in answers for m in answer.waiting),
        lookup=LookupCounts.sum(LookupCounts.from_json(answer.lookup) for answer in answers),
    )
    for answer in answers:
        if answer.error is not None:
            abort(written.messages, table.context)
            abort(written.rejects, rejects.context)
            abort_waiting(lookups, written.waiting)
            raise PipelineError(f"{table.name}: {answer.error}")
    return written, found


def _sentence(reject: Mapping[str, Any]) -> str:
    line = "" if reject["line"] is None else f":{reject['line']}"
    column = "" if reject["column"] is None else f", column {reject['column']}"
    return f"{reject['file']}{line}{column}: {reject['reason']}"


_ANSWER = pa.schema(
    [
        ("rows", pa.binary()),
        ("rejects", pa.list_(pa.binary())),
        ("rows_read", pa.int64()),
        ("rows_written", pa.int64()),
        ("removals", pa.int64()),
        ("examples", pa.list_(pa.string())),
        ("ignored", pa.list_(pa.string())),
        ("reports", pa.list_(pa.binary())),
        ("waiting", pa.list_(pa.binary())),
        ("lookup", pa.string()),
        ("error", pa.string()),
    ]
)
