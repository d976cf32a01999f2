"""Row changes: the commit messages that delete or update the rows of an append table that match a predicate.

With option ``deletion-vectors.enabled``, the rows are marked in deletion vectors; otherwise the files that contain such
rows are rewritten without them. Files without such rows are kept. Memory: one batch of rows per processor, the
positions of the matching rows of a bucket, and for an update the buffer of the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.commit.abort import abort
from paimon_core.compact.append import rewrite_files
from paimon_core.datafile.reader import read_batches
from paimon_core.deletionvectors.bitmap import Positions
from paimon_core.deletionvectors.bucket_vectors import index_files_of, replace_vectors, vectors_in
from paimon_core.deletionvectors.index_file import merged
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.index_manifest import IndexEntry
from paimon_core.parallel_work import run_parallel
from paimon_core.predicate import Predicate
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.scan.plan import ScanPlan
from paimon_core.write.table_writer import TableWriter

Assignments = Mapping[str, Any]
"""New values by column: a value, or a function of the old rows (an Arrow table) that returns a column."""
_POSITION = "\x00position"


@dataclass(frozen=True)
class _Bucket:
    """The files of one bucket that may contain matching rows."""

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFile, ...]


def changed_rows(
    context: TableContext, plan: ScanPlan, where: Predicate, assignments: Assignments | None = None
) -> list[CommitMessage]:
    """Return messages that delete the rows of the plan's snapshot that match, and with ``assignments`` add new ones.

    When this fails, the files that it has written are deleted. Raises SnapshotNotFound and CorruptTable as reads do.
    """
    if plan.snapshot is None:
        return []
    with context.manifests.reading(plan.snapshot):
        indexes = context.manifests.read_indexes(plan.snapshot.index_manifest)
    messages: list[CommitMessage] = []
    with TableWriter(context) as writer:

        def change(bucket: _Bucket) -> None:
            found = {
                f.file_name: rows for f in bucket.files if len(rows := _matching(context, bucket, f, where, indexes))
            }
            if found:
                messages.append(_without(context, bucket, found, indexes))

        try:
            buckets = _buckets(plan)
            if assignments is not None:
                for bucket in buckets:
                    _write_updated(context, bucket, where, assignments, indexes, writer)
            run_parallel(change, buckets)
            messages += writer.flush()
        except BaseException:
            abort(messages, context)
            raise
    return messages


def _buckets(plan: ScanPlan) -> list[_Bucket]:
    def place(split: Any) -> tuple[bytes, int, int]:
        return split.partition, split.bucket, split.total_buckets

    splits = sorted(plan.splits, key=place)
    return [_Bucket(*at, tuple(f for s in group for f in s.files)) for at, group in groupby(splits, place)]


def _matching(
    context: TableContext, bucket: _Bucket, file: DataFile, where: Predicate, indexes: list[IndexEntry]
) -> Positions:
    """Return the positions of the rows of a file that match and are not deleted yet."""
    expression = where.bind(context.schema.fields).to_arrow()
    found = [np.zeros(0, np.int64)]
    start = 0
    for rows in _stored(context, bucket, file, sorted(where.columns)):
        numbered = rows.append_column(_POSITION, pa.array(np.arange(start, start + len(rows))))
        found.append(np.asarray(numbered.filter(expression)[_POSITION].to_numpy()))
        start += len(rows)
    deleted = _reader(context, bucket, indexes).deleted(file)
    positions = np.concatenate(found)
    return positions if deleted is None else np.setdiff1d(positions, deleted, assume_unique=True)


def _stored(context: TableContext, bucket: _Bucket, file: DataFile, columns: list[str]) -> Any:
    """Yield all stored rows of a file, deleted ones too, so that the positions of rows can be counted."""
    for batch in read_batches(
        context.storage,
        BucketReader(context, bucket.partition, bucket.bucket).path(file),
        file=file,
        file_schema=context.schemas.read(file.schema_id),
        read_fields=context.schema.select(columns),
        use_threads=False,
    ):
        yield pa.Table.from_batches([batch])


def _reader(context: TableContext, bucket: _Bucket, indexes: list[IndexEntry]) -> BucketReader:
    vectors = vectors_in(index_files_of(indexes, bucket.partition, bucket.bucket))
    return BucketReader(context, bucket.partition, bucket.bucket, vectors=vectors)


def _without(
    context: TableContext, bucket: _Bucket, found: Mapping[str, Positions], indexes: list[IndexEntry]
) -> CommitMessage:
    """Return the message that deletes these positions of the bucket's files."""
    there = index_files_of(indexes, bucket.partition, bucket.bucket)
    reader = _reader(context, bucket, indexes)
    files = [f for f in bucket.files if f.file_name in found]
    positions = {}
    for file in files:
        deleted = reader.deleted(file)
        positions[file.file_name] = found[file.file_name] if deleted is None else merged(deleted, found[file.file_name])
    vectored = context.options["deletion-vectors.enabled"]
    gone = [f for f in files if not vectored or len(positions[f.file_name]) == f.row_count]
    names = {f.file_name for f in gone}
    changed = {name: rows for name, rows in positions.items() if name not in names}
    added, replaced = replace_vectors(context, there, changed, names)
    message = CommitMessage(
        bucket.partition,
        bucket.bucket,
        bucket.total_buckets,
        deleted_files=tuple(gone),
        new_indexes=added,
        deleted_indexes=replaced,
    )
    try:
        left = [f for f in gone if len(positions[f.file_name]) < f.row_count]
        rest = replace(reader, positions=positions)
        return replace(message, new_files=tuple(rewrite_files(rest, left, FileSource.APPEND)))
    except BaseException:
        abort([message], context)
        raise


