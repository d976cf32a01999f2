"""Bucket functions: the bucket of each row from its bucket key, for whole columns (format 6.2 to 6.4).

The function ``default`` uses the hash of the row's bytes, ``mod`` uses the remainder of one integer, and ``hive`` uses
the hash that Hive computes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.codec.binary_row.bucket_hash import bucket_of, hash_rows
from paimon_core.codec.binary_row.cells import COMPACT_DECIMAL, encode_column, one_array
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, DataType, TypeRoot

Buckets = npt.NDArray[np.int32]
_U32 = npt.NDArray[np.uint32]
_MOD = frozenset((TypeRoot.INT, TypeRoot.BIGINT))
_NARROW = {TypeRoot.TINYINT: np.int8, TypeRoot.SMALLINT: np.int16}
_HIVE = frozenset(
    (TypeRoot.BOOLEAN, *_NARROW, TypeRoot.INT, TypeRoot.DATE, TypeRoot.TIME, TypeRoot.BIGINT, TypeRoot.FLOAT)
) | {TypeRoot.DOUBLE, TypeRoot.DECIMAL, *STRING_ROOTS, *BINARY_ROOTS}
_31 = np.uint32(31)


def function_problem(function: str, types: Sequence[DataType]) -> str | None:
    """Return why ``function`` cannot hash a bucket key of the given types; None when it can hash the key."""
    if function == "mod" and (len(types) != 1 or types[0].root not in _MOD):
        return "needs a bucket key of one INT or BIGINT column"
    for kind in types if function == "hive" else ():
        if kind.root not in _HIVE or (kind.root is TypeRoot.DECIMAL and kind.precision > COMPACT_DECIMAL):
            return f"is not supported for a bucket key of type {kind}"
    return None


def buckets_of(
    columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType], function: str, buckets: int
) -> Buckets:
    """Return the bucket of each row, int32[n] in [0, buckets); ``function`` is a value of ``bucket-function.type``.

    Raises UnsupportedFeature for types that the function cannot hash. Only the function ``default`` checks ``buckets``:
    it raises InvalidRequest when ``buckets`` is less than 1.
    """
    if problem := function_problem(function, types):
        raise UnsupportedFeature(f"bucket-function.type = {function} {problem}", option="bucket-function.type")
    if buckets == 1:
        return np.zeros(len(columns[0]), np.int32)
    if function == "mod":
        narrow = np.int32 if types[0].root is TypeRoot.INT else np.int64
        values = encode_column(columns[0], types[0]).slots.astype(np.uint64).view(np.int64)
        return np.mod(values.astype(narrow).astype(np.int64), buckets).astype(np.int32)
    if function == "hive":
        hashes = np.zeros(len(columns[0]), np.uint32)
        for column, kind in zip(columns, types, strict=True):
            hashes = hashes * _31 + _hive(column, kind)
        return ((hashes & np.uint32(2**31 - 1)) % np.uint32(buckets)).astype(np.int32)
    return bucket_of(hash_rows(columns, types), buckets)


def _hive(column: pa.Array | pa.ChunkedArray, kind: DataType) -> _U32:
    """Return the hash of each value of a column as Hive computes it; 0 for null."""
    root = kind.root
    if root in STRING_ROOTS or root in BINARY_ROOTS:
        return _of_bytes(one_array(column, kind))
    slots = encode_column(column, kind).slots.astype(np.uint64)
    if root in _NARROW:
        return slots.astype(_NARROW[root]).astype(np.int32).view(np.uint32)
    if root is TypeRoot.FLOAT:
        bits = slots.astype(np.uint32)
        bits[bits == np.uint32(2**31)] = 0
        return bits
    if root is TypeRoot.DECIMAL:
        return _of_decimals(slots.view(np.int64), kind.scale)
    if root is TypeRoot.DOUBLE:
        slots = np.where(slots == np.uint64(2**63), np.uint64(0), slots)
    if root in (TypeRoot.DOUBLE, TypeRoot.BIGINT):
        slots = slots ^ (slots >> np.uint64(32))
    return slots.astype(np.uint32)


def _of_bytes(array: pa.Array) -> _U32:
    """Return the sum of the signed bytes, each times 31 to the power of the number of bytes after it."""
    array = array.cast(pa.large_binary()).fill_null(b"")
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(offsets)
    data = array.buffers()[2]
    if data is None or not lengths.any():
        return np.zeros(len(array), np.uint32)
    flat = np.frombuffer(data, np.int8)[offsets[0] : offsets[-1]].astype(np.int32).view(np.uint32)
    powers = np.ones(int(lengths.max()), np.uint32)
    powers[1:] = np.cumprod(np.full(len(powers) - 1, _31), dtype=np.uint32)
    ends = np.repeat(offsets[1:], lengths) - offsets[0]
    sums = np.zeros(len(flat) + 1, np.uint32)
    np.cumsum(flat * powers[ends - 1 - np.arange(len(flat))], dtype=np.uint32, out=sums[1:])
    found: _U32 = sums[offsets[1:] - offsets[0]] - sums[offsets[:-1] - offsets[0]]
    return found


def _of_decimals(unscaled: npt.NDArray[np.int64], scale: int) -> _U32:
    """Return Java's hash of BigDecimals without trailing zeros after the decimal point."""
    value, scales = unscaled.copy(), np.full(len(unscaled), scale, np.uint32)
    for _ in range(scale):
        strips = (value % 10 == 0) & (scales > 0)
        value[strips] //= 10
        scales[strips] -= np.uint32(1)
    scales[value == 0] = 0
    size = np.abs(value).view(np.uint64)
    hashes = (size >> np.uint64(32)).astype(np.uint32) * _31 + size.astype(np.uint32)
    hashes[value < 0] = np.uint32(0) - hashes[value < 0]
    return hashes * _31 + scales
