"""Space-filling curves: one sort key per row; rows with similar values in several columns get similar keys.

The keys are equal to the keys of Java's ZIndexer and HilbertIndexer, with the same limits: a Hilbert key ignores the
sign of a number. Only the bytes of a DECIMAL in a z-order key differ: Java's bytes are not ordered like the values, so
this module converts a DECIMAL to a BIGINT or a DOUBLE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

_Bytes = npt.NDArray[np.uint8]
_Longs = npt.NDArray[np.int64]

_SIGN = np.int64(-(1 << 63))
_NULL_ON_HILBERT = np.int64((1 << 63) - 1)
_HILBERT_BITS = 63
_TEXTS = STRING_ROOTS | BINARY_ROOTS
_FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_DAYS = frozenset({TypeRoot.DATE, TypeRoot.TIME})
_UNITS_PER_MILLI = {"ms": 1, "us": 1_000, "ns": 1_000_000}


def z_order(columns: Sequence[pa.Array], types: Sequence[DataType], text_bytes: int) -> pa.Array:
    """Return the z-order keys: the interleaved bits of the columns.

    Only the first ``text_bytes`` bytes of a text are used.
    """
    parts = [_z_bytes(column, kind, text_bytes) for column, kind in zip(columns, types, strict=True)]
    bits = [np.unpackbits(part, axis=1) for part in parts]
    sections, start = [], 0  # the last bits contain no bits of columns with shorter values
    for end in sorted({part.shape[1] for part in bits}):
        taking = [part[:, start:end] for part in bits if part.shape[1] >= end]
        sections.append(np.stack(taking, axis=2).reshape(len(bits[0]), len(taking) * (end - start)))
        start = end
    return _fixed(np.packbits(sections[0] if len(sections) == 1 else np.concatenate(sections, axis=1), axis=1))


def hilbert(columns: Sequence[pa.Array], types: Sequence[DataType]) -> pa.Array:
    """Return the positions on a Hilbert curve; each of at least two columns is a dimension of 63 bits."""
    axes = [_hilbert_long(column, kind) for column, kind in zip(columns, types, strict=True)]
    # J. Skilling, "Programming the Hilbert curve", 2004: from coordinates to the transposed index.
    for bit in range(_HILBERT_BITS - 1, 0, -1):
        below = np.int64((1 << bit) - 1)
        for at, axis in enumerate(axes):
            is_set = (axis >> np.int64(bit)) & 1 == 1
            swapped = np.where(is_set, 0, (axes[0] ^ axis) & below)
            axes[0] = axes[0] ^ np.where(is_set, below, swapped)
            if at:
                axes[at] = axis ^ swapped
    for at in range(1, len(axes)):
        axes[at] = axes[at] ^ axes[at - 1]
    flips = np.zeros_like(axes[0])
    for bit in range(_HILBERT_BITS - 1, 0, -1):
        flips ^= np.where((axes[-1] >> np.int64(bit)) & 1 == 1, np.int64((1 << bit) - 1), 0)
    bits = np.stack([np.unpackbits(_big_endian(axis ^ flips), axis=1)[:, 1:] for axis in axes], axis=2)
    whole = bits.reshape(len(bits), -1)
    padding = np.zeros((len(bits), -whole.shape[1] % 8), np.uint8)
    return _fixed(np.packbits(np.concatenate([padding, whole], axis=1), axis=1))


def ordered_longs(values: npt.NDArray[np.float64]) -> _Longs:
    """Return integers that sort as Java sorts the floats: -0.0 before 0.0, NaN last."""
    bits = _double_bits(values)
    return np.where(bits < 0, bits ^ _NULL_ON_HILBERT, bits)


def _z_bytes(column: pa.Array, kind: DataType, text_bytes: int) -> _Bytes:
    """Return one row of bytes per value; all bytes of a null are zero."""
    root = kind.root
    if root in _TEXTS:
        return _leading_bytes(column, text_bytes)
    if root is TypeRoot.BOOLEAN:
        out = np.zeros((len(column), 8), np.uint8)
        out[:, 0] = np.where(_filled(column, pa.int8()), 0x81, 0)
        return out
    if root is TypeRoot.DECIMAL and kind.precision <= 18:
        longs = _low_words(column) ^ _SIGN
    elif root in _FLOATS or root is TypeRoot.DECIMAL:
        bits = _double_bits(_filled(column, pa.float64()))
        longs = bits ^ ((bits >> np.int64(31)) | _SIGN)
    else:
        longs = _whole_number(column, root) ^ _SIGN
    out = _big_endian(longs)
    out[~_valid(column)] = 0
    return out


def _hilbert_long(column: pa.Array, kind: DataType) -> _Longs:
    root = kind.root
    longs: _Longs
    if root in _TEXTS:
        longs = _short_texts(column)
    elif root is TypeRoot.BOOLEAN:
        longs = np.where(_filled(column, pa.int8()) != 0, _NULL_ON_HILBERT, 0)
    elif root in _FLOATS:
        longs = _double_bits(_filled(column, pa.float64()))
    elif root is TypeRoot.DECIMAL:
        longs = _low_words(pc.trunc(column).cast(pa.decimal128(38, 0)))
    elif root is TypeRoot.TINYINT:
        longs = _whole_number(column, root) & np.int64(0xFF)
    else:
        longs = _whole_number(column, root)
    return np.where(_valid(column), longs, _NULL_ON_HILBERT)


def _short_texts(column: pa.Array) -> _Longs:
    """Return the first eight bytes of texts as numbers; shorter texts are padded on the left, as in Java."""
    unsigned = _leading_bytes(column, 8).view(">u8").ravel().astype(np.uint64)
    lengths = np.minimum(np.asarray(pc.fill_null(pc.binary_length(column), 8)), 8)
    shifts = np.minimum(8 * (8 - lengths), 63).astype(np.uint64)
    longs: _Longs = (unsigned >> shifts).view(np.int64)
    return longs


def _whole_number(column: pa.Array, root: TypeRoot) -> _Longs:
    """Return integer, date, time and timestamp values as 64-bit integers; a timestamp as epoch milliseconds."""
    longs: _Longs
    if root not in TIMESTAMP_ROOTS:
        longs = _filled(column.view(pa.int32()) if root in _DAYS else column, pa.int64())
    else:
        longs = np.floor_divide(_filled(column.view(pa.int64()), pa.int64()), _UNITS_PER_MILLI[column.type.unit])
    return longs


def _double_bits(values: npt.NDArray[np.float64]) -> _Longs:
    return np.where(np.isnan(values), np.nan, values).view(np.int64)


def _low_words(column: pa.Array) -> _Longs:
    """Return the low 64 bits of the unscaled values of DECIMALs."""
    words = np.frombuffer(column.buffers()[1], np.int64)
    return words[2 * column.offset : 2 * (column.offset + len(column)) : 2].copy()


def _leading_bytes(column: pa.Array, length: int) -> _Bytes:
    """Return the first ``length`` bytes of each text; shorter texts are padded with zeros."""
    texts = column.cast(pa.large_binary())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    at = np.arange(length)
    inside = (at < (ends[1:] - ends[:-1])[:, None]) & _valid(column)[:, None]
    return np.where(inside, content[np.minimum(ends[:-1, None] + at, len(content) - 1)], 0).astype(np.uint8)


def _big_endian(longs: _Longs) -> _Bytes:
    return longs.astype(">i8").view(np.uint8).reshape(-1, 8)


def _valid(column: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(column.is_valid())


def _filled(column: pa.Array, kind: pa.DataType) -> npt.NDArray[Any]:
    return np.asarray(pc.fill_null(column.cast(kind), 0))


def _fixed(keys: _Bytes) -> pa.Array:
    """Return rows of bytes as an Arrow column; Arrow sorts its values as unsigned bytes."""
    width = keys.shape[1]
    data = pa.py_buffer(np.ascontiguousarray(keys))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(keys), [None, data])
