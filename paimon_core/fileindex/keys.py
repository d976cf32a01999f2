"""Keys: the values of an indexed column as the integers or bytes that indexes store and compare (format 13.4 to 13.6).

Fixed-width values become int64 keys with the order of the values: floats by Java's total order (-0.0 below 0.0, NaN
last), timestamps as milliseconds up to precision 3 and as microseconds above, decimals unscaled.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.fileindex.hashes import binary_hash_codes, binary_hashes, long_hashes
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

Ints = npt.NDArray[np.int64]
_LONG_DECIMAL = 18
"""The highest precision of a DECIMAL whose unscaled value always fits in 64 bits."""
_MICROS_PRECISION = 6
_EXACT = Context(prec=80)
_FLOATS: dict[TypeRoot, tuple[Any, Any]] = {
    TypeRoot.FLOAT: (np.int32, np.float32),
    TypeRoot.DOUBLE: (np.int64, np.float64),
}
_WIDTHS = {
    TypeRoot.BOOLEAN: 1,
    TypeRoot.TINYINT: 1,
    TypeRoot.SMALLINT: 2,
    TypeRoot.INT: 4,
    TypeRoot.DATE: 4,
    TypeRoot.TIME: 4,
    TypeRoot.BIGINT: 8,
    TypeRoot.FLOAT: 4,
    TypeRoot.DOUBLE: 8,
    TypeRoot.DECIMAL: 8,
    TypeRoot.TIMESTAMP: 8,
    TypeRoot.TIMESTAMP_LTZ: 8,
}
_NUMBERS = frozenset(_WIDTHS) - {TypeRoot.BOOLEAN, TypeRoot.DECIMAL}


def supports(kind: str, dtype: DataType) -> bool:
    """Whether an index of that kind can be built for values of the type, as in Java."""
    root = dtype.root
    match kind:
        case "bloom-filter":
            return root in _NUMBERS | STRING_ROOTS | BINARY_ROOTS
        case "bitmap":
            return root in _NUMBERS | STRING_ROOTS | {TypeRoot.BOOLEAN}
        case "bsi":
            return root in (_NUMBERS | {TypeRoot.DECIMAL}) - set(_FLOATS)
        case "range-bitmap":
            long = dtype.precision <= (_LONG_DECIMAL if root is TypeRoot.DECIMAL else _MICROS_PRECISION)
            sized = root is TypeRoot.DECIMAL or root in TIMESTAMP_ROOTS
            return root in STRING_ROOTS or (root in _WIDTHS and (long or not sized))
    return False


def is_exact(dtype: DataType) -> bool:
    """Whether different values have different keys; False for timestamps with nanoseconds."""
    return dtype.root not in TIMESTAMP_ROOTS or dtype.precision <= _MICROS_PRECISION


@dataclass(frozen=True)
class Keys:
    """The non-null values of a column: their row positions, and their keys as int64 or as a binary array."""

    row_count: int
    rows: Ints
    ints: Ints | None
    texts: pa.Array | None
    dtype: DataType


def keys_of(column: pa.ChunkedArray | pa.Array, dtype: DataType) -> Keys | None:
    """Return the keys of a column; None when a decimal does not fit in 64 bits, so that no index can hold it."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    row_count = len(array)
    rows = np.arange(row_count)
    if array.null_count:
        valid = array.is_valid()
        rows = rows[valid.to_numpy(zero_copy_only=False)]
        array = array.filter(valid)
    if dtype.root in STRING_ROOTS | BINARY_ROOTS:
        return Keys(row_count, rows, None, array.cast(pa.binary()), dtype)
    ints = _ints(array, dtype)
    return None if ints is None else Keys(row_count, rows, ints, None, dtype)


def _ints(array: pa.Array, dtype: DataType) -> Ints | None:
    root = dtype.root
    if root in _FLOATS:
        bits, kind = _FLOATS[root]
        values = array.to_numpy(zero_copy_only=False).astype(kind)
        return _ordered(np.where(np.isnan(values), kind(np.nan), values).view(bits), bits)
    if root is TypeRoot.BOOLEAN:
        array = array.cast(pa.uint8())
    if root is TypeRoot.DECIMAL:
        pairs = np.zeros((0, 2), np.int64)
        if len(array):
            raw = np.frombuffer(array.buffers()[1], "<i8", 2 * len(array), array.offset * 16)
            pairs = raw.reshape(-1, 2)
        low = pairs[:, 0].copy()
        return low if bool((pairs[:, 1] == low >> 63).all()) else None
    if root in TIMESTAMP_ROOTS:
        units: Ints = _timestamps(array.cast(pa.int64()).to_numpy(), dtype)
        return units
    if root in (TypeRoot.DATE, TypeRoot.TIME):
        array = array.cast(pa.int32())
    out: Ints = array.to_numpy().astype(np.int64)
    return out


def _ordered(bits: npt.NDArray[Any], kind: Any) -> Ints:
    """Return IEEE bits as integers with the order of Java's Float.compare. A second call restores the bits."""
    sign = np.iinfo(kind).bits - 1
    out: Ints = (bits ^ ((bits >> sign) & np.iinfo(kind).max)).astype(np.int64)
    return out


def _timestamps(units: Any, dtype: DataType) -> Any:
    """Return storage units as milliseconds or microseconds, rounded down."""
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[dtype.timestamp_unit]
    wanted = 10**3 if dtype.precision <= 3 else 10**6
    return units // (per_second // wanted) if per_second >= wanted else units * (wanted // per_second)


