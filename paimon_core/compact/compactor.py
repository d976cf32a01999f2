"""Compactor: runs one compaction of one bucket and returns a commit message (format 8.5).

A task is a plain value that is created on the driver and can run in any process. Its result is visible only after its
message is committed. Memory: the batches of the bucket reader and one row group of the writer, independent of the size
of the bucket.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from paimon_core.compact.append import rewrite_append
from paimon_core.compact.changelog import ChangelogProducer, changelog_producer
from paimon_core.compact.record_expiry import RecordExpiry
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.datafile.writing.rolling_writer import RollingWriter
from paimon_core.datafile.writing.table_files import rolling_writer
from paimon_core.errors import CommitConflict, CorruptTable
from paimon_core.lsm.changelog import Merged
from paimon_core.lsm.compaction.rewrite_plan import Reread, Rewrite, Upgrade, plan_rewrite, small_file_bytes
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.lsm.key_order import key_order
from paimon_core.lsm.key_windows import WINDOW_ROWS
from paimon_core.lsm.merge import adds
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.metadata.abort import aborted_on_error
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.known_deletes import has_no_deletes
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.metadata.table_identity import check_same_table, refreshed
from paimon_core.parallel_work import own_processors, run_parallel
from paimon_core.progress_meter import meter
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.lookup_reader import Marks
from paimon_core.read.section_merge import SectionMerge
from paimon_core.table_indexes.bucket_vectors import replace_vectors, vectors_in
from paimon_core.table_indexes.vector_file import merged as with_positions
from paimon_core.table_indexes.vector_file import read_vector
from paimon_core.work_ahead import made_ahead


def run_task(context: TableContext, task: CompactionTask, *, ahead: bool = False) -> CommitMessage:
    """Run ``task`` and return its commit message; on an error, delete every file that the task has written.

    ``ahead``: rows are decoded, merged and encoded at the same time, in three threads with a window of rows each.

    When an input file has a newer schema than ``context``, the new files have the table's latest schema, so that no
    column is lost. Raises CommitConflict when, after the task was planned, a concurrent commit has removed input files
    from the table and an expiry has deleted them.
    """
    changelog: list[DataFile] = []
    marks: Marks = {}
    context = with_schema_of_inputs(context, [task])
    with missing_is_conflict(context, task):
        if isinstance(task.unit, AppendUnit):
            vectors = vectors_in(task.indexes)
            before, after = rewrite_append(context, task.partition, task.bucket, task.unit, vectors)
        else:
            before, after, changelog, marks = _rewrite(context, task, task.unit, ahead)
    message = CommitMessage(
        task.partition,
        task.bucket,
        task.total_buckets,
        compact_before=tuple(before),
        compact_after=tuple(after),
        compact_changelog=tuple(changelog),
    )
    return with_indexes(context, task, message, marks)


def with_schema_of_inputs(context: TableContext, tasks: Iterable[CompactionTask]) -> TableContext:
    """Return the context, at the table's latest schema if an input file of a task has a newer schema than it."""
    files = (f for task in tasks for f in (*task.unit.files, *task.higher))
    return refreshed(context) if any(f.schema_id > context.schema.id for f in files) else context


@contextlib.contextmanager
def missing_is_conflict(context: TableContext, task: CompactionTask) -> Iterator[None]:
    """Raise CommitConflict for a missing file if a concurrent commit has removed input files of the task.

    Raises TableNotFound if the file is missing because the table was dropped.
    """
    try:
        yield
    except CorruptTable as error:
        if error.facts.get("missing"):
            check_same_table(context)
        if error.facts.get("missing") and not _is_live(context, task):
            raise CommitConflict(
                f"table {context.name}: input files of the compaction of bucket {task.bucket} were deleted after it "
                f"was planned, run the compaction again: {error}",
                table=context.name,
                bucket=task.bucket,
            ) from error
        raise


def with_indexes(context: TableContext, task: CompactionTask, message: CommitMessage, marks: Marks) -> CommitMessage:
    """Return the message with new index files of deletion vectors, which replace the index files of the task.

    The vectors of rewritten files are removed, and the rows in ``marks`` are added to the vectors of their files.
    """
    with aborted_on_error([message], context):
        known = vectors_in(task.indexes)
        changed = {}
        for name, parts in marks.items():
            positions = np.unique(np.concatenate(parts))
            changed[name] = (
                with_positions(read_vector(context, *known[name]), positions) if name in known else positions
            )
        kept = {f.file_name for f in message.compact_after}
        gone = {f.file_name for f in message.compact_before} - kept
        added, deleted = replace_vectors(context, task.indexes, changed, gone)
    return replace(message, compact_new_indexes=added, compact_deleted_indexes=deleted)


def _is_live(context: TableContext, task: CompactionTask) -> bool:
    """Whether all files that the task reads are still in the latest snapshot."""
    live = {e.file.file_name for e in latest_entries(context)}
    return all(f.file_name in live for f in (*task.unit.files, *task.higher))


