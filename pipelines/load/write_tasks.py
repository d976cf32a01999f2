"""Write tasks: read rows in Spark tasks and write them to a table and to its table of rejects.

Task n reads part n of the source and writes in lane n: of rows with the same key, that of the later part wins. Only
small values pass through Spark: the parts, and in return commit messages and counts. A task that is retried writes new
files; only the messages that Spark returns are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_core.commit.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import collect_tasks
from paimon_core.table.table import Table
from paimon_core.write.table_writer import TableWriter
from pipelines.protocol import PipelineError

Parsed = tuple[pa.RecordBatch, pa.RecordBatch]
"""Rows of the table (with a column of kinds where the load has kinds), and rejected rows."""
ReadPart = Callable[[bytes], Iterator[Parsed]]
"""Reads one part of a source in a task."""


EXAMPLES = 3
"""The number of rejected rows that a refused load shows."""


@dataclass(frozen=True)
class Written:
    """What the tasks of a load wrote, not committed yet; the counts are rows."""

    messages: tuple[CommitMessage, ...] = ()
    rejects: tuple[CommitMessage, ...] = ()
    rows_read: int = 0
    rows_written: int = 0
    examples: tuple[str, ...] = ()
    """The first rejected rows, one sentence each."""

    @property
    def rows_rejected(self) -> int:
        """The rows in the new files of rejects."""
        return row_count(self.rejects)


def row_count(messages: Sequence[CommitMessage]) -> int:
    """Return the rows of the new files of the messages."""
    return sum(file.row_count for message in messages for file in message.new_files)


@dataclass(frozen=True)
class _Answer:
    """What one task returns; ``error`` is a sentence for the user, and then the task has written nothing."""

    messages: list[bytes] = field(default_factory=list)
    rejects: list[bytes] = field(default_factory=list)
    rows_read: int = 0
    rows_written: int = 0
    examples: list[str] = field(default_factory=list)
    error: str | None = None

    def to_bytes(self) -> bytes:
        """Return the answer as an Arrow stream of one row."""
        row = pa.record_batch([pa.array([getattr(self, f.name)], f.type) for f in _ANSWER], schema=_ANSWER)
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, _ANSWER) as writer:
            writer.write_batch(row)
        data: bytes = stream.getvalue().to_pybytes()
        return data

    @staticmethod
    def from_bytes(data: bytes) -> _Answer:
        """Return the answer that ``to_bytes`` encoded."""
        return _Answer(**pa.ipc.open_stream(data).read_all().to_pylist()[0])


def write_parts(
    spark: SparkSession,
    parts: Sequence[bytes],
    read: ReadPart,
    table: Table,
    rejects: Table,
    *,
    kinds: str | None,
    overwrites: bool,
) -> Written:
    """Read and write all parts, one task each; the rows become visible when the returned messages are committed.

    Raises PipelineError when ``read`` raises one in a task; what the other tasks wrote is deleted then.
    """
    target, reject_target = TableReference.of(table.context), TableReference.of(rejects.context)

    def write(lane: int, part: bytes) -> _Answer:
        with (
            TableWriter(target.open(), ignore_existing=overwrites, lane=lane) as writer,
            TableWriter(reject_target.open()) as reject_writer,
        ):
            rows_read = rows_written = 0
            examples: list[str] = []
            for rows, rejected in read(part):
                rows_read += len(rows) + len(rejected)
                rows_written += len(rows)
                if len(rows):
                    writer.write(rows, kinds)
                if len(rejected):
                    reject_writer.write(rejected)
                    examples += [_sentence(row) for row in rejected.slice(0, EXAMPLES - len(examples)).to_pylist()]
            messages = [m.to_bytes() for m in writer.flush()]
            rejects = [m.to_bytes() for m in reject_writer.flush()]
            return _Answer(messages, rejects, rows_read, rows_written, examples)

    def work(payload: bytes) -> bytes:
        lane = int.from_bytes(payload[:4], "big")
        try:
            answer = write(lane, payload[4:])
        except PipelineError as error:  # returned as a value, because Spark would repeat the task and wrap the error
            answer = _Answer(error=str(error))
        return answer.to_bytes()

    payloads = [lane.to_bytes(4, "big") + part for lane, part in enumerate(parts)]
    answers = [_Answer.from_bytes(answer) for answer in collect_tasks(spark, payloads, work)]
    written = Written(
        tuple(CommitMessage.from_bytes(m) for answer in answers for m in answer.messages),
        tuple(CommitMessage.from_bytes(m) for answer in answers for m in answer.rejects),
        sum(answer.rows_read for answer in answers),
        sum(answer.rows_written for answer in answers),
        tuple(example for answer in answers for example in answer.examples)[:EXAMPLES],
    )
    for answer in answers:
        if answer.error is not None:
            abort(written.messages, table.context)
            abort(written.rejects, rejects.context)
            raise PipelineError(f"{table.name}: {answer.error}")
    return written


def _sentence(reject: Mapping[str, Any]) -> str:
    line = "" if reject["line"] is None else f":{reject['line']}"
    column = "" if reject["column"] is None else f", column {reject['column']}"
    return f"{reject['file']}{line}{column}: {reject['reason']}"


_ANSWER = pa.schema(
    [
        ("messages", pa.list_(pa.binary())),
        ("rejects", pa.list_(pa.binary())),
        ("rows_read", pa.int64()),
        ("rows_written", pa.int64()),
        ("examples", pa.list_(pa.string())),
        ("error", pa.string()),
    ]
)
