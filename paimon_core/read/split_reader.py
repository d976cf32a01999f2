"""Split reader: read the files of a split one by one if no key occurs twice, otherwise merge them (format 8.7, 8.8).

Below a merge only predicates on the primary key may filter: otherwise an older row would become visible where the newer
one was filtered out. The whole predicate is applied to the result of a merge, if possible before all columns are built.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.lsm.merge import RowFilter
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.sorted_run import SortedRun, in_sequence
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.predicate import Predicate
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.column_groups import read_group
from paimon_core.scan.index_filter import IndexFilter
from paimon_core.scan.split import Split
from paimon_core.schema import KIND_FIELD, SEQUENCE_FIELD, DataField


def read_split(
    context: TableContext,
    split: Split,
    columns: Sequence[str],
    where: Predicate | None = None,
    *,
    threads: bool = True,
) -> Iterator[pa.Table]:
    """Yield the rows of ``split`` that match ``where``, with exactly ``columns`` in order and without deleted rows.

    ``threads``: decode columns in parallel; pass False when several splits are read at the same time. Raises
    SnapshotNotFound when the snapshot has expired or was rolled back since the split was planned, TableNotFound when
    the table was dropped, CorruptTable for broken files.
    """
    needed = list(dict.fromkeys([*columns, *(sorted(where.columns) if where is not None else ())]))
    keep = None
    if where is not None:
        keep = RowFilter(where.bind(context.schema.fields).to_arrow(), tuple(sorted(where.columns)))
    try:
        reader = BucketReader(context, split.partition, split.bucket, threads, vectors=split.vectors)
        index = IndexFilter.of(where, context.schema, context.options, context.schemas.read) if split.raw else None
        for table in _rows(reader, split, context.schema.select(needed), keep, index):
            if len(table):
                yield table.select(list(columns))
    except CorruptTable as error:
        if not error.facts.get("missing"):
            raise
        check_same_table(context)
        if not _is_referenced(context, split):
            raise SnapshotNotFound(
                f"snapshot {split.snapshot_id} of {context.name} expired or was rolled back while it was read: {error}",
                snapshot=split.snapshot_id,
            ) from error
        raise


def _rows(
    reader: BucketReader,
    split: Split,
    fields: Sequence[DataField],
    keep: RowFilter | None,
    index: IndexFilter | None,
) -> Iterator[pa.Table]:
    if split.raw:
        for file in split.files:
            some = None if index is None else index.rows(file, reader.context.storage, reader.path_of)
            if some is not None and not some.any():
                continue
            for batch in reader.file(file, fields, rows=some):
                rows = pa.Table.from_batches([batch])
                yield rows if keep is None else keep.kept(rows)
        return
    if reader.context.evolves:
        for runs in split.sections:
            yield from read_group(reader, tuple(run.files[0] for run in runs), fields, keep)
        return
    for runs in split.sections:
        yield from _merged(reader, runs, fields, keep)


def _merged(
    reader: BucketReader, runs: Sequence[SortedRun], fields: Sequence[DataField], keep: RowFilter | None
) -> Iterator[pa.Table]:
    """Yield the merged rows of a section; decodes only the columns that the merge needs."""
    schema = reader.context.schema
    order = MergeOrder.of(reader.context.options)
    ordered = None if order.sequence_fields else in_sequence(runs)
    deletes = any(f.delete_row_count != 0 for run in runs for f in run.files)
    # The key columns are stored twice in a file; the copy among the table's columns serves the merge and the result.
    inputs = schema.select(reader.engine.inputs([f.name for f in fields]))
    decoded = dict.fromkeys([*schema.key_fields, *schema.select(order.sequence_fields), *inputs])
    if ordered is None:
        decoded[SEQUENCE_FIELD] = None
    if ordered is None or deletes:
        decoded[KIND_FIELD] = None
    yield from reader.section(
        ordered or runs,
        tuple(decoded),
        key=schema.trimmed_primary_keys,
        order=None if ordered else order,
        drop_deletes=deletes,
        columns=[f.name for f in fields],
        keep=keep,
    )


def _is_referenced(context: TableContext, split: Split) -> bool:
    """Whether a snapshot file or a tag references the split's snapshot, rather than another one with its id."""
    found = []
    with contextlib.suppress(SnapshotNotFound):
        found.append(context.snapshots.read(split.snapshot_id))
    found += [tag.snapshot for tag in context.tags.list()]
    known = split.delta_manifest_list
    return any(s.id == split.snapshot_id and known in ("", s.delta_manifest_list) for s in found)
