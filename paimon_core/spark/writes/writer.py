"""Write: tasks write the rows of a DataFrame to files, and the driver commits their messages.

All rows of a bucket are sent to one task by a shuffle, or each task writes its own rows to all buckets (``direct``).

A retried or speculative task writes files with new names, and only the messages that Spark returns are committed, so
each row is committed exactly once. A task that fails deletes its own files; the files of tasks that finished before
stay as orphans.

For a table with a postpone bucket or with cross-partition upsert, the tasks write the rows to staged files first. Then
the rows are written to their buckets: by tasks, with the numbers of buckets that the driver chose, or by one task that
looks up the keys (``placement``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from paimon_core.alter.merge_schema import MergeSchema
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate
from paimon_core.spark.arguments import check_frame, check_table
from paimon_core.spark.compactor import maintenance_work, spark_work
from paimon_core.spark.reference import TableReference
from paimon_core.spark.task_errors import errors_raised_in_tasks
from paimon_core.spark.tasks import collect_tasks, map_batches
from paimon_core.spark.writes.direct import direct_tasks, with_few_runs
from paimon_core.spark.writes.key_assignment import KeyAssignment, assign_keys
from paimon_core.spark.writes.merged_schema import merged_for
from paimon_core.spark.writes.placement import place
from paimon_core.spark.writes.routing import check_columns_of, with_routing_columns
from paimon_core.spark.writes.task_rows import task_rows
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.write.staging import Staged, StagingWriter
from paimon_core.write.table_writer import TableWriter

_NAMES, _ANSWER = ["task", "answer"], "task int, answer binary"


def write_spark(
    df: DataFrame,
    table: Table,
    *,
    kinds: str | None = None,
    order_by: Sequence[str] = (),
    overwrite: str | Predicate | None = None,
    user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    tasks: int | None = None,
    merge_schema: MergeSchema = None,
) -> Snapshot | None:
    """Write the rows of ``df`` to ``table`` in one commit; return None when there was nothing to commit.

    ``kinds`` names the column of row kinds "+I", "-U", "+U", "-D". The rows of a DataFrame have no order. When the
    order of rows with the same key matters, give ``order_by`` columns (columns that are not in the table are not
    written) or set option sequence.field. Without a shuffle (``direct_tasks`` says when), later rows of a task, and the
    rows of a later task, count as newer; with a shuffle no order is promised. ``tasks``: the number of tasks that write
    after a shuffle; None: the bytes of the inputs decide. ``overwrite`` is "dynamic" (replace the partitions in the
    data), a predicate on partition columns (replace these partitions), or None to replace no partition. With ``user``
    and ``identifier`` a repeated call commits exactly once. Unless the table is write-only, Spark tasks then compact
    the written buckets, and the driver expires snapshots. An error of these steps is only logged, because the rows are
    committed.

    ``merge_schema``: see ``Table.write``. The driver alters the table before the tasks start, and the table stays
    altered when the write fails. Raises SchemaMismatch for columns that do not fit, CommitConflict for a conflict with
    another commit, InvalidRequest for arguments of a wrong kind and ``tasks`` below 1, and StorageError when a task was
    lost in all of its attempts.
    """
    check_table(table, Table)
    check_frame(df, "write_spark")
    checked_tasks(tasks)
    spec = overwritten(table, overwrite)
    request = CommitRequest.of(table.context, user, identifier, properties)
    if (committed := request.committed_snapshot()) is not None:
        return table.settle(committed)
    table = merged_for(table, df.schema, merge_schema, {*order_by, *((kinds,) if kinds else ())})
    request = replace(request, context=table.context)
    with errors_raised_in_tasks(table.name):
        messages = write_messages(
            df, table, kinds=kinds, order_by=order_by, overwrites=overwrite is not None, tasks=tasks
        )
    return table.complete(request, messages, spec, work=maintenance_work(df.sparkSession))


def checked_tasks(tasks: int | None) -> None:
    """Raise InvalidRequest unless ``tasks`` is None or a whole number of at least 1."""
    if tasks is not None and (type(tasks) is not int or tasks < 1):
        raise InvalidRequest(f"tasks must be a whole number of at least 1, not {tasks!r:.40}")


def overwritten(table: Table, overwrite: str | Predicate | None) -> Overwrite | None:
    """Return the partitions that the argument ``overwrite`` replaces; raises InvalidRequest for a wrong argument."""
    if overwrite is None:
        return None
    if overwrite == "dynamic":
        return table.overwrite_spec()
    if isinstance(overwrite, Predicate):
        return table.overwrite_spec(overwrite)
    raise InvalidRequest(f'overwrite must be "dynamic" or a predicate on partition columns, not {overwrite!r:.60}')


def write_messages(
    df: DataFrame,
    table: Table,
    *,
    kinds: str | None = None,
    order_by: Sequence[str] = (),
    overwrites: bool = False,
    tasks: int | None = None,
) -> list[CommitMessage]:
    """Write files for the rows of ``df`` in Spark tasks; return the messages, whose commit makes the rows visible."""
    check_columns_of(df, table, kinds, order_by)
    df = with_routing_columns(df, table.context)
    if table.context.is_postponed or table.context.is_cross_partition:
        return _stage_tasks(df, table, kinds, order_by, overwrites, tasks)
    if not table.context.has_dynamic_buckets:
        return _write_tasks(df, table, kinds, order_by, overwrites, tasks, None)
    cached = not df.is_cached
    df = df.persist() if cached else df
    try:
        keys = assign_keys(df, table, overwrites=overwrites)
        try:
            return [*_write_tasks(df, table, kinds, order_by, overwrites, tasks, keys), *keys.messages]
        except BaseException:
            keys.discard(table.context)
            raise
    finally:
        if cached:
            df.unpersist()


def _write_tasks(
    df: DataFrame,
    table: Table,
    kinds: str | None,
    order_by: Sequence[str],
    overwrites: bool,
    tasks: int | None,
    keys: KeyAssignment | None,
) -> list[CommitMessage]:
    """Write the rows in tasks and return their messages; ``keys``: the buckets of all keys, for dynamic buckets."""
    reference = TableReference.of(table.context)
    direct = direct_tasks(df, table.context, order_by=order_by, overwrites=overwrites, tasks=tasks, keys=keys)

    def work(parts: Iterator[pa.Table]) -> bytes:
        context = reference.open()
        assigner = None if keys is None else keys.assigner(context)
        lane = 0 if direct is None else _task_number()
        with TableWriter(context, ignore_existing=overwrites, assigner=assigner, lane=lane) as writer:
            for rows in parts:
                writer.write(rows, kinds)
            return Staged(tuple(writer.flush())).to_bytes()

    answers = _in_tasks(df, table, kinds, order_by, tasks, keys, direct, work)
    messages = [message for answer in answers for message in Staged.from_bytes(answer).messages]
    return with_few_runs(table.context, messages, spark_work(lambda: df.sparkSession)) if direct else messages


def _stage_tasks(
    df: DataFrame, table: Table, kinds: str | None, order_by: Sequence[str], overwrites: bool, tasks: int | None
) -> list[CommitMessage]:
    """Stage the rows in tasks, with all rows of a key in one task, and write the staged rows to buckets in tasks.

    Return the messages to commit.
    """
    reference = TableReference.of(table.context)

    def work(parts: Iterator[pa.Table]) -> bytes:
        with StagingWriter(reference.open()) as writer:
            for rows in parts:
                writer.write(rows, kinds)
            return writer.finish().to_bytes()

    answers = _in_tasks(df, table, kinds, order_by, tasks, None, None, work)
    staged = [*map(Staged.from_bytes, answers)]
    return place(table.context, staged, partial(collect_tasks, df.sparkSession), overwrites=overwrites)


def _in_tasks(
    df: DataFrame,
    table: Table,
    kinds: str | None,
    order_by: Sequence[str],
    tasks: int | None,
    keys: KeyAssignment | None,
    direct: int | None,
    work: Callable[[Iterator[pa.Table]], bytes],
) -> list[bytes]:
    """Return the answers of ``work``, in the order of the numbers of the tasks.

    ``work`` gets the rows of the buckets of one task; with ``direct`` tasks, it gets consecutive rows of ``df``.
    """
    with task_rows(df, table, kinds=kinds, order_by=order_by, tasks=tasks, keys=keys, direct=direct) as (
        rows,
        received,
    ):

        def answers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found = work(received.tables(batches))
            yield pa.record_batch([pa.array([_task_number()], pa.int32()), pa.array([found], pa.binary())], _NAMES)

        found = map_batches(rows, answers, _ANSWER).collect()
    return [bytes(row["answer"]) for row in sorted(found, key=lambda row: row["task"])]


def _task_number() -> int:
    """Return the number of the partition of this task."""
    task = TaskContext.get()
    return 0 if task is None else int(task.partitionId())
