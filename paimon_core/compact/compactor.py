"""Run one compaction of one bucket: read sections, merge, write, hand back a message (format 8.5).

A task is a plain value made on the driver and run anywhere; nothing is visible until its message is committed. Memory
is that of the bucket reader and one row group of the writer, whatever the size of the bucket.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import pyarrow as pa

from paimon_core.commit.abort import abort
from paimon_core.compact.append import rewrite_append
from paimon_core.compact.changelog import Move, Teller, teller
from paimon_core.compact.record_expiry import RecordExpiry
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.datafile.parquet_writer import RollingWriter
from paimon_core.lsm.changelog import Merged
from paimon_core.lsm.compaction import CompactionUnit
from paimon_core.lsm.key_order import key_order
from paimon_core.lsm.merge import adds
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
    changelog: list[DataFile] = []
    if isinstance(task.unit, AppendUnit):
        before, after = rewrite_append(context, task.partition, task.bucket, task.unit)
    else:
        before, after, changelog = _rewrite(context, task, task.unit)
    return CommitMessage(
        task.partition,
        task.bucket,
        task.total_buckets,
        compact_before=tuple(before),
        compact_after=tuple(after),
        compact_changelog=tuple(changelog),
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
) -> tuple[list[DataFile], list[DataFile], list[DataFile]]:
    """The files that go, those that come, and the changelog files."""
    before: list[DataFile] = []
    after: list[DataFile] = []
    changelog: list[DataFile] = []
    telling = teller(context, task, unit)
    writers: list[RollingWriter] = []

    def writer(*, told: bool) -> RollingWriter:
        level, source = unit.output_level, FileSource.COMPACT
        writers.append(rolling_writer(context, task.partition, task.bucket, level=level, source=source, changelog=told))
        return writers[-1]

    try:
        for step in _steps(context, unit):
            move = _move(step, telling)
            if move is Move.PLAIN:
                before += step.files
                after += [f.upgraded(unit.output_level) for f in step.files]
                continue
            data = None if move is Move.READ else writer(told=False)
            told = writer(told=True) if telling and telling.tells else None
            for merged in _merged(context, task, unit, step, telling, move):
                if data:
                    data.write(merged.rows)
                if told and merged.changelog is not None:
                    told.write(merged.changelog)
            before += step.files
            after += data.close() if data else [f.upgraded(unit.output_level) for f in step.files]
            changelog += told.close() if told else []
    except BaseException:
        for begun in writers:
            begun.abort()
        raise
    return before, after, changelog


def _steps(context: TableContext, unit: CompactionUnit) -> list[Upgrade | Rewrite]:
    options, expiry = context.options, RecordExpiry.of(context)
    return plan_rewrite(
        unit,
        key_order=key_order([f.type for f in context.schema.key_fields]),
        small_file_bytes=small_file_bytes(options),
        force_rewrite=options["compaction.force-rewrite-all-files"],
        expires=expiry.may_concern if expiry else None,
    )


def _move(step: Upgrade | Rewrite, telling: Teller | None) -> Move:
    if isinstance(step, Rewrite):
        return Move.REWRITE
    return Move.PLAIN if telling is None else telling.move(step.file)


def _merged(
    context: TableContext,
    task: CompactionTask,
    unit: CompactionUnit,
    step: Upgrade | Rewrite,
    telling: Teller | None,
    move: Move,
) -> Iterator[Merged]:
    """What becomes of the rows of a step: those to store, and of some compactions their changelog."""
    if telling is None or (isinstance(step, Rewrite) and not telling.concerns(step.files)):
        yield from map(Merged, _ordinary(context, task, unit, step))
        return
    drops = unit.drop_delete and isinstance(step, Rewrite)
    for section in step.sections:
        for merged in telling.merged(section, move):
            yield replace(merged, rows=adds(merged.rows)) if drops else merged


def _ordinary(
    context: TableContext, task: CompactionTask, unit: CompactionUnit, step: Upgrade | Rewrite
) -> Iterator[pa.Table]:
    key = [KEY_PREFIX + k for k in context.schema.trimmed_primary_keys]
    fields = context.schema.file_fields
    order = MergeOrder.of(context.options)
    reader = BucketReader(context, task.partition, task.bucket, keep=RecordExpiry.of(context))
    for section in step.sections:
        yield from reader.section(section.runs, fields, key=key, order=order, drop_deletes=unit.drop_delete)
