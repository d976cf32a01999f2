"""Compaction as a Spark job: one task per bucket, one commit on the driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_core.compact.compactor import run_task
from paimon_core.compact.history import marked
from paimon_core.compact.task import CompactionTask
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import run_tasks
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.table.upkeep import commit_compaction


def compact_spark(
    spark: SparkSession,
    table: Table,
    *,
    full: bool = False,
    where: Predicate | None = None,
    user: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot | None:
    """What ``table.compact`` does, spread over Spark tasks, the largest bucket first; None when nothing was to do."""
    request = CommitRequest.of(table.context, user, None, properties)
    tasks = table.plan_compaction(full=full, where=where)
    if not tasks:
        return None
    reference = TableReference.of(table.context)

    def work(payload: bytes) -> Iterator[pa.RecordBatch]:
        message = run_task(reference.open(), CompactionTask.from_bytes(payload))
        yield pa.record_batch([pa.array([message.to_bytes()], pa.binary())], names=["message"])

    rows = run_tasks(spark, [t.to_bytes() for t in tasks], work, "message binary").collect()
    messages = [CommitMessage.from_bytes(bytes(r["message"])) for r in rows]
    return commit_compaction(replace(request, properties=marked(tasks, request.properties)), messages)
