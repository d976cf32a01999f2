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
from paimon_core.spark.tasks import run_tasks
from paimon_core.table.table import Table
from paimon_core.write.table_writer import TableWriter
from pipelines.protocol import PipelineError
from pipelines.sources.files.rejects import Parsed

ReadPart = Callable[[bytes], Iterator[Parsed]]
"""Reads one part of a source in a task, as rows of the table, with a column of kinds where the load has kinds."""


EXAMPLES = 3
"""The number of rejected rows that a refused load shows."""


@dataclass(frozen=True)
class Written:
    """What the tasks of a load wrote, not committed yet; the counts are rows.

    Rows are counted as read where the source delivers them, and as written in the new files; in a table with a key,
    where rows with the same key are merged, when the writer has put them into buckets.
    """

    messages: tuple[CommitMessage, ...] = ()
    rejects: tuple[CommitMessage, ...] = ()
    rows_read: int = 0
    rows_written: int = 0
    examples: tuple[str, ...] = ()
    """The first rejected rows, one sentence each."""
    ignored_columns: tuple[str, ...] = ()
    """The columns of the source that the table does not have, and that the declaration ignores."""

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

    lane: int
    messages: list[bytes] = field(default_factory=list)
    rejects: list[bytes] = field(default_factory=list)
    rows_read: int = 0
    rows_written: int = 0
    examples: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    error: str | None = None


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
    is_keyed = table.context.is_keyed

    def write(lane: int, part: bytes) -> _Answer:
        with (
            TableWriter(target.open(), ignore_existing=overwrites, lane=lane) as writer,
            TableWriter(reject_target.open()) as reject_writer,
        ):
            rows_read = 0
            ignored: dict[str, None] = {}
            examples: list[str] = []
            for parsed in read(part):
                rows, rejected = parsed.rows, parsed.rejects
                rows_read += parsed.read
                ignored |= dict.fromkeys(parsed.extra)
                if len(rows):
                    writer.write(rows, kinds)
                if len(rejected):
                    reject_writer.write(rejected)
                    examples += [_sentence(row) for row in rejected.slice(0, EXAMPLES - len(examples)).to_pylist()]
            flushed = writer.flush()
            messages = [m.to_bytes() for m in flushed]
            rejects = [m.to_bytes() for m in reject_writer.flush()]
            rows_written = writer.rows_received if is_keyed else row_count(flushed)
            return _Answer(lane, messages, rejects, rows_read, rows_written, examples, list(ignored))

    def work(payload: bytes) -> Iterator[pa.RecordBatch]:
        lane = int.from_bytes(payload[:4], "big")
        try:
            answer = write(lane, payload[4:])
        except PipelineError as error:  # returned as a value, because Spark would repeat the task and wrap the error
            answer = _Answer(lane, error=str(error))
        yield pa.record_batch([pa.array([getattr(answer, f.name)], f.type) for f in _ANSWER], _ANSWER)

    if not parts:
        return Written()
    payloads = [lane.to_bytes(4, "big") + part for lane, part in enumerate(parts)]
    answers = sorted(run_tasks(spark, payloads, work, _SPARK_ANSWER).collect(), key=lambda row: row["lane"])
    written = Written(
        tuple(CommitMessage.from_bytes(bytes(m)) for row in answers for m in row["messages"]),
        tuple(CommitMessage.from_bytes(bytes(m)) for row in answers for m in row["rejects"]),
        sum(row["rows_read"] for row in answers),
        sum(row["rows_written"] for row in answers),
        tuple(example for row in answers for example in row["examples"])[:EXAMPLES],
        tuple(dict.fromkeys(column for row in answers for column in row["ignored"])),
    )
    for row in answers:
        if row["error"] is not None:
            abort(written.messages, table.context)
            abort(written.rejects, rejects.context)
            raise PipelineError(f"{table.name}: {row['error']}")
    return written


def _sentence(reject: Mapping[str, Any]) -> str:
    line = "" if reject["line"] is None else f":{reject['line']}"
    column = "" if reject["column"] is None else f", column {reject['column']}"
    return f"{reject['file']}{line}{column}: {reject['reason']}"


_ANSWER = pa.schema(
    [
        ("lane", pa.int32()),
        ("messages", pa.list_(pa.binary())),
        ("rejects", pa.list_(pa.binary())),
        ("rows_read", pa.int64()),
        ("rows_written", pa.int64()),
        ("examples", pa.list_(pa.string())),
        ("ignored", pa.list_(pa.string())),
        ("error", pa.string()),
    ]
)
_SPARK_ANSWER = (
    "lane int, messages array<binary>, rejects array<binary>, rows_read bigint, rows_written bigint, "
    "examples array<string>, ignored array<string>, error string"
)
