"""Row changes: the commit messages that delete or update the rows that match a predicate.

In an append table with ``deletion-vectors.enabled``, the rows are marked in deletion vectors; otherwise the files that
contain the rows are rewritten without these rows. Files without matching rows are kept. With row tracking, rows keep
their ids, and updated rows get the sequence number of the commit. Memory: one batch of rows per processor, the
positions of the matching rows of a bucket, and for an update the buffer of the writer.

With a primary key, the predicate applies to the merged rows of all levels. Reads of a table with deletion vectors may
leave level 0 out. The change still includes level 0: a matching row in level 0 is deleted although reads do not show
this row yet. A visible row is kept if level 0 replaces it by a row that does not match. Readers see the change after
the next compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.arrow.byte_budget import BATCH_BYTES, joined, ranges, row_sizes
from paimon_core.codec.arrays import Positions
from paimon_core.compact.append import rewrite_files
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.errors import InvalidRequest, SchemaMismatch, UnsupportedFeature, listed
from paimon_core.metadata.abort import aborted_on_error
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.parallel_work import own_processors, run_parallel
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.plan.split import Split
from paimon_core.predicate import Arithmetic, Predicate
from paimon_core.predicate.expression import fitted
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.live_keys import live_keys
from paimon_core.read.parallel_batches import MAX_THREADS, parallel_batches
from paimon_core.read.request import ReadRequest
from paimon_core.read.small_splits import has_few_values
from paimon_core.read.split_reader import read_split
from paimon_core.schema import SEQUENCE_NUMBER
from paimon_core.table_indexes.bucket_vectors import Indexes, index_files_by_bucket, replace_vectors, vectors_in
from paimon_core.table_indexes.vector_file import merged
from paimon_core.write.default_values import conform_with_defaults
from paimon_core.write.table_writer import TableWriter

Assignments = Mapping[str, Any]
"""New values by column: a value, an expression such as ``col("price") * 2``, or a function of the old rows (an Arrow
table) that returns a column."""
POSITION = "\x00position"


@dataclass(frozen=True)
class ChangedBucket:
    """The files of one bucket that may contain matching rows."""

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFile, ...]
    indexes: Indexes
    """The index files of the bucket's deletion vectors."""
    reader: BucketReader
    """Reads the rows of the bucket that are not deleted yet."""


def changed_rows(
    context: TableContext, plan: ScanPlan, where: Predicate, assignments: Assignments | None = None
) -> list[CommitMessage]:
    """Return messages that delete the matching rows of a plan and, with ``assignments``, add new versions of the rows.

    When the call fails, the files that it has written are deleted. Raises SnapshotNotFound when the snapshot expires
    during the call, CorruptTable for a damaged file.
    """
    if plan.snapshot is None:
        return []
    messages: list[CommitMessage] = []
    context = context.tracked()
    with context.manifests.reading(plan.snapshot), TableWriter(context.with_kept_ids()) as writer:
        indexes = index_files_by_bucket(context.manifests.read_indexes(plan.snapshot.index_manifest))

        def change(bucket: ChangedBucket) -> None:
            found = {f.file_name: rows for f in bucket.files if len(rows := _matching(context, bucket, f, where))}
            if found:
                messages.append(without(context, bucket, found))

        with aborted_on_error(messages, context):
            buckets = changed_buckets(context, plan, indexes)
            if assignments is not None:
                for bucket in buckets:
                    _write_updated(context, bucket, where, assignments, writer)
            run_parallel(change, buckets)
            messages += writer.flush()
    return messages


def changed_buckets(
    context: TableContext, plan: ScanPlan, indexes: Mapping[tuple[bytes, int], Indexes]
) -> list[ChangedBucket]:
    """Return the files of the plan by bucket, with the deletion vectors of each bucket."""
    found = []
    for place, splits in sorted(by_bucket(plan.splits).items()):
        there = indexes.get(place, ())
        reader = BucketReader(context, *place, threads=False, vectors=vectors_in(there))
        files = tuple(f for split in splits for f in split.files)
        found.append(ChangedBucket(*place, splits[0].total_buckets, files, there, reader))
    return found


