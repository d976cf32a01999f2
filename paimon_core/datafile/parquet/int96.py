"""INT96 timestamps: converts 12 little-endian bytes, nanoseconds of the day and Julian day (format 7.7).

Parquet libraries convert INT96 to 64-bit nanoseconds, which overflow silently for years before 1677 and after 2262.
These libraries write either all timestamps of a file as INT96 or none. Therefore ``parquet.footer`` presents INT96
values to Arrow as plain 12-byte values, and this module converts the values exactly, inside of nested columns as well.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.datafile.evolution.nested_arrays import assembled, parts, rebuilt, whole, without_hidden_nulls
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import STRUCT_ROOTS, TIMESTAMP_ROOTS, DataType

INT96_AS_BYTES = pa.binary(12)

_JULIAN_EPOCH = 2_440_588
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_NANOS = {"ms": 1_000_000, "us": 1_000, "ns": 1}
_LAYOUT = np.dtype([("nanos", "<i8"), ("day", "<i4")])


def is_int96(dtype: DataType) -> bool:
    """Whether Parquet files store this type as INT96: TIMESTAMP(7) to (9), with or without time zone."""
    return dtype.root in TIMESTAMP_ROOTS and dtype.timestamp_unit == "ns"


def holds_int96(dtype: DataType) -> bool:
    """Whether Parquet files store this type, or one of its members, as INT96."""
    return is_int96(dtype) or any(holds_int96(child.type) for child in dtype.children)


def with_int96(array: pa.Array, stored: pa.DataType) -> pa.Array:
    """Return a column, nested or not, as the type ``stored``, which has 12-byte values for its timestamps."""
    return without_hidden_nulls(rebuilt(array, stored, lambda leaf, kind: int96_from_timestamps(leaf)))


def without_int96(array: pa.Array, dtype: DataType, column: str) -> pa.Array:
    """Return a decoded column with its 12-byte values as the timestamps of ``dtype``.

    Raises UnsupportedFeature, which names the column, for a timestamp outside the range of its type.
    """
    if array.type == INT96_AS_BYTES and dtype.root in TIMESTAMP_ROOTS:
        return int96_to_timestamps(array, dtype, column)
    if not _holds_bytes(array.type):
        return array
    array = whole(array)
    members = parts(array, array.type)
    if dtype.root in STRUCT_ROOTS:
        kinds = {child.name: child.type for child in dtype.children}
        wanted = [kinds.get(field.name) for field in array.type]
    else:
        wanted = [child.type for child in dtype.children]
    inner = [m if k is None else without_int96(m, k, column) for m, k in zip(members, wanted, strict=True)]
    return assembled(array, inner, _with_members(array.type, [part.type for part in inner]))


def _holds_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return _holds_bytes(kind.key_type) or _holds_bytes(kind.item_type)
    return kind == INT96_AS_BYTES or any(_holds_bytes(kind.field(at).type) for at in range(kind.num_fields))


def _with_members(kind: pa.DataType, inner: list[pa.DataType]) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(new) for field, new in zip(kind, inner, strict=True)])
    if pa.types.is_map(kind):
        return pa.map_(inner[0], kind.item_field.with_type(inner[1]))
    return pa.list_(kind.value_field.with_type(inner[0]))


def int96_from_timestamps(array: pa.Array) -> pa.Array:
    """Convert timestamp[ns] to 12-byte values."""
    raw = np.zeros(len(array), _LAYOUT)
    nanos = array.cast(pa.int64()).fill_null(0).to_numpy()
    days, raw["nanos"] = np.divmod(nanos, _PER_DAY["ns"])
    raw["day"] = days + _JULIAN_EPOCH
    validity = pa.array(array.is_valid()).buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(INT96_AS_BYTES, len(array), [validity, pa.py_buffer(raw)], array.null_count)


def int96_to_timestamps(array: pa.Array, dtype: DataType, column: str) -> pa.Array:
    """Convert 12-byte values to ``dtype.to_arrow()``, rounded towards the past if the type is coarser.

    Raises UnsupportedFeature, which names the column, for a value outside the range of the unit.
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
            f"column {column!r} contains a timestamp outside the range of {dtype.to_arrow()}; "
            "nanoseconds cover the years 1677 to 2262, scan(timestamps_in_micros=True) reads other years",
            column=column,
        )
    return pa.array(days * per_day + rest, mask=~valid).cast(dtype.to_arrow())
