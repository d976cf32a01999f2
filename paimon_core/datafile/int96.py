"""INT96 timestamps: 8 bytes of nanoseconds of the day and 4 of Julian day, little-endian (format 7.7).

Parquet libraries hold INT96 as 64 bits of nanoseconds, where years before 1677 and after 2262 wrap around unnoticed,
and write it in all of a file's timestamps or none. So Parquet is told that these columns are plain 12-byte values, in
the footer that it reads and until the last footer that is written; the values are converted here, exactly.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.datafile.thrift import I32, Struct, parse_struct, serialize_struct
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import TIMESTAMP_ROOTS, DataType

INT96_AS_BYTES = pa.binary(12)

_MAGIC = b"PAR1"
_LENGTH_BYTES = 4
_INT96, _FIXED_BYTES = (I32, 3), (I32, 7)
_WIDTH = (I32, 12)
_JULIAN_EPOCH = 2_440_588
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_NANOS = {"ms": 1_000_000, "us": 1_000, "ns": 1}
_LAYOUT = np.dtype([("nanos", "<i8"), ("day", "<i4")])


def is_int96(dtype: DataType) -> bool:
    """Whether data files hold a column of this type as INT96: TIMESTAMP(7) to (9), with or without time zone."""
    return dtype.root in TIMESTAMP_ROOTS and dtype.timestamp_unit == "ns"


# -- values ------------------------------------------------------------------------------------------------------------


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
    most = 2**63 // per_day - 1
    if days.min() < -most or days.max() > most:
        raise UnsupportedFeature(
            f"column {column!r} holds a timestamp that {dtype.to_arrow()} cannot; nanoseconds go from 1677 to 2262",
            column=column,
        )
    return pa.array(days * per_day + rest, mask=~valid).cast(dtype.to_arrow())


# -- footers -----------------------------------------------------------------------------------------------------------


def int96_columns(footer: pq.FileMetaData) -> set[str]:
    """The names of the INT96 columns."""
    columns = (footer.schema.column(n) for n in range(footer.num_columns))
    return {c.name for c in columns if c.physical_type == "INT96"}


def read_footer_with_bytes(source: pa.NativeFile) -> pq.FileMetaData:
    """The footer of a file with its INT96 columns as 12-byte values; raises ValueError for one that does not decode."""
    size = source.size()
    length = int.from_bytes(source.read_at(_LENGTH_BYTES, size - _LENGTH_BYTES - len(_MAGIC)), "little")
    tree = parse_struct(source.read_at(length, size - length - _LENGTH_BYTES - len(_MAGIC)))
    _retype(tree, _INT96, {1: _FIXED_BYTES, 2: _WIDTH}, int96_columns(pq.read_metadata(source)))
    return pq.read_metadata(pa.BufferReader(_MAGIC + _footer_bytes(tree)))


def footer_with_int96(footer: pq.FileMetaData, columns: Collection[str]) -> bytes:
    """What to append to a file of 12-byte values to make these columns INT96: another footer, and the last one counts.

    Raises ValueError for a footer that does not decode.
    """
    sink = pa.BufferOutputStream()
    footer.write_metadata_file(sink)
    tree = parse_struct(sink.getvalue().to_pybytes()[len(_MAGIC) :])
    _retype(tree, _FIXED_BYTES, {1: _INT96}, columns)
    return _footer_bytes(tree)


def _retype(footer: Struct, old: tuple[int, Any], new: Struct, columns: Collection[str]) -> None:
    """Change the physical type of ``columns`` where it is ``old``: in the schema and in every column chunk."""
    try:
        leaves = [element for element in footer[2][1][1] if 1 in element]
        chosen = [n for n, e in enumerate(leaves) if e[1] == old and e[4][1].decode() in columns]
        for number in chosen:
            leaves[number].pop(2, None)
            leaves[number].update(new)
        for group in footer[4][1][1]:
            for number in chosen:
                group[1][1][1][number][3][1][1] = new[1]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"the footer lacks a part: {error!r}") from None


def _footer_bytes(footer: Struct) -> bytes:
    data = serialize_struct(footer)
    return data + len(data).to_bytes(_LENGTH_BYTES, "little") + _MAGIC