def _matching(context: TableContext, bucket: ChangedBucket, file: DataFile, where: Predicate) -> Positions:
    """Return the positions of the rows of a file that match and are not deleted yet."""
    bound = where.bind(context.schema.fields)
    fields = context.schema.select(sorted(bound.columns) or context.schema.names[:1])
    found = [np.zeros(0, np.int64)]
    for batch in bucket.reader.file(file, fields, FileRequest(position=POSITION)):
        rows = pa.Table.from_batches([batch])
        rows = rows.filter(bound.mask(rows))
        found.append(np.asarray(rows[POSITION].to_numpy()))
    return np.concatenate(found)


def without(context: TableContext, bucket: ChangedBucket, found: Mapping[str, Positions]) -> CommitMessage:
    """Return the message that deletes rows from the bucket's files; ``found`` has their positions by file name."""
    files = [f for f in bucket.files if f.file_name in found]
    positions = {}
    for file in files:
        deleted, rows = bucket.reader.deleted(file), found[file.file_name]
        positions[file.file_name] = rows if deleted is None else merged(deleted, rows)
    vectored = context.options["deletion-vectors.enabled"]
    gone = [f for f in files if not vectored or len(positions[f.file_name]) == f.row_count]
    names = {f.file_name for f in gone}
    changed = {name: rows for name, rows in positions.items() if name not in names}
    added, replaced = replace_vectors(context, bucket.indexes, changed, names)
    message = CommitMessage(
        bucket.partition,
        bucket.bucket,
        bucket.total_buckets,
        deleted_files=tuple(gone),
        new_indexes=added,
        deleted_indexes=replaced,
    )
    with aborted_on_error([message], context):
        left = [f for f in gone if len(positions[f.file_name]) < f.row_count]
        rest = replace(bucket.reader, positions=positions)
        return replace(message, new_files=tuple(rewrite_files(rest, left, FileSource.APPEND)))


def deleted_by_key(context: TableContext, plan: ScanPlan, where: Predicate) -> list[CommitMessage]:
    """Return messages with a row of kind -D for each matching row of the plan, in a primary-key table."""
    with TableWriter(context, live_keys=live_keys) as writer:
        for rows in _matching_rows(context, plan, where):
            writer.delete(rows)
        return writer.flush()


def updated_by_key(
    context: TableContext, plan: ScanPlan, where: Predicate, assignments: Assignments
) -> list[CommitMessage]:
    """Return messages with the new version of each matching row of the plan, in a primary-key table."""
    with TableWriter(context, live_keys=live_keys) as writer:
        for rows in _matching_rows(context, plan, where):
            for new in assigned_in_parts(rows, assignments):
                writer.write(new)
        return writer.flush()


def _matching_rows(context: TableContext, plan: ScanPlan, where: Predicate) -> Iterator[pa.Table]:
    """Yield the matching rows in the order of the splits, which several threads read."""
    splits, columns = plan.splits, context.schema.names
    # Threads would wait for the lock of the interpreter where files have few values.
    threads = 1 if has_few_values(splits, len(columns)) else min(own_processors(), MAX_THREADS)
    has_spare = min(threads, len(splits)) < own_processors()
    request = ReadRequest(columns, where, threads=has_spare, ahead=has_spare and threads > 1)

    def read(split: Split) -> Iterator[pa.RecordBatch]:
        for rows in read_split(context, split, request):
            yield from rows.to_batches()

    # A filter that selects few rows leaves tables of a few rows each, and the writer has a cost for each table.
    batches = parallel_batches(read, splits, threads=threads)
    return joined((pa.Table.from_batches([batch]) for batch in batches), BATCH_BYTES)


# -- updates -----------------------------------------------------------------------------------------------------------


def _write_updated(
    context: TableContext,
    bucket: ChangedBucket,
    where: Predicate,
    assignments: Assignments,
    writer: TableWriter,
) -> None:
    bound = where.bind(context.schema.fields)
    for file in bucket.files:
        for batch in bucket.reader.file(file, context.schema.fields):
            rows = pa.Table.from_batches([batch])
            rows = rows.filter(bound.mask(rows))
            for new in assigned_in_parts(rows, assignments):
                writer.write(changed_now(new) if context.tracks_rows else new)


def changed_now(rows: pa.Table) -> pa.Table:
    """Return the rows with null sequence numbers, so that they get the sequence number of the commit; row ids stay."""
    at = rows.schema.get_field_index(SEQUENCE_NUMBER)
    return rows.set_column(at, SEQUENCE_NUMBER, pa.nulls(len(rows), pa.int64()))


