"""ORC columns: refuses types and timestamps that ORC files of Paimon or Arrow's library do not support (format 7.9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.datafile.evolution.nested_arrays import assembled, parts, whole
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

LEGACY_LTZ = "orc.timestamp-ltz.legacy.type"

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NANOS = 1 << 63
_SECOND, _MILLI = 10**9, 10**6
_FARTHEST = 16 * 3600 * _SECOND
"""A duration in nanoseconds that is greater than the offset of any time zone from UTC."""


def leaves(dtype: DataType) -> Iterator[DataType]:
    """Yield the types inside ``dtype`` that are not nested; ``dtype`` itself if it is not nested."""
    if dtype.root not in NESTED_ROOTS:
        yield dtype
    for child in dtype.children:
        yield from leaves(child.type)


def check_columns(fields: Sequence[DataField], *, legacy_ltz: bool) -> None:
    """Raise UnsupportedFeature, which names the column, for columns that ORC files cannot store.

    These are columns of type VARIANT, which Java does not store in ORC files, and timestamps that this version of
    pyarrow reads wrongly, or that are supported only in the time zone UTC.
    """
    for field in fields:
        roots = {leaf.root for leaf in leaves(field.type)}
        if _has_variant(field.type):
            raise UnsupportedFeature(f"column {field.name!r}: ORC has no type VARIANT", column=field.name)
        if roots & TIMESTAMP_ROOTS and not _refuses_far_timestamps():
            raise UnsupportedFeature(
                f"column {field.name!r}: this version of pyarrow ({pa.__version__}) reads timestamps outside the years "
                "1678 to 2261 wrongly from ORC files; use pyarrow 26 or later",
                column=field.name,
            )
        if TypeRoot.TIMESTAMP_LTZ in roots and legacy_ltz and (time.timezone or time.daylight):
            raise UnsupportedFeature(
                f"column {field.name!r}: under {LEGACY_LTZ} = true, ORC files hold TIMESTAMP WITH LOCAL TIME ZONE as "
                f"local times, which is supported in the time zone UTC only, not in {time.tzname[0]}",
                column=field.name,
            )


def _has_variant(dtype: DataType) -> bool:
    return dtype.root is TypeRoot.VARIANT or any(_has_variant(child.type) for child in dtype.children)


@cache
def _refuses_far_timestamps() -> bool:
    """Whether this pyarrow refuses timestamps that do not fit nanoseconds; older versions return wrong values."""
    import pyarrow.orc as orc

    sink = pa.BufferOutputStream()
    orc.write_table(pa.table({"t": pa.array([2**62], pa.timestamp("us"))}), sink)
    try:
        orc.read_table(pa.BufferReader(sink.getvalue()))
    except pa.ArrowInvalid:
        return True
    return False


def check_values(array: pa.Array, column: str) -> None:
    """Raise InvalidRequest, which names the column, for a timestamp that would not be read back unchanged.

    Arrow reads nanoseconds since 1970 as 64 bits. For times before 1970, Arrow writes fractions of a millisecond in a
    form that other readers do not understand.
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
            f"column {column!r}: timestamps in ORC files must be between the years 1678 and 2261; "
            "use another file.format for other years",
            column=column,
        )
    if ends["min"] < 0 and per_second > 1000:
        found = numbers.to_numpy()
        if np.any(found[found < 0] % (per_second // 1000)):
            raise InvalidRequest(
                f"column {column!r}: timestamps before 1970 in ORC files must be whole milliseconds; "
                "use another file.format for finer times",
                column=column,
            )


def as_java_reads(array: pa.Array, dtype: DataType, offset: Callable[[], int]) -> pa.Array:
    """Return a decoded column; timestamps without zone that Arrow has moved by a second are corrected.

    For a time before 1970, a writer stores the seconds, rounded up, and the fraction of a second. When the fraction is
    at least a millisecond, readers subtract a second: Java for times before 1970 in UTC, Arrow for times before 1970 in
    the time zone of the writer. So Java and Arrow return different times between these two moments. ``offset`` returns
    the seconds from UTC to the time zone of the writer; it is called only for an array with such a time near 1970.
    """
    if all(leaf.root not in TIMESTAMP_ROOTS for leaf in leaves(dtype)):
        return array
    if dtype.root in TIMESTAMP_ROOTS:
        return array if array.type.tz is not None else _moved(array, offset)
    array = whole(array)
    inner = zip(parts(array, array.type), dtype.children, strict=True)
    return assembled(array, [as_java_reads(part, child.type, offset) for part, child in inner], array.type)


def _moved(array: pa.Array, offset: Callable[[], int]) -> pa.Array:
    numbers = array.cast(pa.timestamp("ns")).cast(pa.int64())
    found = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    near = (found > -_FARTHEST) & (found < _FARTHEST)
    if not near.any() or not (near := near & (found % _SECOND >= _MILLI)).any():
        return array
    east, seconds = offset(), found // _SECOND
    early = near & (seconds >= east - 1) & (seconds < -1)
    late = near & (seconds >= 0) & (seconds < east)
    moved = pa.array(found + _SECOND * early - _SECOND * late, pa.int64())
    return pc.if_else(numbers.is_valid(), moved, None).cast(pa.timestamp("ns")).cast(array.type)


def offset_of(zones: Collection[str]) -> int:
    """Return the offset of the time ``zones`` of writers from UTC in 1970, in seconds.

    Raises ValueError unless all zones have the same offset.
    """
    found = {_offset(zone) for zone in zones}
    if len(found) != 1:
        raise ValueError(f"its stripes state the zones {sorted(zones)}")
    return found.pop()


def _offset(zone: str) -> int:
    if zone in ("GMT", "UTC"):
        return 0
    try:
        away = datetime.fromtimestamp(0, UTC).astimezone(ZoneInfo(zone)).utcoffset()
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"its writer states the zone {zone!r}: {error}") from None
    return 0 if away is None else int(away.total_seconds())