def run_tasks(context: TableContext, tasks: Sequence[CompactionTask]) -> list[CommitMessage]:
    """Run all tasks in parallel, at most one per processor, and return their messages; fewer tasks than processors use
    several threads each.

    If one task fails, the new files of all tasks are deleted.
    """
    done: list[CommitMessage] = []
    progress = meter("compact", "bytes", sum(task.input_bytes for task in tasks))

    ahead = len(tasks) < own_processors()

    def run(task: CompactionTask) -> CommitMessage:
        done.append(message := run_task(context, task, ahead=ahead))
        progress.advance(task.input_bytes)
        return message

    with aborted_on_error(done, context):
        messages = run_parallel(run, tasks)
        progress.complete()
        return messages


def _rewrite(
    context: TableContext, task: CompactionTask, unit: CompactionUnit, ahead: bool
) -> tuple[list[DataFile], list[DataFile], list[DataFile], Marks]:
    """Return the files to remove, the new files, the changelog files, and the rows to delete in higher levels."""
    before: list[DataFile] = []
    after: list[DataFile] = []
    changelog: list[DataFile] = []
    expiry = RecordExpiry.of(context)
    vectors = vectors_in(task.indexes)
    reader = BucketReader(context, task.partition, task.bucket, keep=expiry, vectors=vectors, ahead=ahead)
    producer = changelog_producer(reader, unit, task.higher)
    writers: list[RollingWriter] = []
    try:
        for step in steps_of(reader, unit, expiry, producer):
            before += step.files
            if isinstance(step, Upgrade):
                after.append(step.file.upgraded(unit.output_level))
            if isinstance(step, Reread | Rewrite):
                files, changes = write_step(reader, unit, step, producer, writers)
                after += files
                changelog += changes
    except BaseException:
        for begun in writers:
            begun.abort()
        raise
    return before, after, changelog, {} if producer is None else producer.marks


def write_step(
    reader: BucketReader,
    unit: CompactionUnit,
    step: Reread | Rewrite,
    producer: ChangelogProducer | None,
    writers: list[RollingWriter],
) -> tuple[list[DataFile], list[DataFile]]:
    """Write the merged rows of a step; return the data files and the changelog files.

    The writers are appended to ``writers``: after an error, the caller aborts them.
    """

    def writer(*, changelog: bool) -> RollingWriter:
        place = (reader.context, reader.partition, reader.bucket)
        writers.append(rolling_writer(*place, level=unit.output_level, source=FileSource.COMPACT, changelog=changelog))
        return writers[-1]

    data = writer(changelog=False) if isinstance(step, Rewrite) else None
    changes = writer(changelog=True) if producer and producer.writes_changelog else None
    merged = _merged(reader, unit, step, producer)
    for found in made_ahead(merged) if reader.ahead and _is_large(step) else merged:
        if data:
            data.write(found.rows)
        if changes and found.changelog is not None:
            changes.write(found.changelog)
    return data.close() if data else [], changes.close() if changes else []


def _is_large(step: Reread | Rewrite) -> bool:
    """Whether the step merges more rows than one window of wide rows."""
    return sum(f.row_count for f in step.files) > WINDOW_ROWS


def steps_of(
    reader: BucketReader, unit: CompactionUnit, expiry: RecordExpiry | None, producer: ChangelogProducer | None
) -> list[Upgrade | Rewrite]:
    """Return the steps of a unit in key order, as the changelog producer needs them."""
    context, options = reader.context, reader.context.options
    steps = plan_rewrite(
        unit,
        key_order=key_order([f.type for f in context.schema.key_fields]),
        small_file_bytes=small_file_bytes(options),
        is_clean=partial(has_no_deletes, options=options),
        force_rewrite=options["compaction.force-rewrite-all-files"],
        expires=None if expiry is None else lambda file: expiry.has_expired_rows(file, reader.path(file)),
    )
    return [producer.step(step) if producer and isinstance(step, Upgrade) else step for step in steps]


def _merged(
    reader: BucketReader, unit: CompactionUnit, step: Reread | Rewrite, producer: ChangelogProducer | None
) -> Iterator[Merged]:
    """Yield the merged rows of a step: the rows to store and, with a changelog producer, the changelog rows."""
    if producer is None or not producer.concerns(step.files):
        yield from map(Merged, _ordinary(reader, unit, step))
        return
    rereads = isinstance(step, Reread)
    drops = unit.drop_delete and not rereads
    keys = reader.context.schema.file_key_fields
    for section in step.sections:
        with reader.naming_unsorted_file(section.runs, keys, [f.name for f in keys]):
            for merged in producer.merged(section, rereads=rereads):
                yield replace(merged, rows=adds(merged.rows)) if drops else merged


def _ordinary(reader: BucketReader, unit: CompactionUnit, step: Reread | Rewrite) -> Iterator[pa.Table]:
    schema, order = reader.context.schema, MergeOrder.of(reader.context.options)
    fields, key = schema.file_fields, [f.name for f in schema.file_key_fields]
    columns = [f.name for f in fields]
    for section in step.sections:
        yield from reader.section(SectionMerge(section.runs, fields, key, order, unit.drop_delete, columns))
