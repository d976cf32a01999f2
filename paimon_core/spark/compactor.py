"""Compaction in Spark: runs one task per bucket and commits on the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from paimon_core.compact.compactor import run_task
from paimon_core.compact.task import CompactionTask
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
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
) -> Snapshot | None:
    """Compact as ``table.compact``, with one Spark task per bucket, the largest bucket first.

    Returns the last snapshot, or None when there was nothing to compact.
    """

    def work(context: TableContext, tasks: Sequence[CompactionTask]) -> list[CommitMessage]:
        return _messages(spark, context, tasks)

    return table.compact(full, where, user=user, properties=properties, work=work)


def sort_compact_spark(
    spark: SparkSession,
    table: Table,
    order_by: Sequence[str],
    strategy: str = "order",
    *,
    where: Where | None = None,
    user: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot | None:
    """Sort the rows of an append table as ``table.sort_compact``, with one Spark task per partition.

    Returns the snapshot, or None when there was nothing to sort.
    """

    def work(context: TableContext, tasks: Sequence[CompactionTask]) -> list[CommitMessage]:
        return _messages(spark, context, tasks)

    return table.sort_compact(order_by, strategy, where, user=user, properties=properties, work=work)


def _messages(spark: SparkSession, context: TableContext, tasks: Sequence[CompactionTask]) -> list[CommitMessage]:
    reference = TableReference.of(context)

    def work(payload: bytes) -> bytes:
        return run_task(reference.open(), CompactionTask.from_bytes(payload)).to_bytes()

    return [CommitMessage.from_bytes(answer) for answer in collect_tasks(spark, [t.to_bytes() for t in tasks], work)]
