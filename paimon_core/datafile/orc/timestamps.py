"""What Arrow's ORC reader and writer cannot do with timestamps, refused by name (format 7.9)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

LEGACY_LTZ = "orc.timestamp-ltz.legacy.type"

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NANOS = 1 << 63


def leaves(dtype: DataType) -> Iterator[DataType]:
    """The types in ``dtype`` that are not nested."""
    if dtype.root not in NESTED_ROOTS:
        yield dtype
    for child in dtype.children:
        yield from leaves(child.type)


def check_columns(fields: Sequence[DataField], *, legacy_ltz: bool) -> None:
    """Raises UnsupportedFeature naming a column with timestamps that are not read or written rightly here."""
    for field in fields:
        roots = {leaf.root for leaf in leaves(field.type)}
        if roots & TIMESTAMP_ROOTS and not _refuses_far_timestamps():
            raise UnsupportedFeature(
                f"column {field.name!r}: this pyarrow ({pa.__version__}) reads wrong timestamps of far years from ORC "
                "files; pyarrow 26 does not",
                column=field.name,
            )
        if TypeRoot.TIMESTAMP_LTZ in roots and legacy_ltz and (time.timezone or time.daylight):
            raise UnsupportedFeature(
                f"column {field.name!r}: under {LEGACY_LTZ} = true, ORC files hold TIMESTAMP WITH LOCAL TIME ZONE as "
                f"local times, which is supported in the time zone UTC only, not in {time.tzname[0]}",
                column=field.name,
            )


@cache
def _refuses_far_timestamps() -> bool:
    """Whether this pyarrow refuses what is no timestamp in nanoseconds; older ones give another instead."""
    import pyarrow.orc as orc

    sink = pa.BufferOutputStream()
    orc.write_table(pa.table({"t": pa.array([2**62], pa.timestamp("us"))}), sink)
    try:
        orc.read_table(pa.BufferReader(sink.getvalue()))
    except pa.ArrowInvalid:
        return True
    return False


def check_values(array: pa.Array, column: str) -> None:
    """Raises InvalidRequest naming the column for a timestamp that would not be read again as it is.

    Arrow reads nanoseconds since 1970 in 64 bits, and before 1970 it writes parts of a millisecond as no other reader
    takes them.
    """
    dtype = array.type
    inner: list[pa.Array] = []
    if pa.types.is_struct(dtype):
        inner = array.flatten()
    elif pa.types.is_map(dtype):
        inner = [array.keys, array.items]
    elif pa.types.is_list(dtype):
        inner = [array.flatten()]
    for child in inner:
        check_values(child, column)
    if pa.types.is_timestamp(dtype) and len(array) > array.null_count:
        _check_values(array.drop_null().cast(pa.int64()), _PER_SECOND[dtype.unit], column)


def _check_values(numbers: pa.Array, per_second: int, column: str) -> None:
    ends = pc.min_max(numbers).as_py()
    scale = _PER_SECOND["ns"] // per_second
    if not -_NANOS <= ends["min"] * scale <= ends["max"] * scale < _NANOS:
        raise InvalidRequest(
            f"column {column!r}: the timestamps of ORC files lie between the years 1678 and 2261 here: "
            "another file.format holds more",
            column=column,
        )
    if ends["min"] < 0 and per_second > 1000:
        found = numbers.to_numpy()
        if np.any(found[found < 0] % (per_second // 1000)):
            raise InvalidRequest(
                f"column {column!r}: the timestamps of ORC files before 1970 are whole milliseconds here: "
                "another file.format holds finer ones",
                column=column,
            )
