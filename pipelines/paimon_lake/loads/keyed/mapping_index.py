"""Mapping index: all rows of a cached table that have given values in columns outside of its key.

Each segment of the cache gets an index of the hashes of its values in ascending order, with the row of each hash. The
index is made when it is first used, is kept as long as the segment, and takes 12 bytes of memory per row. A row is
found only in the newest segment that has its key.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.bucket_hash import Hashes, hash_rows
from paimon_core.types import DataType
from paimon_lake.loads.lookup.dimension import CachedRows
from paimon_lake.loads.lookup.segment import DELETED, Rows, Segment


@dataclass(frozen=True)
class _Index:
    hashes: Hashes
    order: Rows
    """The row of each hash."""


_INDEXES: dict[tuple[int, tuple[str, ...]], _Index] = {}
"""The indexes of the segments that exist, by the identity of the segment and the columns."""


@dataclass(frozen=True)
class Found:
    """Rows of one segment, and for each row the position of its value among the searched values."""

    which: Rows
    segment: Segment
    rows: Rows


def find_all(
    cached: CachedRows, columns: Sequence[str], types: Sequence[DataType], values: Sequence[pa.Array]
) -> list[Found]:
    """Return all rows of a cached table that have one of the ``values`` in ``columns``; a null finds no row."""
    hashes = hash_rows(values, types)
    return [
        _live(cached, number, _matches(segment, columns, types, values, hashes))
        for number, segment in enumerate(cached.segments)
    ]


def _matches(
    segment: Segment, columns: Sequence[str], types: Sequence[DataType], values: Sequence[pa.Array], hashes: Hashes
) -> Found:
    index = _index(segment, columns, types)
    first = np.searchsorted(index.hashes, hashes, "left")
    counts = np.searchsorted(index.hashes, hashes, "right") - first
    which = np.repeat(np.arange(len(hashes)), counts)
    at = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    rows = index.order[at]
    equal = ~np.asarray(segment.take(DELETED, rows).to_numpy(zero_copy_only=False), bool)
    for column, one in zip(columns, values, strict=True):
        test = pc.equal(segment.take(column, rows), one.take(pa.array(which)))
        equal &= test.fill_null(False).to_numpy(zero_copy_only=False)
    return Found(which[equal], segment, rows[equal])


def _live(cached: CachedRows, number: int, found: Found) -> Found:
    """Return the rows whose key is in no newer segment."""
    which, rows, key = found.which, found.rows, cached.dimension.key
    for newer in cached.segments[number + 1 :]:
        keys = [found.segment.take(one.name, rows) for one in key]
        kept = newer.find(keys, hash_rows(keys, [one.type for one in key])) < 0
        which, rows = which[kept], rows[kept]
    return Found(which, found.segment, rows)


def _index(segment: Segment, columns: Sequence[str], types: Sequence[DataType]) -> _Index:
    at = (id(segment), tuple(columns))
    if at not in _INDEXES:
        batches = segment.rows.select(list(columns)).to_batches()
        hashes = np.concatenate([np.zeros(0, np.int32), *(hash_rows(batch.columns, types) for batch in batches)])
        order = np.argsort(hashes, kind="stable")
        _INDEXES[at] = _Index(hashes[order], order)
        weakref.finalize(segment, _INDEXES.pop, at, None).atexit = False
    return _INDEXES[at]
