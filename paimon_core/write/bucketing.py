"""Bucketing: compute the partition and bucket of each row from whole columns, and group the rows by bucket.

Within a bucket the rows keep their order of arrival, because the last row of a key is the newest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import one_nan
from paimon_core.codec.binary_row.bucket_function import buckets_of
from paimon_core.codec.binary_row.bucket_hash import hash_rows
from paimon_core.codec.binary_row.rows import encode_rows
from paimon_core.lsm.gather import take_rows
from paimon_core.metadata.column_stats import EMPTY_ROW
from paimon_core.metadata.context import TableContext
from paimon_core.options import MAX_DYNAMIC_BUCKETS
from paimon_core.storage.paths import POSTPONE_BUCKET
from paimon_core.write.bucket_assigner import BucketAssigner
from paimon_core.write.default_values import conform_with_defaults
from paimon_core.write.partition_assigner import PartitionAssigner

_FEW_CODES = 1 << 16
"""Codes below this number are counted and sorted as 16-bit integers."""


@dataclass(frozen=True, slots=True)
class BucketRows:
    """Rows of one (partition, bucket), in order of arrival."""

    partition: bytes
    bucket: int
    rows: pa.Table


def assign_buckets(rows: pa.Table, context: TableContext) -> np.ndarray:
    """Return the bucket of each row as int32: the bucket of its bucket key (format 6), or 0 without fixed buckets."""
    keys = context.bucket_keys
    if not keys:
        return np.zeros(len(rows), dtype=np.int32)
    columns = [_flat(rows[name]) for name in keys]
    types, options = [f.type for f in context.schema.select(keys)], context.options
    return buckets_of(columns, types, options["bucket-function.type"], options["bucket"])


def key_hashes(rows: pa.Table, context: TableContext) -> np.ndarray:
    """Return the hash of each row's key without the partition columns, as in hash indexes (format 11.1)."""
    fields = context.schema.select(context.schema.trimmed_primary_keys)
    return hash_rows([_flat(rows[f.name]) for f in fields], [f.type for f in fields])


def hashes_by_partition(keys: pa.Table, context: TableContext) -> Iterator[tuple[bytes, np.ndarray]]:
    """Yield each partition that occurs in ``keys`` (the columns of the primary key), and the hashes of its keys."""
    if not len(keys):
        return
    hashes = key_hashes(keys, context)
    codes, partitions = _partitions(keys, context)
    for code, partition in enumerate(partitions):
        yield partition, hashes[codes == code]


def assigned_buckets(keys: pa.Table, context: TableContext, assigner: BucketAssigner) -> np.ndarray:
    """Return the dynamic bucket of each row, int32[n]; ``keys`` has the columns of the primary key."""
    if not len(keys):
        return np.zeros(0, np.int32)
    codes, partitions = _partitions(keys, context)
    return assigner.assign(codes, partitions, key_hashes(keys, context))


def valid_keys(rows: pa.Table | pa.RecordBatch, context: TableContext) -> tuple[pa.Table, np.ndarray]:
    """Return the converted key columns of the rows whose primary key has no null, and the mask of these rows."""
    fields = context.schema.select(context.schema.primary_keys)
    valid = np.ones(len(rows), bool)
    for field in fields:
        if not field.type.nullable and field.default is None:
            valid &= np.asarray(rows[field.name].is_valid().to_numpy(zero_copy_only=False))
    there = [f.name for f in fields if f.name in rows.column_names]
    keys = conform_with_defaults(rows.select(there).filter(pa.array(valid)), fields)
    return one_nan(keys, [f.name for f in fields]), valid


def split_by_bucket(
    rows: pa.Table,
    context: TableContext,
    *,
    shares: bool = False,
    assigner: BucketAssigner | None = None,
    keys: PartitionAssigner | None = None,
) -> Iterator[BucketRows]:
    """Yield the rows of each bucket that occurs in ``rows``, which have at least the table's columns.

    ``assigner`` assigns the keys of a table with dynamic buckets; errors of ``assigner.assign`` are raised. ``keys``
    assigns the keys of a table with cross-partition upsert; ``keys.place`` may add, change and drop rows, and its
    errors are raised. ``shares``: the results are slices of one table, which stays in memory until all slices are
    freed; otherwise each result is a copy.
    """
    if len(rows) == 0:
        return
    partition_codes, partitions = _partitions(rows, context)
    postponed = context.is_postponed
    if keys is not None:
        placed = keys.place(rows, partition_codes, partitions)
        if not len(placed.rows):
            return
        shares = shares and placed.rows is rows
        rows, partition_codes, partitions = placed.rows, placed.codes, placed.partitions
        buckets, count = placed.buckets, MAX_DYNAMIC_BUCKETS
    elif assigner is None:
        buckets, count = assign_buckets(rows, context), max(1, context.options["bucket"])
    else:
        buckets = assigner.assign(partition_codes, partitions, key_hashes(rows, context))
        count = MAX_DYNAMIC_BUCKETS
    is_one = count == 1 and len(partitions) == 1
    codes: np.ndarray = partition_codes if is_one else partition_codes * count + buckets
    few = is_one or int(codes.max()) < _FEW_CODES
    if is_one:
        present: np.ndarray = np.zeros(1, np.int64)
    else:
        present = np.flatnonzero(np.bincount(codes)) if few else np.unique(codes)
    if len(present) == 1:
        only = int(present[0])
        yield BucketRows(partitions[only // count], POSTPONE_BUCKET if postponed else only % count, rows)
        return
    dense = codes if few else np.searchsorted(present, codes)
    # A stable sort of 16-bit codes is a radix sort: the radix sort keeps the order of arrival and is much faster than
    # other stable sorts.
    order = np.argsort(dense.astype(np.uint16 if few or len(present) < _FEW_CODES else np.int64), kind="stable")
    ends = np.cumsum(np.bincount(dense)[present if few else slice(None)])
    arranged = take_rows(rows, order, rows.column_names) if shares else None
    start = 0
    for code, end in zip(present.tolist(), ends.tolist(), strict=True):
        part = rows.take(pa.array(order[start:end])) if arranged is None else arranged.slice(start, end - start)
        yield BucketRows(partitions[code // count], POSTPONE_BUCKET if postponed else code % count, part)
        start = end


def _partitions(rows: pa.Table, context: TableContext) -> tuple[np.ndarray, list[bytes]]:
    """Return the number of each row's partition, int64[n], and the serialized partitions by number."""
    fields = context.schema.partition_fields
    if not fields:
        return np.zeros(len(rows), dtype=np.int64), [EMPTY_ROW]
    codes = np.zeros(len(rows), dtype=np.int64)
    for field in fields:
        encoded = pc.dictionary_encode(_flat(rows[field.name]), null_encoding="encode")
        codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
        # Make the codes dense after each column, so that the codes never overflow with many columns.
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    first = np.unique(codes, return_index=True)[1]
    columns = [_flat(rows[f.name].take(pa.array(first))) for f in fields]
    return codes, encode_rows(columns, [f.type for f in fields])


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
