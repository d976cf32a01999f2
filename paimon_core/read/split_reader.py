"""Split reader: read the files of a split one by one if no key occurs twice, otherwise merge them (format 8.7, 8.8).

Before a merge, only predicates on the primary key may filter rows: any other predicate could filter out the newest row
of a key, and an older row would become visible. The other predicates are tested on the merged rows, if possible before
the columns that they do not need are built.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from paimon_core.advice import with_advice
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.lsm.merge import RowFilter
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.plan.index_filter import IndexFilter
from paimon_core.plan.split import Split
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.column_groups import read_group
from paimon_core.read.pushdown import Pushdown, pushdown
from paimon_core.read.request import ReadRequest
from paimon_core.read.section_filter import section_may_match
from paimon_core.read.section_merge import SectionMerge
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS

_STEP_ROWS = 1 << 16
_LEAST_ROWS = 1 << 12
"""The smallest number of rows to decode at once where a merge or a deletion vector leaves out rows.

Many rows that are left out may precede the first row of the result.
"""
_ROW = "\x00row"


def read_split(context: TableContext, split: Split, request: ReadRequest) -> Iterator[pa.Table]:
    """Yield the rows of ``split`` that match ``where`` of the request, without deleted rows.

    The tables have exactly the columns of the request in order, then its ``position``, if any. The values of partition
    columns come from the split, not from its files; if only partition columns are requested, no file of a raw split is
    opened. Raises SnapshotNotFound when the snapshot has expired or was rolled back since the split was planned,
    TableNotFound when the table was dropped, CorruptTable for damaged files.
    """
    with naming_expired_snapshot(context, split):
        pushed = pushdown(context, split, request.columns, request.where)
        if not pushed.matches:
            return
        names = [*request.columns, *(() if request.position is None else (request.position,))]
        for table in _rows(reader_of(context, split, request), split, pushed, request.position):
            if len(table):
                if request.counts is not None:
                    request.counts.rows_returned += len(table)
                yield pushed.completed(table).select(names)


def reader_of(context: TableContext, split: Split, request: ReadRequest) -> BucketReader:
    """Return the reader of the files of a split."""
    least = 1 if split.raw and not split.vectors else _LEAST_ROWS
    leaves_out = None
    if request.damaged is not None and not context.evolves:  # with data evolution, a file lacks columns of its rows
        leaves_out = partial(request.damaged.leaves_out, is_current=lambda: _is_referenced(context, split))
    return BucketReader(
        context,
        split.partition,
        split.bucket,
        request.threads,
        vectors=split.vectors,
        counts=request.counts,
        leaves_out=leaves_out,
        batch_rows=None if request.limit is None or request.where is not None else max(least, request.limit),
        ahead=request.ahead,
    )


@contextlib.contextmanager
def naming_expired_snapshot(context: TableContext, split: Split) -> Iterator[None]:
    """Wrap reads of a split: raise SnapshotNotFound for a missing file when the split's snapshot no longer exists.

    The text of any other CorruptTable gets a sentence that says which rows are lost with the file, and how the other
    rows can be read.
    """
    try:
        yield
    except CorruptTable as error:
        is_missing = bool(error.facts.get("missing"))
        if is_missing:
            check_same_table(context)
        if is_missing and not _is_referenced(context, split):
            raise SnapshotNotFound(
                f"snapshot {split.snapshot_id} of {context.name} expired or was rolled back while it was read, or the "
                f"split is of another table: {error}",
                snapshot=split.snapshot_id,
            ) from error
        raise with_advice(error, _meaning(context, split, error)) from error


def _meaning(context: TableContext, split: Split, error: CorruptTable) -> str:
    """Return a sentence about what is lost: with a data file only its rows, with another file the whole snapshot."""
    paths = {context.file_path(split.partition, split.bucket, file) for file in split.files}
    if error.facts.get("path") not in paths:
        return f"Snapshot {split.snapshot_id} cannot be read without it"
    option = "scan.ignore-lost-files" if error.facts.get("missing") else "scan.ignore-corrupt-files"
    return f"Only its rows are lost: with option {option} = true a scan reads the rows of the other files"


def _rows(reader: BucketReader, split: Split, pushed: Pushdown, position: str | None) -> Iterator[pa.Table]:
    """Yield the rows with at least the columns of ``pushed.fields``."""
    context = reader.context
    late = None if pushed.late is None else RowFilter(pushed.late)
    if split.raw:
        index = IndexFilter.of(pushed.tested, context.schema, context.options, context.schemas.read)
        for file in split.files:
            if not pushed.fields and position is None and reader.leaves_out is None:
                yield from _counted(reader, file)
                continue
            some = None if index is None else index.rows(file, context.storage, reader.path_of)
            if some is not None and not some.any():
                _skipped(reader)
                continue
            fields = pushed.fields or (narrow_column(context),)
            for batch in reader.file(file, fields, FileRequest(pushed.early, rows=some, position=position)):
                rows = pa.Table.from_batches([batch])
                yield rows if late is None else late.kept(rows)
    elif context.evolves:
        fields = pushed.fields or context.schema.fields[:1]
        for runs in split.sections:
            yield from read_group(reader, tuple(run.files[0] for run in runs), fields, late)
    else:
        fields = pushed.fields or context.schema.key_fields[:1]
        for runs in split.sections:
            if late is None or section_may_match(reader, runs, late.where):
                merge = SectionMerge.of(context, reader.engine, runs, fields)
                yield from reader.section(merge, early=pushed.early, late=late)


def narrow_column(context: TableContext) -> DataField:
    """Return a column that is cheap to decode, for reads that need only the number of rows and their positions.

    It is no partition column, unless the table has no other: partition columns are added to the rows that were read.
    """
    fields = [f for f in context.schema.fields if f.name not in context.schema.partition_keys]
    return next((f for f in fields if f.type.root not in NESTED_ROOTS), [*fields, *context.schema.fields][0])


def _counted(reader: BucketReader, file: DataFile) -> Iterator[pa.Table]:
    """Yield one row for each row of the file that is not deleted, with one column of nulls; the file is not opened."""
    deleted = reader.deleted(file)
    rows = file.row_count - (0 if deleted is None else len(deleted))
    for start in range(0, rows, _STEP_ROWS):
        yield pa.table({_ROW: pa.nulls(min(_STEP_ROWS, rows - start))})


def _skipped(reader: BucketReader) -> None:
    if reader.counts is not None:
        reader.counts.files_skipped += 1


def _is_referenced(context: TableContext, split: Split) -> bool:
    """Whether the split's snapshot still exists, as a snapshot file or in a tag.

    After a rollback, another snapshot with the same id does not count.
    """
    found = []
    with contextlib.suppress(SnapshotNotFound):
        found.append(context.snapshots.read(split.snapshot_id))
    found += [tag.snapshot for tag in context.tags.list()]
    known = split.delta_manifest_list
    return any(s.id == split.snapshot_id and known in ("", s.delta_manifest_list) for s in found)
