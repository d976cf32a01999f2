"""Hashes of whole columns: the bloom filter's hashes, and Java's hash codes of values (format 13.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

U64 = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(p)
    for p in (
        11400714785074694791,
        14029467366897019727,
        1609587929392839161,
        9650029242287828579,
        2870177450012600261,
    )
)
_C1, _C2, _STEP = np.uint32(0xCC9E2D51), np.uint32(0x1B873593), np.uint32(0xE6546B64)


def long_hashes(values: Ints) -> U64:
    """Return the hash of each int64 value (Thomas Wang's hash with signed shifts)."""
    k = values.astype(np.int64)
    k = ~k + (k << 21)
    k ^= k >> 24
    k = (k + (k << 3)) + (k << 8)
    k ^= k >> 14
    k = (k + (k << 2)) + (k << 4)
    k ^= k >> 28
    k = k + (k << 31)
    out: U64 = k.view(np.uint64)
    return out


def binary_hashes(array: pa.Array) -> U64:
    """Return the xxHash64 (seed 0) of each value of a binary array without nulls."""
    data, at, left = _pieces(array)
    words, halves = _view(data, "<u8"), _view(data, "<u4")
    sizes = left.astype(np.uint64)
    out: Any = np.full(len(at), _P5, np.uint64)
    long = np.flatnonzero(left >= 32)
    if len(long):
        out[long] = _stripes(words, at, left, long)
    out += sizes
    at, left = at + (left // 32) * 32, left % 32
    for some in _active(left, 8):
        out[some] = _rotl(out[some] ^ _round(np.uint64(0), words[at[some]]), 27) * _P1 + _P4
        at[some] += 8
        left[some] -= 8
    for some in _active(left, 4):
        out[some] = _rotl(out[some] ^ halves[at[some]].astype(np.uint64) * _P1, 23) * _P2 + _P3
        at[some] += 4
        left[some] -= 4
    for some in _active(left, 1):
        out[some] = _rotl(out[some] ^ data[at[some]].astype(np.uint64) * _P5, 11) * _P1
        at[some] += 1
        left[some] -= 1
    out ^= out >> np.uint64(33)
    out *= _P2
    out ^= out >> np.uint64(29)
    out *= _P3
    out ^= out >> np.uint64(32)
    hashes: U64 = out
    return hashes


def _stripes(words: U64, at: Ints, left: Ints, rows: Ints) -> U64:
    """Return the hash state after all whole stripes (32 bytes each) of ``rows``."""
    zero = np.zeros(len(rows), np.uint64)
    state = [zero + _P1 + _P2, zero + _P2, zero.copy(), zero - _P1]
    start, counts = at[rows], left[rows] // 32
    for step in range(int(counts.max())):
        live = np.flatnonzero(counts > step)
        for lane in range(4):
            state[lane][live] = _round(state[lane][live], words[start[live] + 32 * step + 8 * lane])
    out = _rotl(state[0], 1) + _rotl(state[1], 7) + _rotl(state[2], 12) + _rotl(state[3], 18)
    for done in state:
        out = (out ^ _round(np.uint64(0), done)) * _P1 + _P4
    return out


def _round(state: Any, words: Any) -> U64:
    return _rotl(state + words * _P2, 31) * _P1


def _rotl(values: Any, bits: int) -> U64:
    out: U64 = (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))
    return out


def binary_hash_codes(array: pa.Array) -> npt.NDArray[np.int32]:
    """Return Java's hash code of each text of an array without nulls.

    The hash is Murmur over words of 4 bytes, then over the remaining bytes, each as a signed integer.
    """
    data, at, left = _pieces(array)
    halves = _view(data, "<u4")
    sizes = left.astype(np.uint32)
    out = np.full(len(at), 42, np.uint32)
    for some in _active(left, 4):
        out[some] = _mix(out[some], halves[at[some]])
        at[some] += 4
        left[some] -= 4
    for some in _active(left, 1):
        out[some] = _mix(out[some], data[at[some]].view(np.int8).astype(np.int32).view(np.uint32))
        at[some] += 1
        left[some] -= 1
    out ^= sizes
    out ^= out >> np.uint32(16)
    out *= np.uint32(0x85EBCA6B)
    out ^= out >> np.uint32(13)
    out *= np.uint32(0xC2B2AE35)
    out ^= out >> np.uint32(16)
    return out.view(np.int32)


def _mix(hashes: npt.NDArray[np.uint32], words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    mixed = words * _C1
    mixed = (mixed << np.uint32(15)) | (mixed >> np.uint32(17))
    hashes = hashes ^ (mixed * _C2)
    hashes = (hashes << np.uint32(13)) | (hashes >> np.uint32(19))
    out: npt.NDArray[np.uint32] = hashes * np.uint32(5) + _STEP
    return out


def _pieces(array: pa.Array) -> tuple[npt.NDArray[np.uint8], Ints, Ints]:
    """Return the bytes of a binary array (padded for loads of 8 bytes), and the start and the size of each value."""
    _, offsets, values = array.buffers()
    ends = np.frombuffer(offsets, "<i4", len(array) + 1, array.offset * 4).astype(np.int64)
    first, last = int(ends[0]), int(ends[-1])
    data = np.zeros(last - first + 8, np.uint8)
    if last > first:
        data[: last - first] = np.frombuffer(values, np.uint8, last - first, first)
    return data, ends[:-1] - first, np.diff(ends)


def _view(data: npt.NDArray[np.uint8], dtype: str) -> npt.NDArray[Any]:
    """Return for each byte the word of type ``dtype`` that begins at this byte."""
    kind = np.dtype(dtype)
    return np.ndarray((len(data) - kind.itemsize + 1,), kind, data, strides=(1,))


def _active(left: Ints, width: int) -> Any:
    """Yield the rows with at least ``width`` unread bytes until none is left; the caller consumes ``width`` bytes."""
    some = np.flatnonzero(left >= width)
    while len(some):
        yield some
        some = some[left[some] >= width]
