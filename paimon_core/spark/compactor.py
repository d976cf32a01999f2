"""Compaction in Spark: tasks rewrite the files of buckets, and the driver commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import SparkSession

from paimon_core.compact.compaction import Work
from paimon_core.compact.compactor import run_task
from paimon_core.compact.report import CompactReport
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import PaimonError, StorageError
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.predicate import Where
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import collect_tasks
from paimon_core.table.table import Table


def compact_spark(
    spark: SparkSession,
    table: Table,
    *,
    full: bool = False,
    where: Where | None = None,
    user: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> CompactReport:
    """Compact a table as ``table.compact`` does, in Spark tasks; small buckets share a task."""
    return table.compact(full, where, user=user, properties=properties, work=spark_work(lambda: spark))


def sort_compact_spark(
    spark: SparkSession,
    table: Table,
    order_by: Sequence[str],
    strategy: str = "order",
    *,
    where: Where | None = None,
    user: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> CompactReport:
    """Sort the rows of an append table as ``table.sort_compact`` does, in Spark tasks: one task per large partition."""
    work = spark_work(lambda: spark)
    return table.sort_compact(order_by, strategy, where, user=user, properties=properties, work=work)


def spark_work(spark: Callable[[], SparkSession]) -> Work:
    """Return an argument ``work`` for ``table.compact`` that uses Spark tasks; ``spark`` is called only if needed."""

    def work(context: TableContext, tasks: Sequence[CompactionTask]) -> list[CommitMessage]:
        reference = TableReference.of(context)

        def answer(payload: bytes) -> bytes:
            return run_task(reference.open(), CompactionTask.from_bytes(payload)).to_bytes()

        payloads, sizes = [task.to_bytes() for task in tasks], [task.input_bytes for task in tasks]
        return [CommitMessage.from_bytes(found) for found in collect_tasks(spark(), payloads, answer, sizes)]

    return work


def maintenance_work(spark: SparkSession) -> Work:
    """Return an argument ``work`` for the compaction after a commit: ``spark_work`` that raises PaimonError only.

    The rows are committed, so a failure of Spark must not fail the write. It is logged as the failed maintenance of
    ``Table.complete``, and a later compaction does the work.
    """
    run = spark_work(lambda: spark)

    def work(context: TableContext, tasks: Sequence[CompactionTask]) -> list[CommitMessage]:
        try:
            return run(context, tasks)
        except PaimonError:
            raise
        except Exception as error:  # PySparkException, or an error of a connection to a JVM that has ended
            reason = " ".join(str(error).split())
            raise StorageError(
                f"the compaction tasks of table {context.name} failed in Spark: {reason:.600}"
            ) from error

    return work
