"""Cells: encodes an Arrow column as the 8-byte slots and variable words of its BinaryRow field (format 5.2, 5.3).

Whole columns are encoded with numpy; there is no Python loop over rows. The slot of a value with a variable part does
not yet contain the offset of this part, because the offset depends on the columns before this column. The caller adds
the offset where ``counts`` is not zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.codec.arrays import Mask
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

COMPACT_DECIMAL = 18
"""The highest precision of a DECIMAL whose unscaled value is stored in the slot."""
COMPACT_TIMESTAMP = 3
"""The highest precision of a TIMESTAMP whose milliseconds are stored in the slot."""
INLINE_BYTES = 7
"""The length of the longest text or binary that is stored in the slot."""
_BLOCK_ROWS = 1 << 13
"""Words are loaded in blocks of this number, so that the arrays between two steps stay in the processor's cache."""
_FEW_WORDS = 8
"""Values of up to this number of words are loaded one word of all values at a time, if all have equally many."""

_UNITS_PER_MILLI = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_RAW: dict[TypeRoot, np.dtype[Any]] = {
    TypeRoot.TINYINT: np.dtype("<u1"),
    TypeRoot.SMALLINT: np.dtype("<u2"),
    TypeRoot.INT: np.dtype("<u4"),
    TypeRoot.DATE: np.dtype("<u4"),
    TypeRoot.TIME: np.dtype("<u4"),
    TypeRoot.BIGINT: np.dtype("<u8"),
    TypeRoot.FLOAT: np.dtype("<u4"),
    TypeRoot.DOUBLE: np.dtype("<u8"),
}


@dataclass(frozen=True, slots=True)
class Cells:
    """A column of n cells: ``slots`` (n words), and in ``words`` the variable words of each row, in row order."""

    slots: Words
    nulls: Mask | None
    """True where the cell is null; None when no cell is null."""
    counts: int | Counts
    """Variable words per row; an int when all rows have the same number."""
    words: Words


def units_per_milli(dtype: DataType) -> int:
    """Return how many storage units of a TIMESTAMP make a millisecond: 1, 1000 or 1000000."""
    return _UNITS_PER_MILLI[dtype.timestamp_unit]


def encode_column(array: pa.Array | pa.ChunkedArray, dtype: DataType) -> Cells:
    """Return the cells of a column, cast to ``dtype.to_arrow()`` if needed; the cast may raise pa.ArrowInvalid."""
    array = one_array(array, dtype)
    root = dtype.root
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if root in STRING_ROOTS or root in BINARY_ROOTS:
        return _text_cells(array, nulls)
    if root is TypeRoot.DECIMAL:
        pairs = _zeroed(_raw(array, np.dtype("<u8"), 2).reshape(-1, 2), nulls)
        low, high = pairs[:, 0], pairs[:, 1]
        return _fixed(low.copy(), nulls) if dtype.precision <= COMPACT_DECIMAL else _wide_decimal(low, high, nulls)
    if root in TIMESTAMP_ROOTS:
        units = _zeroed(_raw(array, np.dtype("<i8")), nulls)
        if dtype.precision <= COMPACT_TIMESTAMP:
            return _fixed(units.view(np.uint64), nulls)
        return _fine_timestamp(units, units_per_milli(dtype), nulls)
    if root is TypeRoot.BOOLEAN:
        array = array.cast(pa.uint8())
        return _fixed(_zeroed(_raw(array, np.dtype("<u1")), nulls).astype(np.uint64), nulls)
    return _fixed(_zeroed(_raw(array, _RAW[root]), nulls).astype(np.uint64), nulls)