# -- updates -----------------------------------------------------------------------------------------------------------


def _write_updated(
    context: TableContext,
    bucket: _Bucket,
    where: Predicate,
    assignments: Assignments,
    indexes: list[IndexEntry],
    writer: TableWriter,
) -> None:
    expression = where.bind(context.schema.fields).to_arrow()
    reader = _reader(context, bucket, indexes)
    for file in bucket.files:
        for batch in reader.file(file, context.schema.fields):
            rows = pa.Table.from_batches([batch]).filter(expression)
            if len(rows):
                writer.write(assigned(rows, assignments))


def check_assignments(context: TableContext, assignments: object) -> None:
    """Raise InvalidRequest unless ``assignments`` maps columns of the table to values or functions."""
    if not isinstance(assignments, Mapping) or not assignments:
        raise InvalidRequest(f"update needs a mapping of columns to values, not {assignments!r:.60}")
    for column in assignments:
        if column not in context.schema.by_name:
            raise SchemaMismatch(f"table {context.name} has no column {column!r:.80} to update", column=column)
        if column in context.schema.primary_keys:
            raise InvalidRequest(
                f"table {context.name}: column {column!r} is part of the primary key and cannot be updated",
                column=column,
            )


def assigned(rows: pa.Table, assignments: Assignments) -> pa.Table:
    """Return the rows with new values.

    Raises SchemaMismatch when a function returns no column of that many values, or a value fits no column type.
    """
    out = rows
    for column, value in assignments.items():
        at = rows.schema.get_field_index(column)
        kind = rows.schema.field(at).type
        try:
            new = _function_of(value)(rows) if callable(value) else pa.repeat(pa.scalar(value, kind), len(rows))
            if not isinstance(new, pa.Array | pa.ChunkedArray):
                new = pa.array(new, kind)
            out = out.set_column(at, column, new)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, OverflowError) as error:
            raise SchemaMismatch(f"column {column!r} cannot be set to {value!r:.60}: {error}", column=column) from error
    return out


def _function_of(value: Any) -> Callable[[pa.Table], Any]:
    function: Callable[[pa.Table], Any] = value
    return function
