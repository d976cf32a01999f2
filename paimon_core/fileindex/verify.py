"""Verification: checks that an index is exactly the index of the rows of its file; for deep checks of a table."""

from __future__ import annotations

import numpy as np

from paimon_core.fileindex import bloom, bsi, range_bitmap
from paimon_core.fileindex.bitmap import BitmapIndex
from paimon_core.fileindex.container import FileIndex, decoding
from paimon_core.fileindex.keys import Keys, distinct_of


def is_right(index: FileIndex, name: str, kind: str, keys: Keys) -> bool:
    """Whether the index of ``name`` fits the column of its file; raises CorruptTable when it does not decode.

    A bloom filter fits when it contains all values; it may contain more values.
    """
    payload = index.payload(name, kind)
    if payload is None:
        return len(keys.rows) == 0
    with decoding(index.source):
        match kind:
            case "bloom-filter":
                return bool(bloom.may_contain(payload, keys).all())
            case "bitmap":
                return _bitmap_is_right(BitmapIndex.parse(payload, keys.dtype, keys.row_count), keys)
            case "bsi":
                found = bsi.parse(payload, keys.row_count)
                rows = np.flatnonzero(found.exists)
                return np.array_equal(rows, keys.rows) and np.array_equal(found.values[rows], np.asarray(keys.ints))
        ranges = range_bitmap.parse(payload, keys.dtype, keys.row_count)
        distinct = distinct_of(keys)
        codes = np.full(keys.row_count, -1)
        codes[keys.rows] = distinct.codes
        return ranges.keys == distinct.values() and np.array_equal(ranges.codes, codes)


def _bitmap_is_right(index: BitmapIndex, keys: Keys) -> bool:
    distinct = distinct_of(keys)
    values = distinct.values()
    if values != sorted(index.places):
        return False
    codes = np.full(keys.row_count, -1)
    for code, value in enumerate(values):
        codes[index.rows(*index.places[value])] = code
    wanted = np.full(keys.row_count, -1)
    wanted[keys.rows] = distinct.codes
    return np.array_equal(codes, wanted) and np.array_equal(index.nulls(), wanted < 0)
