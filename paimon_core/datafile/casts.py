"""Casts: converts columns of files with an older schema (format 2.3), and decoded columns to their table type.

``check_cast`` returns the cast between two table types, or raises UnsupportedFeature before data is read. Values follow
the format's rules: integers and decimals are rounded half up and become null when they overflow a DECIMAL, times are
rounded towards the past, texts are cut to the new length.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import labelled, loose
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import (
    BINARY_ROOTS,
    MAP_ROOTS,
    STRING_ROOTS,
    STRUCT_ROOTS,
    TIMESTAMP_ROOTS,
    DataType,
    TypeRoot,
)

Cast = Callable[[pa.Array, DataType, DataType], pa.Array]

_INTEGERS = {r: n for n, r in enumerate((TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT))}
_FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_WIDE = pa.decimal256(76, 38)
"""Represents every DECIMAL(38, s) exactly."""
_FLOAT_SCALE = 20
"""The highest DECIMAL scale to which floats are cast: doubles below 1e-21 have more digits than _WIDE."""
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def check_cast(stored: DataType, wanted: DataType, column: str) -> Cast | None:
    """Return the cast from ``stored``, the type in the file's schema, to ``wanted``; None when no cast is needed.

    Raises UnsupportedFeature, which names the column and both types, for an unsupported cast.
    """
    if stored == wanted or stored.with_nullable(True) == wanted.with_nullable(True):
        return None
    cast = _find(stored, wanted)
    if cast is None:
        raise UnsupportedFeature(
            f"column {column!r} was written as {stored} and is now {wanted}: this cast is not supported",
            column=column,
            stored=stored.sql,
            wanted=wanted.sql,
        )
    return cast


def _find(stored: DataType, wanted: DataType) -> Cast | None:
    """Return the cast between two different types, or None; casts that depend on a local time zone are unsupported."""
    source, target = stored.root, wanted.root
    if target is TypeRoot.DECIMAL:
        if source in _FLOATS:
            return _float_to_decimal if wanted.scale <= _FLOAT_SCALE else None
        return _to_decimal if source in _INTEGERS or source is TypeRoot.DECIMAL else None
    if target in _FLOATS:
        if source is TypeRoot.DECIMAL:
            return _decimal_to_float
        return _plain if source in _INTEGERS or (source is TypeRoot.FLOAT and target is TypeRoot.DOUBLE) else None
    if target in _INTEGERS:
        return _plain if _INTEGERS.get(source, 9) < _INTEGERS[target] else None
    if target is TypeRoot.VARCHAR and source in STRING_ROOTS:
        return _cut_text
    if target is TypeRoot.VARBINARY and source in BINARY_ROOTS:
        return _cut_binary
    if source in TIMESTAMP_ROOTS and source is target:
        return _timestamp
    if source is TypeRoot.TIMESTAMP and target is TypeRoot.DATE:
        return _day
    if source is TypeRoot.TIMESTAMP and target is TypeRoot.TIME:
        return _time_of_day
    return _plain if source is target is TypeRoot.TIME else None


def _plain(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return array.cast(wanted.to_arrow(), safe=False)


# -- decimals ----------------------------------------------------------------------------------------------------------


def _to_decimal(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Round half up to the scale; a value with too many digits becomes null."""
    wide = pc.round(array.cast(_WIDE), wanted.scale, "half_towards_infinity")
    most = Decimal((0, (9,) * wanted.precision, -wanted.scale))
    fits = pc.and_(
        pc.less_equal(wide, pa.scalar(most, _WIDE)), pc.greater_equal(wide, pa.scalar(most.copy_negate(), _WIDE))
    )
    return pc.if_else(fits, wide, pa.scalar(None, _WIDE)).cast(wanted.to_arrow())


