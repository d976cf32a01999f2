"""Rows with their kinds: read the merged rows of a split, and keep the deletes that an ordinary read drops.

The system tables ``audit_log`` and ``binlog`` show these rows. The kind of a merged row is the kind of the newest row
with its key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_core.errors import CorruptTable
from paimon_core.metadata.context import TableContext
from paimon_core.plan.split import Split
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.column_groups import read_group
from paimon_core.read.section_merge import SectionMerge
from paimon_core.read.split_reader import naming_expired_snapshot
from paimon_core.schema import KIND_FIELD, ROW_KINDS, SEQUENCE_FIELD, SEQUENCE_NUMBER, VALUE_KIND

ROW_KIND = "rowkind"


def read_kinds(context: TableContext, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield all rows of ``split`` with ``rowkind`` first, then ``columns``.

    ``columns`` of a primary-key table may contain ``_SEQUENCE_NUMBER``. Raises the errors of ``read_split``.
    """
    with naming_expired_snapshot(context, split):
        reader = BucketReader(context, split.partition, split.bucket, vectors=split.vectors)
        for table in _rows(reader, split, columns):
            if context.is_keyed:
                kinds = _kind_texts(table[VALUE_KIND], split)
            else:
                kinds = pa.repeat(pa.scalar(ROW_KINDS[0]), len(table))
            yield table.select(list(columns)).add_column(0, pa.field(ROW_KIND, pa.string(), nullable=False), kinds)


def _rows(reader: BucketReader, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
    context = reader.context
    schema = context.schema
    sequence = [SEQUENCE_FIELD] if context.is_keyed and SEQUENCE_NUMBER in columns else []
    hidden = [*sequence, KIND_FIELD] if context.is_keyed else []
    # A batch without columns cannot state its number of rows: if only the kinds are requested, any column is read.
    names = columns if columns or hidden else schema.names[:1]
    fields = [*schema.select([c for c in names if c not in {f.name for f in hidden}]), *hidden]
    if split.raw:
        for file in split.files:
            yield from (pa.Table.from_batches([batch]) for batch in reader.file(file, fields))
        return
    for runs in split.sections:
        if context.evolves:
            yield from read_group(reader, tuple(run.files[0] for run in runs), fields, None)
        else:
            yield from reader.section(SectionMerge.of(context, reader.engine, runs, fields, keep_deletes=True))


def _kind_texts(codes: pa.ChunkedArray, split: Split) -> pa.ChunkedArray:
    try:
        return pa.chunked_array([pa.array(ROW_KINDS)]).take(codes)
    except pa.ArrowIndexError as error:
        names = ", ".join(f.file_name for f in split.files[:3])
        raise CorruptTable(f"a file of {names} contains an invalid row kind: {error}", file=names) from error
