"""Direct writes: each task of a DataFrame writes its own rows to all buckets, and no row is shuffled.

Each task adds a sorted run to each bucket, so a direct write has few tasks, and each task has many rows. Reads merge
runs whose keys overlap, and more runs hasten compactions. So runs are only added where a compaction comes anyway, for
which a few runs more cost little: to write-only tables, and to tables that compact level 0 after each write. To any
other table, only the first rows, or the rows of an overwrite, are written directly. If the runs of a bucket overlap
then, tasks merge them before the commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from paimon_core.compact.compaction import Work
from paimon_core.compact.task import CompactionTask
from paimon_core.lsm.compaction.strategy import Level0, Strategy, needs_lookup
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.lsm.key_order import KeyOrder, key_order
from paimon_core.lsm.sections import intervals
from paimon_core.metadata.abort import abort, aborted_on_error
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import FileSource
from paimon_core.spark.tasks import cores
from paimon_core.spark.writes.distribution import input_bytes
from paimon_core.spark.writes.key_assignment import KeyAssignment

LEAST_TASK_BYTES = 16 << 20
"""The least bytes of the inputs for each task, as for a write of files."""
LARGE_TASK_BYTES = 512 << 20
"""With more bytes of the inputs for each core, a direct write has more tasks than cores."""
LEAST_FILE_BYTES = 1 << 20
"""The least bytes of the inputs for each file: a bucket gets a file of each task."""
MOST_TASKS = 8
"""The most tasks of a direct write: the default of num-sorted-run.stop-trigger, the runs for which Java's writers wait
for a compaction."""


def direct_tasks(
    df: DataFrame,
    context: TableContext,
    *,
    order_by: Sequence[str],
    overwrites: bool,
    tasks: int | None,
    keys: KeyAssignment | None,
) -> int | None:
    """Return the number of tasks in which ``df`` is written directly; None: the rows must be shuffled.

    A write is direct if all of this is true: the table has a primary key, and its number of buckets is known (no
    partitions, or dynamic buckets in ``keys``); neither ``order_by`` nor ``tasks`` is given; Spark knows the bytes of
    the inputs, and adds no executors during the job; MOST_TASKS tasks or fewer use all cores, get LEAST_TASK_BYTES
    each, and write files of LEAST_FILE_BYTES on average; ``df`` has at least as many partitions. If ``keeps_few_runs``,
    the table must also be empty, or the write an overwrite, and not in an object store, where writing the rows twice is
    expensive.
    """
    if tasks is not None or order_by or not context.is_keyed or (keys is None and context.schema.partition_keys):
        return None
    if keeps_few_runs(context) and (context.storage.is_remote or not (overwrites or _is_empty(context))):
        return None
    size = input_bytes(df)
    if size is None or _adds_executors(df.sparkSession):
        return None
    count = max(cores(df.sparkSession), -(-size // LARGE_TASK_BYTES))
    buckets = int(context.options["bucket"]) if keys is None else sum(map(len, keys.indexes.values()))
    if count > MOST_TASKS or size < count * max(LEAST_TASK_BYTES, buckets * LEAST_FILE_BYTES):
        return None
    return count if _partition_count(df, count) >= count else None


def _adds_executors(spark: SparkSession) -> bool:
    return str(spark.conf.get("spark.dynamicAllocation.enabled", "false")).lower() == "true"  # in any case, as Spark


def _partition_count(df: DataFrame, unknown: int) -> int:
    """Return the number of partitions of ``df`` if Spark's plan states it, without running a job; else ``unknown``."""
    try:
        plan = df._jdf.queryExecution().sparkPlan()
        stated = int(plan.outputPartitioning().numPartitions())
        if stated:
            return stated
        leaves = plan.collectLeaves()
        found = [leaves.apply(at).inputRDDs().apply(0).getNumPartitions() for at in range(leaves.size())]
    except (AttributeError, Py4JError, PySparkException):
        return unknown
    return sum(map(int, found))


def _is_empty(context: TableContext) -> bool:
    latest = context.snapshots.latest()
    return latest is None or latest.total_record_count == 0


def keeps_few_runs(context: TableContext) -> bool:
    """Whether a direct write must not add runs that overlap: no compaction comes anyway that merges them."""
    options = context.options
    comes = options["write-only"] or needs_lookup(options) or Strategy.of(options).level_0 is Level0.ALWAYS
    return not comes


def with_few_runs(context: TableContext, messages: Sequence[CommitMessage], work: Work) -> list[CommitMessage]:
    """Return the messages to commit, for the ``messages`` of the tasks of a direct write, in the order of the tasks.

    If ``keeps_few_runs``, ``work`` merges the new files of a bucket into one run, unless their keys do not overlap and
    their runs are at most half of num-sorted-run.compaction-trigger. The merged files are deleted. When ``work`` fails,
    all new files are.
    """
    if not keeps_few_runs(context):
        return [*messages]
    order = key_order([f.type for f in context.schema.key_fields])
    most = context.options["num-sorted-run.compaction-trigger"] // 2
    kept: list[CommitMessage] = []
    joined: list[CommitMessage] = []
    for found in by_bucket(messages).values():
        if _may_stay(found, order, most):
            kept += found
        else:
            joined.append(_joined(found))
    with aborted_on_error(messages, context):
        answers = work(context, [*map(_task, joined)]) if joined else []
    kept += [_replaced(context, one, answer) for one, answer in zip(joined, answers, strict=True)]
    return [message for message in kept if not message.is_empty]


def _may_stay(found: Sequence[CommitMessage], order: KeyOrder, most: int) -> bool:
    """Whether the new files of a bucket may be committed as they are; ``found``: the message of each task."""
    if len(found) == 1:
        return True
    files = [f for message in found for f in message.new_files]
    return len(found) <= most and all(len(section.runs) == 1 for section in intervals(files, order))


def _joined(messages: Sequence[CommitMessage]) -> CommitMessage:
    """Return one message with the files of all messages of a bucket, in the order of their rows."""
    positions = [m.numbered_after for m in messages if m.numbered_after is not None]
    return replace(
        messages[0],
        numbered_after=min(positions) if len(positions) == len(messages) else None,  # the oldest one
        new_files=tuple(f for message in messages for f in message.new_files),
        changelog_files=tuple(f for message in messages for f in message.changelog_files),
    )


def _task(message: CommitMessage) -> CompactionTask:
    """Return the compaction that merges the new files of a message, and keeps deletes: there may be older rows."""
    unit = CompactionUnit(0, message.new_files[::-1], drop_delete=False, runs_left=1)
    return CompactionTask(message.partition, message.bucket, message.total_buckets, unit)


def _replaced(context: TableContext, message: CommitMessage, answer: CommitMessage) -> CommitMessage:
    """Return the message with the files of ``answer`` in place of the files that it has merged, which are deleted."""
    before = {f.file_name for f in answer.compact_before}
    written = tuple(replace(f, file_source=FileSource.APPEND) for f in answer.compact_after)
    gone = tuple(f for f in message.new_files if f.file_name in before)
    kept = tuple(f for f in message.new_files if f.file_name not in before)
    abort([CommitMessage(message.partition, message.bucket, message.total_buckets, new_files=gone)], context)
    return replace(message, new_files=(*kept, *written))
