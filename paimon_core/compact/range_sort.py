"""Range sort: the sort of one large group of an append table, divided by ranges of the sort keys for several processes.

1. ``sampled`` reads the sort columns of some files and returns the keys of some rows.
2. ``bounds_of`` chooses from these keys where the ranges begin.
3. ``ranged`` reads some files and yields chunks: the rows of one range, sorted.
4. ``written`` gets the chunks of one range, in the order of the files, sorts their rows and writes files.
5. ``joined`` returns the message of the whole sort.

Rows with equal keys are in one range and keep their order, so the new files have the same rows in the same order as
after a sort in one process; only the last file of each range is smaller. Memory: a process holds one batch of a file
(16 MiB of decoded rows) and its sorted copy, or in step 4 the memory of ``external_sort`` and of a writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.byte_budget import BATCH_BYTES, cut
from paimon_core.compact.append import write_rows
from paimon_core.compact.compactor import missing_is_conflict
from paimon_core.compact.external_sort import external_sort
from paimon_core.compact.sort_order import SortOrder, sorting
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.table_indexes.bucket_vectors import vectors_in

_SAMPLES = 200
"""The number of sampled keys for each range."""
_TEXT_BYTES = 64
"""Sampled texts are cut after this many characters or bytes: a prefix of a text is a bound as well."""


def shares_of(task: CompactionTask, share: int) -> list[CompactionTask]:
    """Return the task with consecutive files of about ``share`` bytes each; each of the tasks can be read alone."""
    found: list[CompactionTask] = []
    held: list[DataFile] = []
    size = 0
    for file in _unit(task).files:
        if held and size + file.file_size > share:
            found.append(_with_files(task, held))
            held, size = [], 0
        held.append(file)
        size += file.file_size
    return [*found, _with_files(task, held)]


def without_files(task: CompactionTask) -> CompactionTask:
    """Return the task without its input files, for ``written``."""
    return replace(_with_files(task, ()), indexes=())


def sampled(context: TableContext, task: CompactionTask, *, ranges: int, rows: int) -> bytes:
    """Return the keys of some rows of the files of a task, for ``bounds_of``.

    ``ranges`` and ``rows``: the number of ranges and of rows of the whole sort. A repeated call returns the same keys.
    """
    order, reader = _order(task), _reader(context, task)
    chance = np.random.default_rng(task.input_bytes)
    fraction = _SAMPLES * ranges / max(rows, 1)
    fields = [context.schema.by_name[name] for name in order.columns if name in context.schema.by_name]
    parts: list[pa.Table] = []
    with missing_is_conflict(context, task):
        for file in _unit(task).files:
            for batch in reader.file(file, fields):
                chosen = np.flatnonzero(chance.random(len(batch)) < fraction)
                keyed, names = order.with_keys(context, pa.Table.from_batches([batch.take(pa.array(chosen))]))
                parts.append(_short(keyed.select(names)))
    return _packed(pa.concat_tables(parts)) if parts else b""


def bounds_of(samples: Iterable[bytes], ranges: int) -> bytes:
    """Return the first keys of all ranges but the first; no bytes when no row was sampled."""
    found = [_unpacked(sample) for sample in samples if sample]
    keys = pa.concat_tables(found) if found else None
    if not keys:
        return b""
    order = np.asarray(sorting(keys.schema.names, keys.combine_chunks()))
    at = np.unique(np.arange(1, ranges) * len(order) // ranges)
    return _packed(keys.take(pa.array(order[at])))


def ranged(context: TableContext, task: CompactionTask, bounds: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the rows of the files of a task as chunks, each with the number of its range.

    The chunks of a range are in the order of the files. Raises CommitConflict as ``compactor.run_task`` does.
    """
    order, reader = _order(task), _reader(context, task)
    starts = _unpacked(bounds) if bounds else None
    with missing_is_conflict(context, task):
        for file in _unit(task).files:
            for batch in reader.file(file, context.with_kept_ids().schema.fields):
                for part in cut(batch, BATCH_BYTES):
                    yield from _chunks(context, order, pa.Table.from_batches([part]), starts)


def written(context: TableContext, task: CompactionTask, chunks: Iterable[bytes | pa.Buffer]) -> CommitMessage:
    """Sort the rows of the chunks of one range and return the new files, whose sequence numbers ``joined`` assigns.

    ``task`` needs no input files. After an error, the new files are deleted. Raises StorageError as ``external_sort``.
    """
    unit = _unit(task)
    rows = external_sort(context, _order(task))(map(_unpacked, chunks))
    place = (task.partition, task.bucket)
    after = write_rows(context.with_kept_ids(), *place, rows, FileSource.COMPACT, unit.output_level)
    return CommitMessage(*place, task.total_buckets, compact_after=tuple(after))


def joined(context: TableContext, task: CompactionTask, answers: Sequence[CommitMessage]) -> CommitMessage:
    """Return one message of the new files of all ranges, in the order of the ranges.

    The sequence numbers of the new files stay within the range of the input files.
    """
    files, offset = [f for message in answers for f in message.compact_after], 0
    if not context.tracks_rows:
        first = min(f.min_sequence_number for f in _unit(task).files)
        last = max(f.max_sequence_number for f in _unit(task).files)
        for at, file in enumerate(files):
            numbers = (first + offset, first + offset + file.row_count - 1)
            files[at] = replace(
                file, min_sequence_number=min(numbers[0], last), max_sequence_number=min(numbers[1], last)
            )
            offset += file.row_count
    return CommitMessage(task.partition, task.bucket, task.total_buckets, compact_after=tuple(files))


def _chunks(
    context: TableContext, order: SortOrder, rows: pa.Table, starts: pa.Table | None
) -> Iterator[tuple[int, bytes]]:
    keyed, names = order.with_keys(context, rows)
    keys, count = keyed.select(names), 0 if starts is None else len(starts)
    if starts is not None:  # a bound is before the rows that are equal to it, because equal rows keep their order
        keys = pa.concat_tables([starts.cast(keys.schema), keys])
    found = np.asarray(sorting(names, keys.combine_chunks())).astype(np.int64)
    ends = np.append(np.flatnonzero(found < count) - np.arange(count), len(rows))
    positions = found[found >= count] - count
    for number, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if start < end:
            yield number, _packed(rows.take(pa.array(positions[start:end])))


def _short(keys: pa.Table) -> pa.Table:
    for at, field in enumerate(keys.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            keys = keys.set_column(at, field, pc.utf8_slice_codeunits(keys[at], 0, _TEXT_BYTES))
        elif pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            keys = keys.set_column(at, field, pc.binary_slice(keys[at], 0, _TEXT_BYTES))
    return keys


def _packed(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def _unpacked(data: bytes | pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()


def _reader(context: TableContext, task: CompactionTask) -> BucketReader:
    return BucketReader(context, task.partition, task.bucket, vectors=vectors_in(task.indexes))


def _unit(task: CompactionTask) -> AppendUnit:
    assert isinstance(task.unit, AppendUnit)
    return task.unit


def _order(task: CompactionTask) -> SortOrder:
    order = _unit(task).sort
    assert order is not None
    return order


def _with_files(task: CompactionTask, files: Sequence[DataFile]) -> CompactionTask:
    return replace(task, unit=replace(_unit(task), groups=(tuple(files),) if files else ()))
