"""Epochs: dates, times and timestamps that events write as numbers, converted without loss to the types of a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.types import DataType, TypeRoot
from paimon_lake.sources.files.text.text_values import Converted

TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of each unit make one second."""
_DAYS = (-719_162, 2_932_897)
"""The first valid day, and the day after the last valid day: the valid years are 1 to 9999, as for texts."""
_SECONDS = {"": (-62_135_596_800, 253_402_300_800), "ns": (-(2**63) // 10**9 + 1, 2**63 // 10**9)}


def from_epoch(numbers: pa.Array, kind: DataType, unit: str) -> Converted:
    """Convert 64-bit integers to a DATE (days since 1970-01-01), or to a TIME or TIMESTAMP that counts ``unit``.

    The flags mark numbers with more digits than the type, and numbers outside of the years 1 to 9999, for a TIME
    outside of one day.
    """
    valid = np.asarray(numbers.is_valid().to_numpy(zero_copy_only=False))
    values = np.asarray(numbers.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)
    if kind.root is TypeRoot.DATE:
        good = (values >= _DAYS[0]) & (values < _DAYS[1])
        return _masked(values.astype(np.int32), valid, good, pa.int32(), kind)
    ticks = TICKS[unit]
    exact = values % max(1, ticks // 10 ** min(kind.precision, 9)) == 0
    if kind.root is TypeRoot.TIME:
        good = exact & (values % (ticks // 1000) == 0) & (values >= 0) & (values < 86_400 * ticks)
        return _masked((values // (ticks // 1000)).astype(np.int32), valid, good, pa.int32(), kind)
    first, end = _SECONDS["ns" if kind.timestamp_unit == "ns" else ""]
    good = exact & (values // ticks >= first) & (values // ticks < end)
    out = TICKS[kind.timestamp_unit]
    values = np.where(good, values, 0)
    values = values * (out // ticks) if out >= ticks else values // (ticks // out)
    return _masked(values, valid, good, pa.int64(), kind)


def _masked(values: np.ndarray, valid: np.ndarray, good: np.ndarray, stored: pa.DataType, kind: DataType) -> Converted:
    bad = valid & ~good
    if not len(values):
        return pa.nulls(0, kind.to_arrow()), None
    return pa.array(values, stored, mask=~valid | bad).cast(kind.to_arrow()), bad if bad.any() else None
