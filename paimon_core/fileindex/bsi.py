"""Bit-sliced index: one bitmap for each bit of the values; negative values have separate bitmaps (format 13.5)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paimon_core.codec import roaring
from paimon_core.codec.arrays import Mask
from paimon_core.fileindex.keys import Keys
from paimon_core.fileindex.slices import add_slice, encode_slices

_VERSION = 1
_LEAST = -(1 << 63)


def write(keys: Keys, options: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of the index; None when a value is -2**63, which the format cannot store."""
    ints = keys.ints
    assert ints is not None
    if (ints == _LEAST).any():
        return None
    negative = ints < 0
    return b"".join(
        (
            struct.pack(">bi", _VERSION, keys.row_count),
            _half(keys.rows[~negative], ints[~negative]),
            _half(keys.rows[negative], -ints[negative]),
        )
    )


def _half(rows: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> bytes:
    if not len(rows):
        return b"\0"
    most = int(values.max())
    slices = encode_slices(rows, values, most.bit_length())
    # Java always writes 0 as the minimum, because its search for the minimum starts with 0.
    head = struct.pack(">bbqq", 1, _VERSION, 0, most)
    return b"".join((head, roaring.encode(rows), struct.pack(">i", len(slices)), *slices))


@dataclass(frozen=True)
class SlicedValues:
    """The values of an index as one int64 key per row; ``exists`` is False where the row is null."""

    exists: Mask
    values: npt.NDArray[np.int64]


def parse(payload: bytes, row_count: int) -> SlicedValues:
    """Parse the bytes of an index; raises ValueError or struct.error when they are not valid."""
    version, rows = struct.unpack_from(">bi", payload)
    if version != _VERSION or rows != row_count:
        raise ValueError(f"a bit-sliced index has version {version} and {rows} rows, its file {row_count} rows")
    data = memoryview(payload)
    positive, values, at = _read_half(data, 5, row_count)
    negative, below, at = _read_half(data, at, row_count)
    if (positive & negative).any() or at != len(payload):
        raise ValueError("a bit-sliced index has rows of two values, or bytes after its end")
    return SlicedValues(positive | negative, np.where(negative, -below, values))


def _read_half(data: memoryview, at: int, row_count: int) -> tuple[Mask, npt.NDArray[np.int64], int]:
    present = bytes(data[at : at + 1])
    if present == b"\0":
        return np.zeros(row_count, np.bool_), np.zeros(row_count, np.int64), at + 1
    version, low, high = struct.unpack_from(">bqq", data, at + 1)
    if present != b"\1" or version != _VERSION or not 0 <= low <= high:
        raise ValueError(f"half of a bit-sliced index has version {version} and values from {low} to {high}")
    exists, at = roaring.decode(data, at + 18, row_count)
    (count,) = struct.unpack_from(">i", data, at)
    at += 4
    if count != (high - low).bit_length():
        raise ValueError(f"a bit-sliced index has {count} slices for values from {low} to {high}")
    values = np.zeros(row_count, np.uint64)
    for bit in range(count):
        mask, at = roaring.decode(data, at, row_count)
        add_slice(values, exists, bit, mask)
    out = values.view(np.int64) + low
    if not exists.any() or int(out[exists].max()) > high or int(out[exists].min()) < low:
        raise ValueError(f"a bit-sliced index has values outside of {low} to {high}")
    return exists, np.where(exists, out, 0), at
