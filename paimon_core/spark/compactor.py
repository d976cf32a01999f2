"""Compaction, rescale and rewriting of indexes in Spark: tasks rewrite the files of buckets, and the driver commits.

A task that fails deletes its files; the files of tasks that finished before become orphans.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import SparkSession

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.database_compaction import ALL, NONE, TableOutcome, compact_database
from paimon_core.compact.compaction import Work
from paimon_core.compact.parts import CompactionPart, run_divided, run_part
from paimon_core.compact.report import CompactReport
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import PaimonError, StorageError
from paimon_core.maintain.file_indexes import index_files
from paimon_core.metadata.abort import aborted_on_error
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.options import OptionValue
from paimon_core.predicate import Where
from paimon_core.spark.arguments import check_session, check_session_and_table
from paimon_core.spark.message_tasks import collect_messages
from paimon_core.spark.packing import MOST_BYTES
from paimon_core.spark.range_sort import sort_in_ranges
from paimon_core.spark.tasks import cores
from paimon_core.table.table import Table
from paimon_core.table.upkeep.rescale_task import RescaleTask, run_rescale

_SHARE_BYTES = MOST_BYTES
"""The input bytes of a part of a large bucket; with more input bytes for each core, a part has the bytes of a core."""


def compact_spark(
    spark: SparkSession,
    table: Table,
    *,
    full: bool = False,
    where: Where | None = None,
    partition_idle_time: datetime.timedelta | None = None,
    user: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> CompactReport:
    """Compact a table as ``table.compact`` does, in Spark tasks.

    Small buckets share a task; several tasks share a large bucket, and each merges the rows of a range of keys.
    """
    check_session_and_table(spark, table, Table)
    return table.compact(
        full,
        where,
        partition_idle_time=partition_idle_time,
        user=user,
        properties=properties,
        work=spark_work(lambda: spark),
    )


def compact_database_spark(
    spark: SparkSession,
    catalog: Catalog,
    including_databases: str = ALL,
    including_tables: str = ALL,
    excluding_tables: str = NONE,
    *,
    full: bool = False,
    partition_idle_time: datetime.timedelta | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> list[TableOutcome]:
    """Compact tables one after the other as ``catalog.compact_database`` does, each in Spark tasks."""
    check_session(spark)
    return compact_database(
        catalog,
        including_databases,
        including_tables,
        excluding_tables,
        full=full,
        partition_idle_time=partition_idle_time,
        options=options,
        work=spark_work(lambda: spark),
    )


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
    """Sort the rows of an append table as ``table.sort_compact`` does, in Spark tasks.

    Small partitions share a task. Several tasks share a large partition, and each sorts the rows of a range of keys.
    """
    check_session_and_table(spark, table, Table)
    work = spark_work(lambda: spark)
    return table.sort_compact(order_by, strategy, where, user=user, properties=properties, work=work)


def rescale_spark(
    spark: SparkSession,
    table: Table,
    buckets: int | None = None,
    where: Where | None = None,
    *,
    user: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot | None:
    """Rewrite partitions into another number of buckets as ``table.rescale`` does, in Spark tasks.

    One task rewrites a large partition; small partitions share a task. When other commits change the partitions
    meanwhile, the guarantees and the errors are those of ``table.rescale``.
    """

    check_session_and_table(spark, table, Table)

    def rescaled(context: TableContext, payload: bytes) -> list[CommitMessage]:
        return run_rescale(context, RescaleTask.from_bytes(payload))

    def work(context: TableContext, tasks: Sequence[RescaleTask]) -> list[CommitMessage]:
        payloads, sizes = [task.to_bytes() for task in tasks], [task.input_bytes for task in tasks]
        return collect_messages(spark, context, payloads, rescaled, sizes)

    return table.rescale(buckets, where, user=user, properties=properties, work=work)


def rewrite_file_index_spark(
    spark: SparkSession,
    table: Table,
    where: Where | None = None,
    *,
    every: bool = False,
    user: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot | None:
    """Write file indexes for existing data files as ``table.rewrite_file_index`` does, in Spark tasks.

    Small buckets share a task. When other commits change the buckets meanwhile, the guarantees and the errors are those
    of ``table.rewrite_file_index``.
    """

    check_session_and_table(spark, table, Table)

    def indexed(context: TableContext, payload: bytes) -> list[CommitMessage]:
        return index_files(context, [CommitMessage.from_bytes(payload)], every)

    def work(context: TableContext, tasks: Sequence[CommitMessage], _: bool) -> list[CommitMessage]:
        sizes = [sum(file.file_size for file in task.compact_before) for task in tasks]
        return collect_messages(spark, context, [task.to_bytes() for task in tasks], indexed, sizes)

    return table.rewrite_file_index(where, every=every, user=user, properties=properties, work=work)


def spark_work(spark: Callable[[], SparkSession]) -> Work:
    """Return an argument ``work`` for ``table.compact`` that uses Spark tasks; ``spark`` is called only if needed.

    A bucket with many more bytes than a task should have is divided by key ranges (``paimon_core.compact.parts``), and
    so is the sort of a large group (``paimon_core.compact.range_sort``).
    """

    def run(context: TableContext, parts: Sequence[CompactionPart]) -> list[CommitMessage]:
        alone = [part for part in parts if not part.ranges]
        payloads, sizes = [part.to_bytes() for part in alone], [part.input_bytes for part in alone]
        done = collect_messages(spark(), context, payloads, _compacted, sizes)
        found = iter(tuple(done))
        answers: list[CommitMessage] = []
        with aborted_on_error(done, context):
            for part in parts:
                if part.ranges:
                    done.append(sort_in_ranges(spark(), context, part))
                answers.append(done[-1] if part.ranges else next(found))
        return answers

    def work(context: TableContext, tasks: Sequence[CompactionTask]) -> list[CommitMessage]:
        share = max(_SHARE_BYTES, sum(task.input_bytes for task in tasks) // cores(spark()))
        return run_divided(context, tasks, share, run)

    return work


def _compacted(context: TableContext, payload: bytes) -> list[CommitMessage]:
    return [run_part(context, CompactionPart.from_bytes(payload))]


def maintenance_work(spark: SparkSession) -> Work:
    """Return an argument ``work`` for the compaction after a commit, which raises every error of Spark as StorageError.

    The rows are committed, so a failure of Spark must not fail the write: ``Table.complete`` logs a PaimonError of the
    compaction, and a later compaction does the work.
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
