"""Message tasks: run steps that write files of a table in Spark tasks, and return their commit messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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

    A task opens the table itself. ``sizes``: the bytes that each payload stands for; small payloads share a task.
    Raises the errors of this library that ``work`` raised, StorageError when a task was lost in all of its attempts,
    and the errors of ``collect_tasks`` otherwise.
    """
    reference = TableReference.of(context)

    def answer(payload: bytes) -> bytes:
        return Staged(tuple(work(reference.open(), payload))).to_bytes()

    with errors_of_tasks(context.name):
        answers = collect_tasks(spark, payloads, answer, sizes)
    return [message for found in answers for message in Staged.from_bytes(found).messages]
