"""Evaluation of a filter: finds the rows of a file that can match, by the indexes of the file (format 13).

The result is conservative: rows that are not in the result do not match. An index that cannot answer a test excludes no
row.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.codec.arrays import Mask
from paimon_core.fileindex import bloom, bsi, range_bitmap
from paimon_core.fileindex.bitmap import BitmapIndex
from paimon_core.fileindex.container import FileIndex, decoding
from paimon_core.fileindex.keys import Keys, is_exact, literal_keys, supports, width_of
from paimon_core.predicate.bound import BoundAnd, BoundOr, BoundPredicate, BoundTest, Op
from paimon_core.types import DataType

MOST_ROWS = 1 << 25
"""The number of rows of a file above which its index is not used: a result takes a byte per row."""
UNPACKED_ROWS = 1 << 22
"""The number of rows above which only bloom filters are used: the other indexes take up to 36 bytes per row."""
_ORDERS = frozenset({Op.LT, Op.LE, Op.GT, Op.GE})
_EQUALS = frozenset({Op.EQ, Op.IN})
_UNEQUALS = frozenset({Op.NE, Op.NOT_IN})
_KINDS = ("bloom-filter", "bitmap", "range-bitmap", "bsi")
"""The kinds of indexes in the order of their evaluation: the cheapest kind first."""


def matching_rows(
    index: FileIndex, where: BoundPredicate, columns: Mapping[str, tuple[str, DataType]], row_count: int
) -> Mask | None:
    """Return for each row of the file whether it may match; None when all rows may match or the index cannot decide it.

    ``columns`` maps a column name in the filter to the name of the column in the file and its type; columns that are
    not in ``columns`` are not tested. Raises CorruptTable, which names the index, when the index does not decode or
    does not fit the file.
    """
    if not 0 < row_count <= MOST_ROWS:
        return None
    with decoding(index.source):
        return _Evaluation(index, columns, row_count, {}).rows(where)


@dataclass(frozen=True)
class _Evaluation:
    index: FileIndex
    columns: Mapping[str, tuple[str, DataType]]
    row_count: int
    parsed: dict[tuple[str, str], _Reader | None]

    def rows(self, where: BoundPredicate) -> Mask | None:
        if isinstance(where, BoundAnd):
            return self._all(where)
        if isinstance(where, BoundOr):
            return self._any(where)
        return self._test(where) if isinstance(where, BoundTest) else None

    def _all(self, where: BoundAnd) -> Mask | None:
        out = None
        for part in where.parts:
            found = self.rows(part)
            out = found if out is None else out if found is None else out & found
            if out is not None and not out.any():
                break
        return out

    def _any(self, where: BoundOr) -> Mask | None:
        out = np.zeros(self.row_count, np.bool_)
        for part in where.parts:
            found = self.rows(part)
            if found is None:
                return None
            out |= found
        return out

    def _test(self, test: BoundTest) -> Mask | None:
        if test.field.name not in self.columns:
            return None
        column, dtype = self.columns[test.field.name]
        kinds = self.index.places.get(column, {})
        out = None
        for kind in _KINDS:
            if kind not in kinds or not supports(kind, dtype):
                continue
            if kind != "bloom-filter" and self.row_count > UNPACKED_ROWS:
                continue
            reader = self._reader(column, kind, dtype)
            found = _none_but_null(test.op, self.row_count) if reader is None else reader.rows(test)
            out = found if out is None else out if found is None else out & found
            if out is not None and not out.any():
                break
        return out

    def _reader(self, column: str, kind: str, dtype: DataType) -> _Reader | None:
        """Return the reader of an index; None when the index states that all rows are null."""
        if (column, kind) not in self.parsed:
            payload = self.index.payload(column, kind)
            reader = None if payload is None else _READERS[kind](payload, dtype, self.row_count)
            self.parsed[column, kind] = reader
        return self.parsed[column, kind]


def _none_but_null(op: Op, row_count: int) -> Mask | None:
    return None if op is Op.IS_NULL else np.zeros(row_count, np.bool_)


@dataclass(frozen=True)
class _Reader:
    payload: bytes
    dtype: DataType
    row_count: int

    def rows(self, test: BoundTest) -> Mask | None:
        """Return for each row whether it may pass the test; None when the index cannot decide it."""
        raise NotImplementedError

    def keys(self, test: BoundTest) -> list[Any]:
        """Return the keys of all stored values that equal a literal of the test."""
        pairs = (literal_keys(value, self.dtype) for value in test.values)
        return [key for pair in pairs for key in dict.fromkeys(pair)]


class _Bloom(_Reader):
    def rows(self, test: BoundTest) -> Mask | None:
        if test.op not in _EQUALS:
            return None
        keys = self.keys(test)
        if width_of(self.dtype) is None:
            probe = Keys(len(keys), np.arange(len(keys)), None, pa.array(keys, pa.binary()), self.dtype)
        else:
            probe = Keys(len(keys), np.arange(len(keys)), np.array(keys, np.int64), None, self.dtype)
        found = bloom.may_contain(self.payload, probe).any()
        return None if found else np.zeros(self.row_count, np.bool_)


class _Bitmap(_Reader):
    @cached_property
    def index(self) -> BitmapIndex:
        return BitmapIndex.parse(self.payload, self.dtype, self.row_count)

    def rows(self, test: BoundTest) -> Mask | None:
        match test.op:
            case Op.IS_NULL:
                return self.index.nulls()
            case Op.NOT_NULL:
                return ~self.index.nulls()
            case Op.EQ | Op.IN:
                return self.index.equal(self.keys(test))
            case Op.NE | Op.NOT_IN if is_exact(self.dtype):
                return ~(self.index.equal(self.keys(test)) | self.index.nulls())
        return None


class _Range(_Reader):
    @cached_property
    def index(self) -> range_bitmap.RangeBitmap:
        return range_bitmap.parse(self.payload, self.dtype, self.row_count)

    def rows(self, test: BoundTest) -> Mask | None:
        keys, codes = self.index.keys, self.index.codes
        if test.op in _ORDERS:
            low, high = literal_keys(test.values[0], self.dtype)
            return _compared(test.op, codes, _bisect(keys, low), _bisect(keys, high, right=True) - 1, codes >= 0)
        known = {key: code for code, key in enumerate(keys)}
        return _equal(test.op, codes, [known[k] for k in self.keys(test) if k in known], codes >= 0)


class _Sliced(_Reader):
    @cached_property
    def index(self) -> bsi.SlicedValues:
        return bsi.parse(self.payload, self.row_count)

    def rows(self, test: BoundTest) -> Mask | None:
        found = self.index
        if test.op in _ORDERS:
            key, _ = literal_keys(test.values[0], self.dtype)
            op = test.op if is_exact(self.dtype) else {Op.LT: Op.LE, Op.GT: Op.GE}.get(test.op, test.op)
            return _compared(op, found.values, key, key, found.exists)
        if test.op in _UNEQUALS and not is_exact(self.dtype):
            return None
        return _equal(test.op, found.values, self.keys(test), found.exists)


_READERS: Mapping[str, Callable[[bytes, DataType, int], _Reader]] = {
    "bloom-filter": _Bloom,
    "bitmap": _Bitmap,
    "range-bitmap": _Range,
    "bsi": _Sliced,
}


def _bisect(keys: list[Any], key: Any, *, right: bool = False) -> int:
    return (bisect_right if right else bisect_left)(keys, key)


def _compared(op: Op, values: Any, low: int, high: int, exists: Mask) -> Mask:
    """Return the rows whose value passes the test; values from ``low`` to ``high`` count as equal to the literal."""
    found: Mask = exists
    match op:
        case Op.LT:
            found = values < low
        case Op.LE:
            found = values <= high
        case Op.GT:
            found = values > high
        case Op.GE:
            found = values >= low
    return exists & found


def _equal(op: Op, values: Any, wanted: list[int], exists: Mask) -> Mask | None:
    match op:
        case Op.IS_NULL:
            return ~exists
        case Op.NOT_NULL:
            return exists
        case Op.EQ | Op.IN:
            return exists & np.isin(values, _stored(wanted))
        case Op.NE | Op.NOT_IN:
            return exists & ~np.isin(values, _stored(wanted))
    return None


def _stored(keys: list[int]) -> npt.NDArray[np.int64]:
    """Return the keys that fit in 64 bits; a key that does not fit equals no stored value."""
    return np.array([key for key in keys if -(1 << 63) <= key < 1 << 63], np.int64)
