"""digests: hashes of many texts of one buffer, and copies of texts of one length; both work on columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from paimon_core.codec.avro.columns import Mask, Numbers, Offsets

_COPIED = 1 << 20
_DIGESTED = 1 << 12
"""The hash of a span is computed from this number of bytes at its start."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_ALL_BITS = (1 << 64) - 1
_HIGH_BITS = np.uint64(0x8080808080808080)


def digests(data: bytes, starts: Offsets, lengths: Offsets) -> tuple[Numbers, Mask]:
    """Return a hash of the first bytes of each span, and whether the span is short and all of its bytes are ASCII.

    ``data`` has at least eight bytes after the last span.
    """
    if len(lengths) and 0 < int(lengths[0]) <= _DIGESTED and bool((lengths == lengths[0]).all()):
        return _digests_of_equal_lengths(data, starts, int(lengths[0]))
    words = np.ndarray((max(len(data) - 7, 0),), np.dtype("<u8"), data, strides=(1,))
    out = lengths.astype(np.uint64) * _MIX
    high = np.zeros(len(starts), np.uint64)
    at, left, lanes = starts.astype(np.int64), np.minimum(lengths, _DIGESTED), np.arange(len(starts))
    while (some := left > 0).any():
        if not some.all():
            at, left, lanes = at[some], left[some], lanes[some]
        word = words[at]
        short = np.flatnonzero(left < 8)
        word[short] &= (np.uint64(1) << (left[short] * 8).astype(np.uint64)) - np.uint64(1)
        if len(lanes) == len(out):
            high |= word
            out = _mixed(out, word)
        else:
            high[lanes] |= word
            out[lanes] = _mixed(out[lanes], word)
        at, left = at + 8, left - 8
    return out.view(np.int64), ((high & _HIGH_BITS) == 0) & (lengths <= _DIGESTED)


def _digests_of_equal_lengths(data: bytes, starts: Offsets, length: int) -> tuple[Numbers, Mask]:
    """Return what ``digests`` returns; each span is copied at once, because spans are far apart."""
    out = np.full(len(starts), np.uint64(length * int(_MIX) & _ALL_BITS))
    high = np.zeros(len(starts), np.uint64)
    for first, rows in rows_of(data, starts, 8 * -(-length // 8)):
        words = rows.view("<u8")
        if length % 8:
            words[:, -1] &= np.uint64((1 << 8 * (length % 8)) - 1)
        some, bits = out[first : first + len(rows)], high[first : first + len(rows)]
        for number in range(words.shape[1]):
            word = words[:, number]
            bits |= word
            some ^= word
            some *= _MIX
            some ^= some >> np.uint64(29)
    return out.view(np.int64), (high & _HIGH_BITS) == 0


def rows_of(data: bytes, starts: Offsets, width: int) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
    """Yield the ``width`` bytes from each start on as rows of arrays, each with the number of its first row.

    An array has about ``_COPIED`` bytes. All these bytes must be in the data.
    """
    if not len(starts):
        return
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data, np.uint8), width)
    step = max(1, _COPIED // width)
    for first in range(0, len(starts), step):
        yield first, np.ascontiguousarray(windows[starts[first : first + step]])


def _mixed(out: npt.NDArray[np.uint64], word: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    out = (out ^ word) * _MIX
    out ^= out >> np.uint64(29)
    return out
