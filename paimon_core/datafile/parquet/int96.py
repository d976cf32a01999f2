"""INT96 timestamps: 8 bytes of nanoseconds of the day and 4 of Julian day, little-endian (format 7.7).

Parquet libraries hold INT96 as 64 bits of nanoseconds, where years before 1677 and after 2262 wrap around unnoticed,
and write it in all of a file's timestamps or none. So Parquet is told that these columns are plain 12-byte values
(``datafile.footer``), and the values are converted here, exactly.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.errors import UnsupportedFeature
from paimon_core.types import TIMESTAMP_ROOTS, DataType

INT96_AS_BYTES = pa.binary(12)

_JULIAN_EPOCH = 2_440_588
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_NANOS = {"ms": 1_000_000, "us": 1_000, "ns": 1}
_LAYOUT = np.dtype([("nanos", "<i8"), ("day", "<i4")])


def is_int96(dtype: DataType) -> bool:
    """Whether data files hold a column of this type as INT96: TIMESTAMP(7) to (9), with or without time zone."""
    return dtype.root in TIMESTAMP_ROOTS and dtype.timestamp_unit == "ns"


def int96_from_timestamps(array: pa.Array) -> pa.Array:
    """timestamp[ns] as 12-byte values."""
    raw = np.zeros(len(array), _LAYOUT)
    nanos = array.cast(pa.int64()).fill_null(0).to_numpy()
    days, raw["nanos"] = np.divmod(nanos, _PER_DAY["ns"])
    raw["day"] = days + _JULIAN_EPOCH
    validity = pa.array(array.is_valid()).buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(INT96_AS_BYTES, len(array), [validity, pa.py_buffer(raw)], array.null_count)


def int96_to_timestamps(array: pa.Array, dtype: DataType, column: str) -> pa.Array:
    """12-byte values as ``dtype.to_arrow()``, cut towards the past where the type is coarser.

    Raises UnsupportedFeature naming the column for a year that the unit cannot hold.
    """
    if not len(array):
        return pa.array([], dtype.to_arrow())
    raw = np.frombuffer(array.buffers()[1], _LAYOUT, len(array), array.offset * _LAYOUT.itemsize)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    per_day = _PER_DAY[dtype.timestamp_unit]
    carry, rest = np.divmod(raw["nanos"] // _NANOS[dtype.timestamp_unit], per_day)
    days = np.where(valid, raw["day"].astype(np.int64) - _JULIAN_EPOCH + carry, 0)
    rest = np.where(valid, rest, 0)
    (first_day, first), (last_day, last) = divmod(-(2**63), per_day), divmod(2**63 - 1, per_day)
    before = (days < first_day) | ((days == first_day) & (rest < first))
    if np.any(before | (days > last_day) | ((days == last_day) & (rest > last))):
        raise UnsupportedFeature(
            f"column {column!r} holds a timestamp that {dtype.to_arrow()} cannot; nanoseconds go from 1677 to 2262",
            column=column,
        )
    return pa.array(days * per_day + rest, mask=~valid).cast(dtype.to_arrow())
