"""Bucket hash: the Murmur hash of BinaryRow images, and the bucket of a row (format 6.2), for whole columns.

Rows of equal length are hashed directly from their columns, one word of all rows at a time. Rows of different lengths
are first written as images and ordered by length. Rows are processed in blocks that fit the processor's cache.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.codec.binary_row.cells import encode_column
from paimon_core.codec.binary_row.images import images_of, uniform_words
from paimon_core.errors import InvalidRequest
from paimon_core.types import DataType

Hashes = npt.NDArray[np.int32]
_U32 = npt.NDArray[np.uint32]

_SEED = 42
_BLOCK_ROWS = 1 << 15
_C1, _C2, _STEP = np.uint32(0xCC9E2D51), np.uint32(0x1B873593), np.uint32(0xE6546B64)


def hash_rows(columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]) -> Hashes:
    """Return the hash of each of the n rows of the columns, int32[n]; an empty array when there are no columns."""
    cells = [encode_column(c, t) for c, t in zip(columns, types, strict=True)]
    words = uniform_words(cells) if cells else None
    if words is None:
        return hash_images(*images_of(cells))
    rows, size = len(cells[0].slots), 8 * len(words)
    halves = [None if w is None else (w if w.flags.c_contiguous else w.copy()).view(np.uint32) for w in words]
    out = np.empty(rows, np.uint32)
    for a in range(0, rows, _BLOCK_ROWS):
        b = min(a + _BLOCK_ROWS, rows)
        hashes = np.full(b - a, _SEED, np.uint32)
        for half in halves:
            for at in (0, 1):
                _mix(hashes, None if half is None else half[2 * a + at : 2 * b : 2])
        out[a:b] = _finish(hashes, np.uint32(size))
    return out.view(np.int32)


def hash_images(flat: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> Hashes:
    """Return the hash of each row image, int32[n]; ``offsets``: n + 1 byte positions in ``flat``, multiples of 4."""
    words = flat.view(np.uint32)
    starts, counts = offsets[:-1] >> 2, np.diff(offsets) >> 2
    order = np.argsort(counts, kind="stable")[::-1]
    starts, counts = starts[order], counts[order]
    out = np.empty(len(counts), np.uint32)
    for a in range(0, len(counts), _BLOCK_ROWS):
        sizes, at = counts[a : a + _BLOCK_ROWS], starts[a : a + _BLOCK_ROWS]
        hashes = np.full(len(sizes), _SEED, np.uint32)
        # The longest rows come first, so the rows that have a word with the number `step` are the first `live` rows.
        for step, live in enumerate(np.searchsorted(-sizes, -np.arange(int(sizes[0])), side="left").tolist()):
            _mix(hashes[:live], words[at[:live] + step])
        out[order[a : a + _BLOCK_ROWS]] = _finish(hashes, (sizes << 2).astype(np.uint32))
    return out.view(np.int32)


def _mix(hashes: _U32, words: _U32 | None) -> None:
    """Add one 4-byte word of each row to the hash of the row, in place; None is a word of zeros."""
    if words is not None:
        mixed = words * _C1
        mixed = _rotated(mixed, 15)
        mixed *= _C2
        hashes ^= mixed
    hashes[:] = _rotated(hashes, 13)
    hashes *= np.uint32(5)
    hashes += _STEP


def _rotated(values: _U32, bits: int) -> _U32:
    """Return the values with their 32 bits rotated left."""
    out: _U32 = values << np.uint32(bits)
    out |= values >> np.uint32(32 - bits)
    return out


def _finish(hashes: _U32, sizes: _U32 | np.uint32) -> _U32:
    """Mix the row sizes in bytes into the hashes, then apply the finalizer of Murmur3 (fmix32), in place."""
    hashes ^= sizes
    hashes ^= hashes >> np.uint32(16)
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    hashes *= np.uint32(0xC2B2AE35)
    hashes ^= hashes >> np.uint32(16)
    return hashes


def bucket_of(hashes: Hashes, buckets: int) -> Hashes:
    """Return the bucket of each hash: the absolute value of the truncated remainder, int32[n] in [0, buckets).

    Raises InvalidRequest when ``buckets`` is less than 1.
    """
    if buckets < 1:
        raise InvalidRequest(f"the number of buckets must be 1 or more, not {buckets}", buckets=buckets)
    return np.abs(np.fmod(hashes, np.int32(buckets)))
