"""Message tasks: run steps that write files of a table in Spark tasks, and return their commit messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import SparkSession

from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.spark.reference import TableReference
from paimon_core.spark.task_errors import errors_of_tasks
from paimon_core.spark.tasks import collect_tasks
from paimon_core.write.staging import Staged


def collect_messages(
    spark: SparkSession,
    context: TableContext,
    payloads: Sequence[bytes],
    work: Callable[[TableContext, bytes], Sequence[CommitMessage]],
    sizes: Sequence[int],
) -> list[CommitMessage]:
    """Return the messages of ``work(context, payload)`` of all payloads, in the order of the payloads.

    A task opens the table once, for all its payloads. ``sizes``: the bytes that each payload stands for; small payloads
    share a task. Raises the errors of this library that ``work`` raised, StorageError when a task was lost in all of
    its attempts, and the errors of ``collect_tasks`` otherwise.
    """
    with errors_of_tasks(context.name):
        answers = collect_tasks(spark, payloads, _Answer(TableReference.of(context), work), sizes)
    return [message for found in answers for message in Staged.from_bytes(found).messages]


@dataclass(frozen=True)
class _Answer:
    """The function of the tasks. Spark makes one object for each task, so the table is opened once for a task."""

    reference: TableReference
    work: Callable[[TableContext, bytes], Sequence[CommitMessage]]

    def __call__(self, payload: bytes) -> bytes:
        return Staged(tuple(self.work(self._context, payload))).to_bytes()

    @cached_property
    def _context(self) -> TableContext:
        return self.reference.open()
