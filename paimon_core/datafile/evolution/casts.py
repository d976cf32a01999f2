"""Casts: converts columns of files with an older schema to their current type (format 2.3).

``check_cast`` returns the cast between two table types, or raises UnsupportedFeature before data is read. Values follow
Java's rules: integers wrap around, the fraction of floats is cut off, decimals are rounded half up and become null when
they have too many digits, digits of times are cut off (some casts round towards the past, others towards zero), texts
and binaries are cut to the new length. If a value cannot be converted, such as the text "x" to a number, the cast
raises pa.ArrowInvalid. Casts between a TIMESTAMP WITH LOCAL TIME ZONE and other types use the local time zone in Java;
these casts are supported in the time zone UTC only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import labelled
from paimon_core.datafile.evolution.nested_arrays import assembled, parts, whole
from paimon_core.datafile.evolution.text_casts import (
    decimal_texts,
    from_text,
    nested_to_text,
    of_length,
    scalar_to_text,
    times_to_text,
)
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import BINARY_ROOTS, STRING, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

Cast = Callable[[pa.Array, DataType, DataType], pa.Array]

_INTEGERS = {r: n for n, r in enumerate((TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT))}
_FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_NUMERIC = frozenset({*_INTEGERS, *_FLOATS, TypeRoot.DECIMAL})
_PARTED = frozenset({TypeRoot.ARRAY, TypeRoot.MAP, TypeRoot.ROW})
"""The nested types that have casts."""
_WIDE = pa.decimal256(76, 38)
"""Represents every DECIMAL(38, s) exactly."""
_FLOAT_SCALE = 20
"""The highest DECIMAL scale to which floats are cast: smaller doubles have more digits than ``_WIDE`` can represent."""
_COMPACT = 18
"""The highest precision of a DECIMAL whose unscaled value fits in 64 bits."""
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def check_cast(stored: DataType, wanted: DataType, column: str) -> Cast | None:
    """Return the cast from ``stored``, the type in the file's schema, to ``wanted``; None when no cast is needed.

    Raises UnsupportedFeature, which names the column and both types, for an unsupported cast.
    """
    if stored == wanted or stored.with_nullable(True) == wanted.with_nullable(True):
        return None
    cast = find_cast(stored, wanted)
    if cast is None:
        raise UnsupportedFeature(
            f"column {column!r} was written as {stored} and is now {wanted}: this cast is not supported",
            column=column,
            stored=stored.sql,
            wanted=wanted.sql,
        )
    return cast


def find_cast(stored: DataType, wanted: DataType) -> Cast | None:
    """Return the cast between two different types, or None when the cast is not supported."""
    source, target = stored.root, wanted.root
    if source in _PARTED:
        if target in STRING_ROOTS:
            return nested_to_text(stored, _text_cast)
        return _nested(stored, wanted) if source is target else None
    if target in STRING_ROOTS:
        return _text_cast(stored, wanted)
    if source in STRING_ROOTS:
        return _text_to_decimal if target is TypeRoot.DECIMAL else _from_text(wanted)
    if source in BINARY_ROOTS:
        return of_length if target in BINARY_ROOTS else None
    if source is TypeRoot.BOOLEAN:
        return _from_boolean if target in _NUMERIC else None
    if target is TypeRoot.BOOLEAN:
        return _to_boolean if source in _INTEGERS else None
    return _numeric(stored, wanted) if source in _NUMERIC and target in _NUMERIC else _temporal(source, target)


def _text_cast(stored: DataType, wanted: DataType) -> Cast | None:
    """Return the cast of ``stored`` to text, or None when it is not supported.

    For a nested type, this function also chooses the casts of the members.
    """
    if stored.root in _PARTED:
        return nested_to_text(stored, _text_cast)
    if stored.root in BINARY_ROOTS:
        return _binary_to_text
    if stored.root in TIMESTAMP_ROOTS or stored.root in (TypeRoot.DATE, TypeRoot.TIME):
        if not wanted.nullable or wanted.with_nullable(True) != STRING:
            return None  # as in Java, times are cast only to STRING, not to CHAR or VARCHAR
        return _in_utc(times_to_text) if stored.root is TypeRoot.TIMESTAMP_LTZ else times_to_text
    return scalar_to_text if stored.root in _NUMERIC | STRING_ROOTS | {TypeRoot.BOOLEAN} else None


def _from_text(wanted: DataType) -> Cast | None:
    cast = from_text(wanted)
    return _in_utc(cast) if cast is not None and wanted.root is TypeRoot.TIMESTAMP_LTZ else cast


def _plain(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return array.cast(wanted.to_arrow(), safe=False)


def _binary_to_text(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Return the bytes as text; raises pa.ArrowInvalid for bytes that are not UTF-8.

    As in Java, the text is not cut to the length of ``wanted``.
    """
    return array.cast(pa.string())