def check_takes_effect(context: TableContext) -> None:
    """Raise UnsupportedFeature for a table whose options send deletes and updates to the postpone bucket."""
    if context.is_postponed and not context.options["postpone.batch-write-fixed-bucket"]:
        raise UnsupportedFeature(
            f"table {context.name} has postpone.batch-write-fixed-bucket = false: deletes and updates would wait in "
            "the postpone bucket, so rows can only be written",
            table=context.name,
            option="postpone.batch-write-fixed-bucket",
        )


def check_assignments(context: TableContext, assignments: Any) -> None:
    """Raise the errors of ``check_assigned``, and SchemaMismatch for an unknown column in a value."""
    check_assigned(context, assignments)
    check_references(assignments, context.schema.by_name, f"table {context.name}")


def check_assigned(context: TableContext, assignments: object) -> None:
    """Raise InvalidRequest unless ``assignments`` maps columns outside of the primary key to new values.

    Raises SchemaMismatch for an unknown column.
    """
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


def check_literals(context: TableContext, assignments: Assignments) -> None:
    """Raise SchemaMismatch for a value that its column cannot hold; values that are computed from rows are not checked.

    A value does not fit when its type is another one, it is too long or too large, or it is null in a NOT NULL column.
    """
    for column, value in assignments.items():
        if callable(value):
            continue
        field = context.schema.by_name[column]
        row = assigned(pa.table({column: pa.nulls(1, field.arrow.type)}), {column: value})
        try:
            conform_with_defaults(row, [field])
        except SchemaMismatch as error:
            reason = error.message.partition("; the first such row is ")[0]
            raise SchemaMismatch(
                f"table {context.name}: column {column!r} cannot be set to {value!r:.60}: {reason}", column=column
            ) from None


def check_references(values: Assignments, known: Collection[str], of: str, *, targets: bool = False) -> None:
    """Raise SchemaMismatch for a column in ``values`` that is not one of ``known``, the columns ``of`` something.

    ``targets``: check the columns of ``target(name)`` only, otherwise the other columns. Raises InvalidRequest for a
    part of a column.
    """
    for value in values.values():
        for one in value.references() if isinstance(value, Arithmetic) else ():
            if one.path:
                raise InvalidRequest(
                    f"{one!r}: a value takes whole columns; use a function for a part", column=one.name
                )
            if one.is_target is targets and one.name not in known:
                raise SchemaMismatch(
                    f"{of} has no column {one.name!r:.80}; the columns are {listed(known)}", column=one.name
                )


def assigned_in_parts(rows: pa.Table, assignments: Assignments) -> Iterator[pa.Table]:
    """Yield the result of ``assigned`` for slices of the rows.

    The old and new rows of a slice take about BATCH_BYTES.
    """
    for start, end in ranges(row_sizes(rows) + literal_bytes(rows.schema, assignments), BATCH_BYTES):
        yield assigned(rows.slice(start, end - start), assignments)


def literal_bytes(schema: pa.Schema, assignments: Assignments) -> int:
    """Return the bytes that the literal values (not the functions) of ``assignments`` take in each row."""
    columns = [pa.nulls(1, schema.field(c).type) for c in assignments]
    row = pa.Table.from_arrays(columns, names=list(assignments))
    return int(assigned(row, {c: v for c, v in assignments.items() if not callable(v)}).nbytes)


def assigned(rows: pa.Table, assignments: Assignments) -> pa.Table:
    """Return the rows with the new values of ``assignments``; a function is called with all ``rows``.

    Raises SchemaMismatch when a function does not return a column with one value per row, or a value does not fit the
    type of its column.
    """
    out = rows
    for column, value in assignments.items():
        at = rows.schema.get_field_index(column)
        kind = rows.schema.field(at).type
        try:
            new = _function_of(value)(rows) if callable(value) else pa.repeat(pa.scalar(value, kind), len(rows))
            if isinstance(value, Arithmetic):
                new = fitted(new, kind)
            if not isinstance(new, pa.Array | pa.ChunkedArray):
                new = pa.array(new, kind)
            out = out.set_column(at, column, new)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, OverflowError) as error:
            raise SchemaMismatch(f"column {column!r} cannot be set to {value!r:.60}: {error}", column=column) from error
    return out


def _function_of(value: Any) -> Callable[[pa.Table], Any]:
    function: Callable[[pa.Table], Any] = value
    return function
