"""MurmurHash3 of bytes (32 bits, seed 0), which selects the directories of external paths, as in Guava (format 1.4).

Buckets use another variant of the hash, which ``codec.binary_row.bucket_hash`` computes for whole columns.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF


def murmur3(data: bytes) -> int:
    """Return the hash of ``data`` as an unsigned number; the loop is meant for single short texts."""
    state = 0
    end = len(data) & ~3
    for at in range(0, end, 4):
        state = _rotated(state ^ _mixed(int.from_bytes(data[at : at + 4], "little")), 13)
        state = (state * 5 + 0xE6546B64) & _MASK
    state ^= _mixed(int.from_bytes(data[end:], "little")) ^ len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ (state >> shift)) * factor) & _MASK
    return state ^ (state >> 16)


def _mixed(word: int) -> int:
    return (_rotated(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593) & _MASK


def _rotated(word: int, count: int) -> int:
    return (word << count | word >> (32 - count)) & _MASK