def one_array(array: pa.Array | pa.ChunkedArray, dtype: DataType) -> pa.Array:
    """Return the column as a single Arrow array of the type ``dtype.to_arrow()``."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array if array.type == dtype.to_arrow() else array.cast(dtype.to_arrow())


def _raw(array: pa.Array, dtype: np.dtype[Any], per_row: int = 1) -> npt.NDArray[Any]:
    """Return the values buffer as a numpy array; the values of nulls are undefined."""
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array) * per_row, dtype)
    start = array.offset * per_row * dtype.itemsize
    return np.frombuffer(buffer, dtype, len(array) * per_row, start)


def _zeroed(values: npt.NDArray[Any], nulls: Mask | None) -> npt.NDArray[Any]:
    """Return the values with zero for each null: equal rows must have equal bytes, because rows are hashed."""
    if nulls is None:
        return values
    values = values.copy()
    values[nulls] = 0
    return values


_NO_WORDS: Words = np.zeros(0, np.uint64)


def _fixed(slots: npt.NDArray[Any], nulls: Mask | None) -> Cells:
    return Cells(slots, nulls, 0, _NO_WORDS)


def _fine_timestamp(units: npt.NDArray[np.int64], per_milli: int, nulls: Mask | None) -> Cells:
    """Encode milliseconds, rounded down, into the variable part and the remaining nanoseconds into the slot.

    A null also reserves a variable word.
    """
    millis, rest = np.divmod(units, per_milli)
    nanos = rest * (1_000_000 // per_milli)
    return Cells(nanos.view(np.uint64), nulls, 1, millis.view(np.uint64))


def _wide_decimal(low: Words, high: Words, nulls: Mask | None) -> Cells:
    """Encode as big-endian two's complement of minimal length, left-aligned in 16 bytes; a null reserves 16 bytes as
    well.
    """
    sign = (high.view(np.int64) >> 63).view(np.uint64)
    bare_low, bare_high = low ^ sign, high ^ sign
    lengths = np.ones(len(low), np.uint64)
    for size in range(1, 16):
        # The length is one byte more if the magnitude uses the sign bit of `size` bytes.
        if size <= 8:
            lengths += (bare_high != 0) | (bare_low >= np.uint64(1 << (8 * size - 1)))
        else:
            lengths += bare_high >= np.uint64(1 << (8 * (size - 8) - 1))
    shift = np.uint64(128) - (lengths << np.uint64(3))
    words = np.empty((len(low), 2), np.uint64)
    words[:, 0] = _shift_left(low, high, shift).byteswap()
    words[:, 1] = np.where(shift < 64, low << shift, np.uint64(0)).byteswap()
    slots = lengths if nulls is None else np.where(nulls, np.uint64(0), lengths)
    return Cells(slots, nulls, 2, words.reshape(-1))


def _shift_left(low: Words, high: Words, shift: Words) -> Words:
    """Return the upper word of a 128-bit value shifted left by 0 to 127 bits."""
    near = (high << shift) | _right(low, np.uint64(64) - shift)
    return np.where(shift < 64, near, low << (shift & np.uint64(63)))


def _right(values: Words, shift: Words) -> Words:
    """Return ``values >> shift``; a shift of 64 or more returns 0."""
    return np.where(shift < 64, values >> (shift & np.uint64(63)), np.uint64(0))


def _text_cells(array: pa.Array, nulls: Mask | None) -> Cells:
    """Encode up to 7 bytes into the slot with the marker 0x80 | length, longer values into whole variable words."""
    ends = _raw_offsets(array)
    starts = ends[:-1] - ends[0]
    lengths = _zeroed(np.diff(ends), nulls)
    width = int(lengths[0]) if len(lengths) else 0
    if nulls is None and width > INLINE_BYTES and (lengths == width).all():
        words = _fixed_words(array, int(ends[0]), width)
        return Cells(lengths.astype(np.uint64), None, words.shape[1], words.reshape(-1))
    source = _aligned(array, int(ends[0]), int(ends[-1]))
    far = lengths > INLINE_BYTES
    if not far.any():
        return Cells(_inline(source, starts, lengths, nulls), nulls, 0, _NO_WORDS)
    counts = np.where(far, (lengths + 7) >> 3, 0)
    most = int(counts.max())
    if far.all():
        slots = lengths.astype(np.uint64)
    else:
        slots = np.where(far, lengths.view(np.uint64), _inline(source, starts, np.where(far, 0, lengths), nulls))
        starts, lengths = starts[far], lengths[far]
    words = _gather(source, starts, lengths)
    uniform = most == int(counts.min())
    return Cells(slots, nulls, most if uniform else counts, words)


def _fixed_words(array: pa.Array, start: int, width: int) -> Words:
    """Return the bytes of values that all have ``width`` bytes, 8 or more, one row of zero-padded words per value."""

    def word(at: int) -> Words:
        return np.ndarray((len(array),), "<u8", array.buffers()[2], start + at, (width,))

    words = np.empty((len(array), -(-width // 8)), np.uint64)
    for at in range(width // 8):
        words[:, at] = word(8 * at)
    if rest := width % 8:
        words[:, -1] = word(width - 8) >> np.uint64(64 - 8 * rest)
    return words


def _raw_offsets(array: pa.Array) -> Counts:
    """Return the n + 1 byte offsets of the values of a text or binary array in its data buffer."""
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array) + 1, np.int64)
    return np.frombuffer(buffer, "<i4", len(array) + 1, array.offset * 4).astype(np.int64)


def _aligned(array: pa.Array, start: int, end: int) -> Words:
    """Return the text bytes [start, end) as words, with padding for an unaligned load at ``end``."""
    words = np.zeros((end - start) // 8 + 2, np.uint64)
    if end > start:
        words.view(np.uint8)[: end - start] = np.frombuffer(array.buffers()[2], np.uint8, end - start, start)
    return words


def _load(source: Words, positions: Counts, sizes: Counts) -> Words:
    """Return one 8-byte word per position: it contains the ``sizes`` (0 to 8) bytes that start at the position, and
    zeros.
    """
    words = np.empty(len(positions), np.uint64)
    for a in range(0, len(words), _BLOCK_ROWS):
        b = a + _BLOCK_ROWS
        words[a:b] = _load_block(source, positions[a:b], sizes[a:b])
    return words


def _load_block(source: Words, positions: Counts, sizes: Counts) -> Words:
    index = positions >> 3
    shift = ((positions & 7) << 3).view(np.uint64)
    words: Words = source[index] >> shift
    # Two shifts of at most 63 bits each: a shift by 64 bits is undefined.
    words |= (source[index + 1] << (np.uint64(63) - shift)) << np.uint64(1)
    unused = ((8 - sizes) << 3).view(np.uint64)
    words &= (np.uint64(2**64 - 1) >> np.minimum(unused, np.uint64(63))) * (unused < 64)
    return words


def _inline(source: Words, starts: Counts, lengths: Counts, nulls: Mask | None) -> Words:
    """Return slots with the bytes of the values, at most 7, and the marker 0x80 | length in the last byte."""
    slots = _load(source, starts, lengths)
    slots |= (lengths.view(np.uint64) | np.uint64(0x80)) << np.uint64(56)
    return slots if nulls is None else np.where(nulls, np.uint64(0), slots)


def _gather(source: Words, starts: Counts, lengths: Counts) -> Words:
    """Return the bytes of each row in row order; each row is padded with zeros to whole words."""
    counts = (lengths + 7) >> 3
    if counts[0] <= _FEW_WORDS and (counts == counts[0]).all():
        return _gather_uniform(source, starts, lengths, int(counts[0]))
    before = (np.cumsum(counts) - counts) << 3
    at = np.arange(int(counts.sum()), dtype=np.int64) << 3
    left = np.repeat(lengths + before, counts) - at
    return _load(source, np.repeat(starts - before, counts) + at, np.minimum(left, 8))


def _gather_uniform(source: Words, starts: Counts, lengths: Counts, count: int) -> Words:
    """Return what ``_gather`` returns for rows that all have ``count`` words."""
    words = np.empty((len(starts), count), np.uint64)
    for a in range(0, len(words), _BLOCK_ROWS):
        b = a + _BLOCK_ROWS
        for at in range(0, 8 * count, 8):
            words[a:b, at >> 3] = _load_block(source, starts[a:b] + at, np.minimum(lengths[a:b] - at, 8))
    return words.reshape(-1)