def literal_keys(value: Any, dtype: DataType) -> tuple[Any, Any]:
    """Return the lowest and highest key of the stored values that equal a filter's literal.

    The two keys are equal, except for a zero of a float column: the keys are then the keys of -0.0 and 0.0.
    """
    root = dtype.root
    if root in STRING_ROOTS:
        return (data := value.encode()), data
    if root in BINARY_ROOTS:
        return value, value
    if root in _FLOATS:
        bits, kind = _FLOATS[root]
        found = [-0.0, 0.0] if value == 0 else [float("nan") if value != value else value] * 2
        low, high = _ordered(np.array(found, kind).view(bits), bits).tolist()
        return low, high
    if root is TypeRoot.DECIMAL:
        key = int(Decimal(value).scaleb(dtype.scale, _EXACT))
    elif root in TIMESTAMP_ROOTS:
        key = _timestamps(value, dtype)
    else:
        key = int(value)
    return key, key


def width_of(dtype: DataType) -> int | None:
    """Return the number of bytes of each encoded key of this type; None for texts, whose keys differ in length."""
    return _WIDTHS.get(dtype.root)


def encoded(ints: Ints, dtype: DataType) -> pa.Array:
    """Return a binary array with the stored bytes of each int64 key, big-endian."""
    width = _WIDTHS[dtype.root]
    if dtype.root in _FLOATS:
        bits, _ = _FLOATS[dtype.root]
        ints = _ordered(ints.astype(bits), bits)
    return big_endian(ints, width)


def decoded(data: npt.NDArray[np.uint8], dtype: DataType) -> Ints:
    """Return the int64 keys of n stored keys; ``data`` has one row of bytes for each key, uint8[n, width]."""
    width = _WIDTHS[dtype.root]
    ints: Ints = np.ascontiguousarray(data).view(f">i{width}").reshape(-1).astype(np.int64)
    if dtype.root in _FLOATS:
        bits, _ = _FLOATS[dtype.root]
        return _ordered(ints.astype(bits), bits)
    return ints


def with_length(texts: pa.Array) -> pa.Array:
    """Return each text preceded by its length, which is the form in which indexes store texts."""
    sizes = pc.binary_length(texts).to_numpy()
    return joined(big_endian(sizes, 4), texts)


def big_endian(values: npt.NDArray[Any], width: int) -> pa.Array:
    """Return a binary array with each integer as ``width`` bytes, big-endian."""
    data = values.astype(f">i{width}").tobytes()
    ends = np.arange(len(values) + 1, dtype=np.int32) * np.int32(width)
    return pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(data)])


def joined(*arrays: pa.Array) -> pa.Array:
    """Return the concatenation of the values of binary arrays, row by row."""
    return pc.binary_join_element_wise(*arrays, b"")


def bytes_of(array: pa.Array) -> bytes:
    """Return the concatenated values of a binary array."""
    _, offsets, values = array.buffers()
    ends = np.frombuffer(offsets, "<i4", len(array) + 1, array.offset * 4)
    first, last = int(ends[0]), int(ends[-1])
    return b"" if values is None else values.slice(first, last - first).to_pybytes()


@dataclass(frozen=True)
class Distinct:
    """The distinct keys of a column, ascending, in ``ints`` or in ``texts``; the other member is None."""

    ints: Ints | None
    texts: pa.Array | None
    codes: Ints
    """For each non-null row, the position of its key among the distinct keys."""
    first: Ints
    """For each distinct key, the position among the non-null rows at which it occurs first."""

    def __len__(self) -> int:
        return len(self.first)

    def values(self) -> list[Any]:
        """Return the keys as ints or bytes."""
        if self.ints is not None:
            return list(self.ints.tolist())
        assert self.texts is not None
        return list(self.texts.to_pylist())

    def encoded(self, dtype: DataType) -> pa.Array:
        """Return the keys as indexes store them."""
        return with_length(self.texts) if self.ints is None else encoded(self.ints, dtype)

    def hash_codes(self, dtype: DataType) -> npt.NDArray[np.int32]:
        """Return Java's hash code of each key."""
        if self.ints is None:
            return binary_hash_codes(self.texts)
        width = _WIDTHS[dtype.root]
        if dtype.root is TypeRoot.BOOLEAN:
            return np.where(self.ints, np.int32(1231), np.int32(1237))
        ints = self.ints
        if dtype.root in _FLOATS:
            bits, _ = _FLOATS[dtype.root]
            ints = _ordered(ints.astype(bits), bits)
        return (ints ^ (ints >> 32) if width == 8 else ints).astype(np.int32)


def distinct_of(keys: Keys) -> Distinct:
    """Return the distinct keys of a column."""
    if keys.ints is not None:
        ints, first, codes = np.unique(keys.ints, return_index=True, return_inverse=True)
        return Distinct(ints, None, codes, first)
    assert keys.texts is not None
    found = keys.texts.dictionary_encode()
    order = pc.sort_indices(found.dictionary).to_numpy().astype(np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    codes = rank[found.indices.to_numpy()] if len(order) else np.zeros(0, np.int64)
    first = np.full(len(order), len(codes), np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    return Distinct(None, found.dictionary.take(pa.array(order)), codes, first)


def bloom_hashes(keys: Keys) -> npt.NDArray[np.uint64]:
    """Return the hash of each key for a bloom filter; floats are hashed by their IEEE bits."""
    if keys.texts is not None:
        return binary_hashes(keys.texts)
    assert keys.ints is not None
    ints = keys.ints
    if keys.dtype.root in _FLOATS:
        bits, _ = _FLOATS[keys.dtype.root]
        ints = _ordered(ints.astype(bits), bits)
    return long_hashes(ints)
