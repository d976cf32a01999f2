"""Run one compaction of one bucket: read sections, merge, write, hand back a message (format 8.5).

A task is a plain value made on the driver and run anywhere; nothing is visible until its message is committed. Memory
is that of the bucket reader and one row group of the writer, whatever the size of the bucket.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import pyarrow as pa

from paimon_core.commit.abort import abort
from paimon_core.compact.append import rewrite_append
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.lsm.compaction import CompactionUnit
from paimon_core.lsm.key_order import key_order
from paimon_core.lsm.levels import num_levels
from paimon_core.lsm.order import MergeOrder
from paimon_core.lsm.rewrite import Rewrite, Upgrade, plan_rewrite, small_file_bytes
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import KEY_PREFIX
from paimon_core.write.bucket_writer import rolling_writer


def run_task(context: TableContext, task: CompactionTask) -> CommitMessage:
    """Do the work of ``task``; on an error every file that it wrote is deleted."""
    if isinstance(task.unit, AppendUnit):
        before, after = rewrite_append(context, task.partition, task.bucket, task.unit)
    else:
        before, after = _rewrite(context, task, task.unit)
    return CommitMessage(
        task.partition, task.bucket, task.total_buckets, compact_before=tuple(before), compact_after=tuple(after)
    )


def run_tasks(context: TableContext, tasks: Sequence[CompactionTask]) -> list[CommitMessage]:
    """Do all tasks, as many at once as there are processors; when one fails, the files of all are deleted."""
    if len(tasks) < 2:
        return [run_task(context, task) for task in tasks]
    with ThreadPoolExecutor(min(len(tasks), os.cpu_count() or 1)) as pool:
        running = [pool.submit(run_task, context, task) for task in tasks]
        try:
            return [task.result() for task in running]
        except BaseException:
            for task in running:
                task.cancel()
            wait(running)
            abort([t.result() for t in running if not t.cancelled() and t.exception() is None], context)
            raise


def _rewrite(
    context: TableContext, task: CompactionTask, unit: CompactionUnit
) -> tuple[list[DataFile], list[DataFile]]:
    before: list[DataFile] = []
    after: list[DataFile] = []
    writers = []
    try:
        for step in _steps(context, unit):
            if isinstance(step, Upgrade):
                before.append(step.file)
                after.append(step.file.upgraded(unit.output_level))
                continue
            writer = rolling_writer(
                context, task.partition, task.bucket, level=unit.output_level, source=FileSource.COMPACT
            )
            writers.append(writer)
            for rows in _merged(context, task, unit, step):
                writer.write(rows)
            before += step.files
            after += writer.close()
    except BaseException:
        for writer in writers:
            writer.abort()
        raise
    return before, after


def _steps(context: TableContext, unit: CompactionUnit) -> list[Upgrade | Rewrite]:
    options = context.options
    return plan_rewrite(
        unit,
        key_order=key_order([f.type for f in context.schema.key_fields]),
        max_level=max(num_levels(options) - 1, unit.output_level),
        small_file_bytes=small_file_bytes(options),
        force_rewrite=options["compaction.force-rewrite-all-files"],
    )


def _merged(context: TableContext, task: CompactionTask, unit: CompactionUnit, step: Rewrite) -> Iterator[pa.Table]:
    key = [KEY_PREFIX + k for k in context.schema.trimmed_primary_keys]
    fields = context.schema.file_fields
    order = MergeOrder.of(context.options)
    reader = BucketReader(context, task.partition, task.bucket)
    for section in step.sections:
        yield from reader.section(section.runs, fields, key=key, order=order, drop_deletes=unit.drop_delete)
