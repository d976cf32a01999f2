"""Task writer: writes the rows of one task of ``format("paimon")`` and returns messages to the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from paimon_core.arrow import gather
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.spark.writes.placement import in_this_process, place
from paimon_core.write.staging import Staged, StagingWriter, is_staged, rows_wait
from paimon_core.write.table_writer import TableWriter


@dataclass
class Messages(WriterCommitMessage):
    """The serialized ``Staged`` of one task: its commit messages, and the key hashes of staged rows."""

    messages: bytes


def write_task(
    context: TableContext, batches: Iterator[pa.RecordBatch], kinds: str | None, *, overwrite: bool
) -> Messages:
    """Write the files of one task and return their messages; delete the files when the task fails."""
    task = TaskContext.get()
    lane = 0 if task is None else task.partitionId()
    staging = StagingWriter(context) if is_placed_at_commit(context) else None
    with staging or TableWriter(context, ignore_existing=overwrite, lane=lane) as writer:
        for rows in gather(batches):
            writer.write(rows, kinds)
        found = staging.finish() if staging else Staged(tuple(writer.flush()))
        return Messages(found.to_bytes())


def is_placed_at_commit(context: TableContext) -> bool:
    """Whether the driver writes the rows of tasks to buckets at the commit; false if tasks or a compaction do that."""
    return is_staged(context) and not rows_wait(context)


def staged(messages: Sequence[WriterCommitMessage | None]) -> list[Staged]:
    """Return the decoded messages of the tasks; a failed task has no messages."""
    return [Staged.from_bytes(m.messages) for m in messages if isinstance(m, Messages)]


def placed_messages(
    context: TableContext, messages: Sequence[WriterCommitMessage | None], *, overwrites: bool
) -> list[CommitMessage]:
    """Return the messages to commit; first, this process writes staged rows to their buckets.

    Raises the errors of ``place``.
    """
    if is_placed_at_commit(context):
        return place(context, staged(messages), in_this_process, overwrites=overwrites)
    return committed_messages(messages)


def committed_messages(messages: Sequence[WriterCommitMessage | None]) -> list[CommitMessage]:
    """Return the commit messages of the tasks."""
    return [message for one in staged(messages) for message in one.messages]
