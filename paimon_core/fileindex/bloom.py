"""Bloom filter index: which values a file may contain (format 13.3).

The filter has no checksum, so a damaged bit in its body is not detected.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from paimon_core.fileindex.keys import Keys, bloom_hashes

_MOST_HASHES = 1 << 16


def write(keys: Keys, options: Mapping[str, Any]) -> bytes:
    """Return the bytes of the index.

    Uses the options ``items`` (expected number of values) and ``fpp`` (false positive rate).
    """
    items, fpp = options["items"], options["fpp"]
    wanted = int(-items * math.log(fpp) / (math.log(2) * math.log(2)))
    bits = wanted + (8 - wanted % 8)
    count = max(1, math.floor(bits / items * math.log(2) + 0.5))
    flat = np.zeros(bits, np.bool_)
    hashes = bloom_hashes(keys)
    for number in range(1, count + 1):
        flat[_positions(hashes, number, bits)] = True
    return struct.pack(">i", count) + np.packbits(flat, bitorder="little").tobytes()


def may_contain(payload: bytes, keys: Keys) -> npt.NDArray[np.bool_]:
    """Return for each key whether the file may contain it; raises ValueError or struct.error for a bad payload."""
    (count,) = struct.unpack_from(">i", payload)
    bits = (len(payload) - 4) * 8
    if not 1 <= count <= _MOST_HASHES or not 0 < bits < 1 << 31:
        raise ValueError(f"a bloom filter has {count} hash functions and {bits} bits")
    flat = np.frombuffer(payload, np.uint8, offset=4)
    hashes = bloom_hashes(keys)
    out = np.ones(len(hashes), np.bool_)
    for number in range(1, count + 1):
        at = _positions(hashes, number, bits)
        out &= (flat[at >> 3] >> (at & 7).astype(np.uint8)) & 1 != 0
        if not out.any():
            break
    return out


def _positions(hashes: npt.NDArray[np.uint64], number: int, bits: int) -> npt.NDArray[np.int32]:
    one = hashes.astype(np.uint32).view(np.int32)
    two = (hashes >> np.uint64(32)).astype(np.uint32).view(np.int32)
    mixed = one + np.int32(number) * two
    out: npt.NDArray[np.int32] = np.where(mixed < 0, ~mixed, mixed) % np.int32(bits)
    return out
