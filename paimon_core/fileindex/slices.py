"""Bit slices: one bitmap for each bit of the values of a column, as bsi and range-bitmap indexes store them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from paimon_core.codec import roaring
from paimon_core.codec.arrays import Mask


def encode_slices(rows: npt.NDArray[np.int64], values: npt.NDArray[Any], count: int) -> list[bytes]:
    """Return the bitmaps of bits 0 to ``count`` - 1 of the values of ascending ``rows``."""
    unsigned = values.astype(np.uint64)
    picked = [rows[unsigned & np.uint64(1 << bit) != 0] for bit in range(count)]
    starts = np.concatenate(([0], np.cumsum([len(p) for p in picked]))).astype(np.int64)
    flat, ends = roaring.encode_groups(np.concatenate(picked) if picked else rows[:0], starts)
    return [flat[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def add_slice(values: npt.NDArray[np.uint64], exists: Mask, bit: int, mask: Mask) -> None:
    """Add bit number ``bit`` to the values of the rows in ``mask``; raises ValueError when a row has no value."""
    if (mask & ~exists).any():
        raise ValueError(f"bit slice {bit} has rows without a value")
    values[mask] |= np.uint64(1 << bit)