# -- nested types ------------------------------------------------------------------------------------------------------


def _nested(stored: DataType, wanted: DataType) -> Cast | None:
    """Return the cast of a nested type, or None if a member has no cast, or if the type of the keys of a MAP changes.

    The cast converts the fields of a ROW, which are found by id, the elements of an ARRAY and the values of a MAP.

    If ``wanted`` has none of the stored fields of a ROW, the ROW is null, as in Java; an ARRAY or MAP of such rows is
    null as well.
    """
    if not _has_stored_field(stored, wanted):
        return _all_null
    places = _places(stored, wanted)
    casts: list[Cast | None] = []
    for place, child in zip(places, wanted.children, strict=True):
        old, new = (None if place is None else stored.children[place].type.with_nullable(True)), child.type
        cast = None if old is None or old == new.with_nullable(True) else find_cast(old, new)
        if cast is None and old is not None and old != new.with_nullable(True):
            return None
        if cast is not None and wanted.root is TypeRoot.MAP and place == 0:
            return None
        casts.append(cast)

    def cast_members(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
        array = whole(array)
        found = parts(array, array.type)
        size = len(found[0]) if found else len(array)
        members = []
        for place, cast, child in zip(places, casts, wanted.children, strict=True):
            kind = child.type.to_arrow()
            if place is None:
                members.append(pa.nulls(size, kind))
                continue
            part = found[place]
            members.append(
                labelled(part if cast is None else cast(part, stored.children[place].type, child.type), kind)
            )
        return assembled(array, members, wanted.to_arrow())

    return cast_members


def _places(stored: DataType, wanted: DataType) -> list[int | None]:
    """Return the position in ``stored`` of each member of ``wanted``; None for a field that was added later."""
    if stored.root is not TypeRoot.ROW:
        return list(range(len(wanted.children)))
    by_id = {c.id if c.id >= 0 else c.name: at for at, c in enumerate(stored.children)}
    return [by_id.get(c.id if c.id >= 0 else c.name) for c in wanted.children]


def _has_stored_field(stored: DataType, wanted: DataType) -> bool:
    if stored.root not in _PARTED or stored.root is not wanted.root:
        return True
    found = [
        at is not None and _has_stored_field(stored.children[at].type, child.type)
        for at, child in zip(_places(stored, wanted), wanted.children, strict=True)
    ]
    return any(found) if stored.root is TypeRoot.ROW else all(found)


def _all_null(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return pa.nulls(len(array), wanted.to_arrow())


# -- numbers -----------------------------------------------------------------------------------------------------------


def _numeric(stored: DataType, wanted: DataType) -> Cast | None:
    source, target = stored.root, wanted.root
    if target is TypeRoot.DECIMAL:
        if source in _FLOATS:
            return _float_to_decimal if wanted.scale <= _FLOAT_SCALE else None
        return _to_decimal
    if target in _FLOATS:
        return _decimal_to_float if source is TypeRoot.DECIMAL else _plain
    if source is TypeRoot.DECIMAL:
        return _decimal_to_integer
    return _float_to_integer if source in _FLOATS else _plain


def _to_decimal(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Round half up to the scale; a value with too many digits becomes null."""
    wide = pc.round(array.cast(_WIDE), wanted.scale, "half_towards_infinity")
    most = Decimal((0, (9,) * wanted.precision, -wanted.scale))
    fits = pc.and_(
        pc.less_equal(wide, pa.scalar(most, _WIDE)), pc.greater_equal(wide, pa.scalar(most.copy_negate(), _WIDE))
    )
    return pc.if_else(fits, wide, pa.scalar(None, _WIDE)).cast(wanted.to_arrow())


def _text_to_decimal(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return _to_decimal(decimal_texts(array, wanted), stored, wanted)


def _float_to_decimal(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Round the shortest decimal text of the double; overflow, NaN and infinities become null."""
    doubles = array.cast(pa.float64())
    size = pc.abs(doubles)
    doubles = pc.if_else(pc.less(size, 1e38), doubles, pa.scalar(None, pa.float64()))
    doubles = pc.if_else(pc.less(size, 1e-21), 0.0, doubles)
    return _to_decimal(doubles.cast(pa.string()), stored, wanted)


def _decimal_to_float(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Divide the unscaled value by a power of ten, as Java does.

    A DECIMAL whose unscaled value does not fit in 64 bits is converted through its text, to the nearest double.
    """
    if stored.precision > _COMPACT:
        return array.cast(pa.string()).cast(pa.float64()).cast(wanted.to_arrow(), safe=False)
    doubles = _low_words(array).astype(np.float64) / 10.0**stored.scale
    return pa.array(doubles, mask=_nulls(array)).cast(wanted.to_arrow(), safe=False)


def _decimal_to_integer(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Cut off the fraction, and keep only the low bits of a value that is out of range."""
    words = _low_words(array.cast(pa.decimal128(38, 0), safe=False) if stored.scale else array)
    return pa.array(words, mask=_nulls(array)).cast(wanted.to_arrow(), safe=False)


def _low_words(array: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the low 64 bits of each unscaled value."""
    words = np.frombuffer(array.buffers()[1], np.int64)[::2]
    return words[array.offset : array.offset + len(array)]


def _float_to_integer(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Cut off the fraction; NaN becomes 0.

    A value out of range becomes the nearest BIGINT. For smaller types, it becomes the nearest INT, and the low bits of
    this INT are kept.
    """
    doubles = np.nan_to_num(array.cast(pa.float64()).fill_null(0.0).to_numpy(), nan=0.0, posinf=np.inf, neginf=-np.inf)
    bits = 63 if wanted.root is TypeRoot.BIGINT else 31
    low, high = -(2**bits), 2**bits - 1
    inside = np.where(np.abs(doubles) < 2.0**bits, doubles, 0.0).astype(np.int64)
    numbers = np.where(doubles >= 2.0**bits, high, np.where(doubles < low, low, inside))
    numbers[doubles == low] = low
    return pa.array(numbers, mask=_nulls(array)).cast(wanted.to_arrow(), safe=False)


def _from_boolean(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    numbers = array.cast(pa.int8())
    return _to_decimal(numbers, stored, wanted) if wanted.root is TypeRoot.DECIMAL else numbers.cast(wanted.to_arrow())


def _to_boolean(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return pc.not_equal(array, pa.scalar(0, array.type))


def _nulls(array: pa.Array) -> Any:
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


# -- times -------------------------------------------------------------------------------------------------------------


def _temporal(source: TypeRoot, target: TypeRoot) -> Cast | None:
    cast = _TEMPORAL.get((source, target))
    if cast is None and source in TIMESTAMP_ROOTS:
        cast = _TEMPORAL.get((TypeRoot.TIMESTAMP, target))
    if cast is None and target in TIMESTAMP_ROOTS:
        cast = _TEMPORAL.get((source, TypeRoot.TIMESTAMP))
    if cast is None and source in TIMESTAMP_ROOTS and target in TIMESTAMP_ROOTS:
        cast = _timestamp
    zoned = TypeRoot.TIMESTAMP_LTZ in (source, target) and source is not target
    return _in_utc(cast) if cast is not None and zoned else cast


def _in_utc(cast: Cast) -> Cast:
    """Return ``cast``, which depends on the local time zone in Java, with a check of the time zone.

    The returned cast raises UnsupportedFeature when the local time zone is not UTC.
    """

    def checked(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
        if time.timezone or time.daylight:
            raise UnsupportedFeature(
                f"a cast from {stored} to {wanted} depends on the local time zone: it is supported in the time zone "
                f"UTC only, not in {time.tzname[0]}",
                stored=stored.sql,
                wanted=wanted.sql,
            )
        return cast(array, stored, wanted)

    return checked


def _timestamp(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Change the unit and cut digits off, as in Java: towards zero in milliseconds, else towards the past."""
    array = rescale(array, wanted.to_arrow())
    digits = {"ms": 3, "us": 6, "ns": 9}[wanted.timestamp_unit] - wanted.precision
    if not digits or wanted.precision >= stored.precision:
        return array
    if wanted.timestamp_unit != "ms":
        return _floored(array, 10**digits, 10**digits, array.type)
    numbers = array.cast(pa.int64())
    return pc.multiply(pc.divide(numbers, 10**digits), 10**digits).cast(array.type)


def _day(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return _unzoned(array).cast(pa.date32(), safe=False)


def _time_of_day(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return rescale(array, pa.timestamp("ms")).cast(pa.time32("ms"), safe=False)


def _to_seconds(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Return the seconds since 1970, cut towards zero from the milliseconds."""
    millis = rescale(array, pa.timestamp("ms")).cast(pa.int64())
    return pc.divide(millis, 1000).cast(wanted.to_arrow(), safe=False)


def _from_seconds(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return rescale(array.cast(pa.int64()).cast(pa.timestamp("s")), wanted.to_arrow())


def _from_day(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return rescale(array.cast(pa.timestamp("s")), wanted.to_arrow())


def _from_time(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Return the time on 1970-01-01."""
    return rescale(array.cast(pa.int32()).cast(pa.int64()).cast(pa.timestamp("ms")), wanted.to_arrow())


_TEMPORAL: dict[tuple[TypeRoot, TypeRoot], Cast] = {
    (TypeRoot.TIMESTAMP, TypeRoot.DATE): _day,
    (TypeRoot.TIMESTAMP, TypeRoot.TIME): _time_of_day,
    (TypeRoot.TIMESTAMP, TypeRoot.INT): _to_seconds,
    (TypeRoot.TIMESTAMP, TypeRoot.BIGINT): _to_seconds,
    (TypeRoot.INT, TypeRoot.TIMESTAMP): _from_seconds,
    (TypeRoot.BIGINT, TypeRoot.TIMESTAMP): _from_seconds,
    (TypeRoot.DATE, TypeRoot.TIMESTAMP): _from_day,
    (TypeRoot.TIME, TypeRoot.TIMESTAMP): _from_time,
    (TypeRoot.TIME, TypeRoot.TIME): _plain,
}


def _unzoned(array: pa.Array) -> pa.Array:
    return rescale(array, pa.timestamp(array.type.unit))


def rescale(array: pa.Array, wanted: pa.TimestampType) -> pa.Array:
    """Return timestamps in another unit: exact in a finer unit, rounded towards the past in a coarser unit.

    A different time zone in ``wanted`` only replaces the zone of the type; no time is moved. Raises pa.ArrowInvalid for
    a value outside the range of the finer unit.
    """
    source, target = _UNITS[array.type.unit], _UNITS[wanted.unit]
    if source > target:
        return _floored(array, source // target, 1, wanted)
    if array.type.tz != wanted.tz:
        array = array.cast(pa.int64()).cast(pa.timestamp(array.type.unit, wanted.tz))
    return array.cast(wanted)


def _floored(array: pa.Array, divisor: int, factor: int, wanted: Any) -> pa.Array:
    """Return floor(x / divisor) * factor as ``wanted``."""
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    numbers = array.cast(pa.int64()).fill_null(0).to_numpy()
    floored = np.floor_divide(numbers, divisor) * factor
    return pa.array(floored, mask=nulls).cast(pa.int64()).cast(wanted)
