"""What one task of ``format("paimon")`` writes, and the messages that it returns to the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from paimon_core.arrow import gather
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.write.staging import Staged, StagingWriter, is_staged, rows_wait
from paimon_core.write.table_writer import TableWriter


@dataclass
class Messages(WriterCommitMessage):
    """The serialized commit messages of one task (``Staged``)."""

    messages: bytes


def write_task(
    context: TableContext, batches: Iterator[pa.RecordBatch], kinds: str | None, *, overwrite: bool
) -> Messages:
    """Write the files of one task and return their messages; deletes the files when it fails."""
    task = TaskContext.get()
    lane = 0 if task is None else task.partitionId()
    staging = StagingWriter(context) if is_placed_at_commit(context) else None
    with staging or TableWriter(context, ignore_existing=overwrite, lane=lane) as writer:
        for rows in gather(batches):
            writer.write(rows, kinds)
        found = staging.finish() if staging else Staged(tuple(writer.flush()))
        return Messages(found.to_bytes())


def is_placed_at_commit(context: TableContext) -> bool:
    """Whether the tasks stage their rows; rows that wait for a compaction stay where they are."""
    return is_staged(context) and not rows_wait(context)


def staged(messages: Sequence[WriterCommitMessage | None]) -> list[Staged]:
    """Return what the tasks have written; a task that has failed has no message."""
    return [Staged.from_bytes(m.messages) for m in messages if isinstance(m, Messages)]


def committed_messages(messages: Sequence[WriterCommitMessage | None]) -> list[CommitMessage]:
    """Return the commit messages of the tasks."""
    return [message for one in staged(messages) for message in one.messages]
