"""Split → batches: files as they are when keys cannot meet, merged when they can (format 8.7, 8.8).

Below a merge only predicates on the primary key may filter: an older row must not surface because the newer one was
filtered away. The whole predicate is applied to the result of a merge, where possible before it has all its columns.
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
    """The rows of ``split``: exactly ``columns`` in order, rows that satisfy ``where``, deleted rows dropped.

    ``threads``: columns are decoded side by side; not for splits that are read at once. Raises SnapshotNotFound when
    the snapshot expired or was rolled back after the split was planned, TableNotFound when the table was dropped,
    CorruptTable for broken files.
    """
    needed = list(dict.fromkeys([*columns, *(sorted(where.columns) if where is not None else ())]))
    keep = None
    if where is not None:
        keep = RowFilter(where.bind(context.schema.fields).to_arrow(), tuple(sorted(where.columns)))
    try:
        reader = BucketReader(context, split.partition, split.bucket, threads)
        for table in _rows(reader, split, context.schema.select(needed), keep):
            if len(table):
                yield table.select(list(columns))
    except CorruptTable as error:
        if not error.facts.get("missing"):
            raise
        check_same_table(context)
        if not _is_held(context, split):
            raise SnapshotNotFound(
                f"snapshot {split.snapshot_id} of {context.name} expired or was rolled back while it was read: {error}",
                snapshot=split.snapshot_id,
            ) from error
        raise


def _rows(
    reader: BucketReader, split: Split, fields: Sequence[DataField], keep: RowFilter | None
) -> Iterator[pa.Table]:
    if split.raw:
        for file in split.files:
            for batch in reader.file(file, fields):
                rows = pa.Table.from_batches([batch])
                yield rows if keep is None else keep.kept(rows)
        return
    for runs in split.sections:
        yield from _merged(reader, runs, fields, keep)


def _merged(
    reader: BucketReader, runs: Sequence[SortedRun], fields: Sequence[DataField], keep: RowFilter | None
) -> Iterator[pa.Table]:
    """Only the columns that this merge needs are decoded: often neither sequence numbers nor kinds."""
    schema = reader.context.schema
    order = MergeOrder.of(reader.context.options)
    ordered = None if order.sequence_fields else in_sequence(runs)
    deletes = any(f.delete_row_count != 0 for run in runs for f in run.files)
    # The key columns are stored twice in a file; the table's own copy serves the merge and the result at once.
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


def _is_held(context: TableContext, split: Split) -> bool:
    """Whether a snapshot file or a tag holds the split's snapshot; after a rollback its id may be another's."""
    found = []
    with contextlib.suppress(SnapshotNotFound):
        found.append(context.snapshots.read(split.snapshot_id))
    found += [tag.snapshot for tag in context.tags.list()]
    known = split.delta_manifest_list
    return any(s.id == split.snapshot_id and known in ("", s.delta_manifest_list) for s in found)