def _float_to_decimal(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Round the shortest decimal text of the double; overflow, NaN and infinities become null."""
    doubles = array.cast(pa.float64())
    size = pc.abs(doubles)
    doubles = pc.if_else(pc.less(size, 1e38), doubles, pa.scalar(None, pa.float64()))
    doubles = pc.if_else(pc.less(size, 1e-21), 0.0, doubles)
    return _to_decimal(doubles.cast(pa.string()), stored, wanted)


def _decimal_to_float(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Convert through the text, which parses to the nearest double; a FLOAT is the nearest float to that double."""
    return array.cast(pa.string()).cast(pa.float64()).cast(wanted.to_arrow(), safe=False)


# -- texts -------------------------------------------------------------------------------------------------------------


def _cut_text(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return pc.utf8_slice_codeunits(array, 0, wanted.length) if wanted.length < stored.length else array


def _cut_binary(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return pc.binary_slice(array, 0, wanted.length) if wanted.length < stored.length else array


# -- times -------------------------------------------------------------------------------------------------------------


def _timestamp(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    array = rescale(array, wanted.to_arrow())
    digits = {"ms": 3, "us": 6, "ns": 9}[wanted.timestamp_unit] - wanted.precision
    return (
        _floored(array, 10**digits, 10**digits, array.type) if digits and wanted.precision < stored.precision else array
    )


def _day(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return array.cast(pa.date32(), safe=False)


def _time_of_day(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    return rescale(array, pa.timestamp("ms")).cast(pa.time32("ms"), safe=False)


def rescale(array: pa.Array, wanted: pa.TimestampType) -> pa.Array:
    """Return timestamps in another unit: exact in a finer unit, rounded towards the past in a coarser one.

    The time zone is replaced and the numbers stay the same. Raises pa.ArrowInvalid for a value outside the range of the
    finer unit.
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


# -- types in a file ---------------------------------------------------------------------------------------------------


def _is_text(t: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(t)
        or pa.types.is_large_string(t)
        or pa.types.is_string_view(t)
        or pa.types.is_binary(t)
        or pa.types.is_large_binary(t)
        or pa.types.is_binary_view(t)
        or pa.types.is_fixed_size_binary(t)
    )


_FAMILIES: dict[TypeRoot, Callable[[pa.DataType], bool]] = {
    TypeRoot.BOOLEAN: pa.types.is_boolean,
    **dict.fromkeys(_INTEGERS, pa.types.is_integer),
    **dict.fromkeys(_FLOATS, pa.types.is_floating),
    TypeRoot.DECIMAL: pa.types.is_decimal,
    **dict.fromkeys(STRING_ROOTS | BINARY_ROOTS, _is_text),
    TypeRoot.DATE: pa.types.is_date,
    TypeRoot.TIME: lambda t: pa.types.is_time(t) or pa.types.is_int32(t),
    **dict.fromkeys(TIMESTAMP_ROOTS, pa.types.is_timestamp),
}


def is_stored_as(found: pa.DataType, dtype: DataType) -> bool:
    """Whether a file column of the Arrow type ``found`` can be a column of ``dtype``, from any known writer.

    Raises UnsupportedFeature for a VARIANT whose values are partly in typed columns.
    """
    if pa.types.is_dictionary(found):
        found = found.value_type
    if dtype.root in STRUCT_ROOTS:
        named = {f.name: f.type for f in found} if pa.types.is_struct(found) else {}
        if dtype.root is TypeRoot.VARIANT and "typed_value" in named:
            raise UnsupportedFeature("a VARIANT that is shredded into typed columns is not supported")
        return all(c.name in named and is_stored_as(named[c.name], c.type) for c in dtype.children)
    if dtype.root in MAP_ROOTS:
        held = [found.key_type, found.item_type] if pa.types.is_map(found) else []
    elif dtype.root is TypeRoot.ARRAY:
        held = [found.value_type] if pa.types.is_list(found) or pa.types.is_large_list(found) else []
    elif dtype.root in TIMESTAMP_ROOTS and pa.types.is_int64(found):
        return dtype.timestamp_unit != "ns"  # Parquet files of Paimon before 0.7 lack the timestamp annotation
    else:
        return _FAMILIES[dtype.root](found)
    return bool(held) and all(is_stored_as(h, c.type) for h, c in zip(held, dtype.children, strict=True))


def from_stored(array: pa.Array, dtype: DataType) -> pa.Array:
    """Return a decoded column as ``dtype.to_arrow()``; raises pa.ArrowInvalid for a value outside the type."""
    wanted = dtype.to_arrow()
    if array.type == wanted:
        return array
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
        if array.type == wanted:
            return array
    if dtype.root in TIMESTAMP_ROOTS and not pa.types.is_int64(array.type):
        return rescale(array, wanted)
    return labelled(array.cast(loose(dtype).to_arrow(), safe=dtype.root is not TypeRoot.TIME), wanted)


def is_dictionary_of(array: pa.Array, dtype: DataType) -> bool:
    """Whether a decoded column is a dictionary array whose values have the type ``dtype.to_arrow()``."""
    return pa.types.is_dictionary(array.type) and bool(array.type.value_type == dtype.to_arrow())
