"""Avro decimals: converts DECIMAL columns to and from big-endian two's complement of minimal length (format 7.10)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.datafile.evolution.nested_arrays import whole

_WIDTH = 16


def bytes_of_decimals(array: pa.Array) -> pa.Array:
    """Convert a decimal128 array to binary; nulls stay null."""
    array = whole(array)
    big = np.frombuffer(array.buffers()[1] or b"", np.uint8, _WIDTH * len(array)).reshape(-1, _WIDTH)[:, ::-1]
    negative = big[:, :1] >= 0x80
    # A leading byte is dropped if it only repeats the sign bit of the next byte.
    spare = (big[:, :-1] == np.where(negative, 0xFF, 0)) & ((big[:, 1:] >= 0x80) == negative)
    first = np.logical_and.accumulate(spare, axis=1).sum(axis=1)
    if array.null_count:
        first[array.is_null().to_numpy(zero_copy_only=False)] = _WIDTH
    offsets = np.concatenate(([0], np.cumsum(_WIDTH - first))).astype(np.int32)
    data = np.ascontiguousarray(big[np.arange(_WIDTH) >= first[:, None]])
    return pa.Array.from_buffers(
        pa.binary(), len(array), [array.buffers()[0], pa.py_buffer(offsets), pa.py_buffer(data)], array.null_count
    )


def decimals_of_bytes(array: pa.Array, wanted: pa.Decimal128Type) -> pa.Array:
    """Convert a binary array to ``wanted``. Loops over the distinct lengths of values, at most 16.

    Raises ValueError for a value of 0 bytes or more than 16 bytes, or with too many digits.
    """
    array = whole(array)
    offsets = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1).astype(np.int64)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    held = array.is_valid().to_numpy(zero_copy_only=False)
    big = np.zeros((len(array), _WIDTH), np.uint8)
    for length in np.unique(lengths[held]).tolist():
        if not 1 <= length <= _WIDTH:
            raise ValueError(f"a DECIMAL of {length} bytes is not valid: it must have 1 to {_WIDTH}")
        rows = np.flatnonzero(held & (lengths == length))
        found = data[starts[rows][:, None] + np.arange(length)]
        big[rows, _WIDTH - length :] = found
        big[rows, : _WIDTH - length] = np.where(found[:, :1] >= 0x80, 0xFF, 0)
    little = pa.py_buffer(np.ascontiguousarray(big[:, ::-1]))
    decimals = pa.Array.from_buffers(wanted, len(array), [array.buffers()[0], little], array.null_count)
    decimals.validate(full=True)
    return decimals
