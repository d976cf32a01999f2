"""Python rows: converts dicts to Arrow columns by the types of a table.

Dates and times may be ISO texts, decimals may be texts, a MAP or MULTISET may be a dict or a list of pairs, and a ROW
may be a dict or a tuple. A VARIANT is given as its two binaries (a dict, a tuple, a Variant), or as any value that
``Variant.of`` accepts. Arrow converts columns of plain values. Other columns, and columns with a value that does not
fit, are converted in a Python loop, which costs little because the values are Python objects. An error names the
column, the row, from 0, and the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.errors import SchemaMismatch, listed, shown
from paimon_core.limits import TYPE_DEPTH
from paimon_core.schema import DataField
from paimon_core.types import (
    BINARY_ROOTS,
    MAP_ROOTS,
    STRING_ROOTS,
    STRUCT_ROOTS,
    TIMESTAMP_ROOTS,
    DataType,
    TypeRoot,
)
from paimon_core.types.time_text import date_and_nanos, nanos_of_day
from paimon_core.types.variant_encoding import encoded as encoded_variant

_INTEGER_BITS = {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}
_UNIT_NANOS = {"ms": 1_000_000, "us": 1_000, "ns": 1}
_BINARIES = ("value", "metadata")
_DAY_NANOS = 86_400 * 10**9
_LAST_DIGIT_NANOS = 10**9
_PLAIN: dict[TypeRoot, tuple[set[type], pa.DataType]] = {
    TypeRoot.BOOLEAN: ({bool}, pa.bool_()),
    **dict.fromkeys(_INTEGER_BITS, ({int}, pa.int64())),
    TypeRoot.FLOAT: ({float, int}, pa.float64()),
    TypeRoot.DOUBLE: ({float, int}, pa.float64()),
    **dict.fromkeys(STRING_ROOTS, ({str}, pa.string())),
    **dict.fromkeys(BINARY_ROOTS, ({bytes}, pa.binary())),
    TypeRoot.DATE: ({date}, pa.date32()),
}
"""The Python types whose values Arrow converts exactly, and the Arrow type of the result, which ``conform`` casts to
the type of the column."""


def table_of_rows(rows: Sequence[Mapping[str, Any]], fields: Sequence[DataField], first_row: int = 0) -> pa.Table:
    """Return the rows as a table; error messages count rows from ``first_row``.

    A column that a row does not have is null in that row. Columns without a field get the type that Arrow infers.
    Raises SchemaMismatch for a value that does not fit.
    """
    kinds = {f.name: f.type for f in fields}
    numbers = range(first_row, first_row + len(rows))
    columns = {}
    names: dict[Any, None] = dict.fromkeys(name for row in rows for name in row)
    for name in names:
        if not isinstance(name, str):
            row = first_row + next(at for at, held in enumerate(rows) if name in held)
            raise SchemaMismatch(f"row {row}: the name {name!r:.60} of a column is no text", row=row)
        values = [row.get(name) for row in rows]
        if name in kinds:
            columns[name] = column_of(values, kinds[name], name, numbers)
        else:
            columns[name] = inferred_array(values, name, numbers)
    return pa.table(columns)


def gaps(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the names that some rows have and others lack, each with the position of the first row that lacks it."""
    if not rows or all(row.keys() == rows[0].keys() for row in rows):
        return {}
    names = dict.fromkeys(name for row in rows for name in row)
    lacking = ((name, next((at for at, row in enumerate(rows) if name not in row), None)) for name in names)
    return {name: at for name, at in lacking if at is not None}


def inferred_array(values: Sequence[Any], path: str, rows: Sequence[int]) -> pa.Array:
    """Return the values with the type that Arrow infers; raises SchemaMismatch with the first value of another type."""
    plain = [_plain(value) for value in values]
    for row, value in zip(rows, plain, strict=True):
        if _is_too_deep(value):  # Arrow needs memory that grows with the cube of the depth
            raise SchemaMismatch(
                f"column {path!r}: row {row}: the value has more than {TYPE_DEPTH} levels of nested lists and dicts",
                column=path,
                row=row,
            )
    try:
        return pa.array(plain)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeEncodeError) as error:
        fits, fails = 0, len(plain)
        while fails - fits > 1:
            middle = (fits + fails) // 2
            fits, fails = (middle, fails) if _is_inferred(plain[:middle]) else (fits, middle)
        raise SchemaMismatch(
            f"column {path!r}: row {rows[fits]}: no type fits {shown(values[fits])} and the values before it: {error}",
            column=path,
            row=rows[fits],
        ) from None


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(TYPE_DEPTH + 1):
        held = [v for v in level if isinstance(v, Mapping | list | tuple)]
        if not held:
            return False
        level = [item for v in held for item in (v.values() if isinstance(v, Mapping) else v)]
    return True


def _is_inferred(values: Sequence[Any]) -> bool:
    try:
        pa.array(values)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeEncodeError):
        return False
    return True


def column_of(values: Sequence[Any], kind: DataType, path: str, rows: Sequence[int]) -> pa.Array:
    """Return the values as an array that ``conform`` accepts for ``kind``; ``rows`` are the numbers of their rows."""
    if kind.root is TypeRoot.VARIANT:
        pairs = _converted(values, _binaries, kind, path, rows)
        return pa.array([None if p is None else dict(zip(_BINARIES, p, strict=True)) for p in pairs], kind.to_arrow())
    if kind.root in STRUCT_ROOTS:
        return _structs(values, kind, path, rows)
    if kind.root in MAP_ROOTS:
        return _maps(values, kind, path, rows)
    if kind.root is TypeRoot.ARRAY:
        lists = _converted(values, _list, kind, path, rows)
        offsets, inner, inner_rows = _flattened(lists, rows)
        (element,) = kind.children
        found = column_of(inner, element.type, f"{path}.{element.name}", inner_rows)
        return pa.ListArray.from_arrays(offsets, found, mask=_mask(lists))
    plain = _plain_type(values, kind)
    if plain is not None:
        try:
            return pa.array(values, plain)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            pass  # the loop below finds the value
    convert, arrow = _leaf(kind)
    return pa.array(_converted(values, convert, kind, path, rows), arrow)


def _plain_type(values: Sequence[Any], kind: DataType) -> pa.DataType | None:
    """Return a type to which Arrow converts all values exactly or raises an error; None if there is no such type."""
    held = {type(v) for v in values} - {type(None)}
    if kind.root in TIMESTAMP_ROOTS:
        zoned = kind.root is TypeRoot.TIMESTAMP_LTZ
        if held <= {datetime} and all(v is None or (v.tzinfo is not None) == zoned for v in values):
            return pa.timestamp("us", "UTC" if zoned else None)
        return None
    if kind.root is TypeRoot.DECIMAL:
        return kind.to_arrow() if held <= {Decimal} else None
    known, arrow = _PLAIN.get(kind.root, (set(), None))
    return arrow if held <= known else None


def _converted(
    values: Sequence[Any], convert: Callable[[Any], Any], kind: DataType, path: str, rows: Sequence[int]
) -> list[Any]:
    out: list[Any] = []
    for at, value in enumerate(values):
        if value is None:
            out.append(None)
            continue
        try:
            out.append(convert(_plain(value)))
        except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
            reason = str(error) if isinstance(error, ValueError | OverflowError) else "is not valid"
            raise SchemaMismatch(
                f"column {path!r} is {kind}: row {rows[at]}: {shown(value)} {reason}", column=path, row=rows[at]
            ) from None
    return out


def _plain(value: Any) -> Any:
    """Return the plain value of an enum member or a numpy scalar; other values are returned unchanged."""
    if isinstance(value, Enum):
        return value.value
    is_number = isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64)
    return value.item() if is_number else value


def _mask(values: Sequence[Any]) -> pa.Array | None:
    nulls = [v is None for v in values]
    return pa.array(nulls) if any(nulls) else None


# -- nested values -----------------------------------------------------------------------------------------------------


def _flattened(lists: Sequence[Any], rows: Sequence[int]) -> tuple[pa.Array, list[Any], list[int]]:
    lengths = [0 if v is None else len(v) for v in lists]
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    inner = [item for v in lists if v is not None for item in v]
    return offsets, inner, np.repeat(np.asarray(rows, np.int64), lengths).tolist()


def _maps(values: Sequence[Any], kind: DataType, path: str, rows: Sequence[int]) -> pa.Array:
    lists = _converted(values, _pairs, kind, path, rows)
    offsets, inner, inner_rows = _flattened(lists, rows)
    parts = []
    for at, child in enumerate(kind.children):
        parts.append(column_of([pair[at] for pair in inner], child.type, f"{path}.{child.name}", inner_rows))
    return pa.MapArray.from_arrays(offsets, *parts, mask=_mask(lists))


def _structs(values: Sequence[Any], kind: DataType, path: str, rows: Sequence[int]) -> pa.Array:
    names = [child.name for child in kind.children]
    found = _converted(values, lambda value: _members(value, names), kind, path, rows)
    columns = []
    for at, child in enumerate(kind.children):
        members = [None if v is None else v[at] for v in found]
        columns.append(column_of(members, child.type, f"{path}.{child.name}", rows))
    return pa.StructArray.from_arrays(columns, names=names, mask=_mask(found))


def _list(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value)
    if not isinstance(value, list | tuple):
        raise ValueError(f"is a {type(value).__name__}, not a list")
    return value


def _pairs(value: Any) -> list[Any]:
    pairs = list(value.items()) if isinstance(value, Mapping) else _list(value)
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ValueError("is not a dict or a list of pairs")
    if any(key is None for key, _ in pairs):
        raise ValueError("has a null key")
    return list(pairs)


def _members(value: Any, names: Sequence[str]) -> Sequence[Any]:
    if isinstance(value, Mapping):
        for name in value:
            if name not in names:
                raise ValueError(f"has a member {name!r:.60}; the members are {listed(names)}")
        return [value.get(name) for name in names]
    if isinstance(value, tuple) and len(value) == len(names):
        return value
    raise ValueError(f"is not a dict or a tuple of {listed(names)}")


def _binaries(value: Any) -> tuple[bytes, bytes]:
    """Return the binaries of a VARIANT, from a dict, tuple, Variant or VariantVal, or encoded from another value."""
    if isinstance(value, Mapping) and value.keys() == set(_BINARIES):
        pair = value["value"], value["metadata"]
    elif isinstance(value, tuple) and len(value) == len(_BINARIES):
        pair = value
    else:
        pair = getattr(value, "value", None), getattr(value, "metadata", None)
    if all(isinstance(part, bytes | bytearray) for part in pair):
        return bytes(pair[0]), bytes(pair[1])
    return encoded_variant(value)


# -- other values ------------------------------------------------------------------------------------------------------


def _leaf(kind: DataType) -> tuple[Callable[[Any], Any], pa.DataType]:
    """Return a function that converts one value, and the Arrow type of the results."""
    root = kind.root
    if root in _INTEGER_BITS:
        return lambda v: _integer(v, _INTEGER_BITS[root]), pa.int64()
    match root:
        case TypeRoot.BOOLEAN:
            return lambda v: _instance(v, bool), pa.bool_()
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return lambda v: float(_instance(v, float, int)), pa.float64()
        case TypeRoot.DECIMAL:
            return lambda v: _decimal(v, kind), kind.to_arrow()
        case TypeRoot.DATE:
            return _day, pa.date32()
        case TypeRoot.TIME:
            return lambda v: _clock(v, kind), pa.time32("ms")
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return lambda v: _instant(v, kind), kind.to_arrow()
    if root in STRING_ROOTS:
        return _text, pa.string()
    return lambda v: bytes(_instance(v, bytes, bytearray, memoryview)), pa.binary()


def _instance(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ValueError(f"is a {type(value).__name__}")
    return value


def _integer(value: Any, bits: int) -> int:
    number: int = _instance(value, int)
    bound = 1 << (bits - 1)
    if not -bound <= number < bound:
        raise ValueError(f"is not from {-bound} to {bound - 1}")
    return number


def _text(value: Any) -> str:
    text: str = _instance(value, str)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("contains a character that is not valid Unicode text") from None
    return text


def _decimal(value: Any, kind: DataType) -> Decimal:
    if isinstance(value, float):
        raise ValueError("is a float: use a Decimal or a text, so that the caller chooses the rounding")
    try:
        number = Decimal(_instance(value, Decimal, int, str))
    except InvalidOperation:
        raise ValueError("is not a decimal number") from None
    if not number.is_finite():
        raise ValueError("is not a finite number")
    digits = number.as_tuple()
    assert isinstance(digits.exponent, int)
    if number and number.adjusted() >= kind.precision - kind.scale:
        raise ValueError(f"has more than {kind.precision - kind.scale} digits before the point")
    unused = -kind.scale - digits.exponent
    if number and unused > 0 and any(digits.digits[-unused:]):
        raise ValueError(f"has more than {kind.scale} digits after the point")
    return number


def _day(value: Any) -> int:
    day, nanos, zone = date_and_nanos(_instance(value, str, date))
    if nanos or zone is not None:
        raise ValueError("is not a date, as it has a time")
    return day


def _clock(value: Any, kind: DataType) -> int:
    nanos = nanos_of_day(_instance(value, str, time))
    return _whole(nanos, max(1_000_000, _LAST_DIGIT_NANOS // 10**kind.precision)) // 1_000_000


def _instant(value: Any, kind: DataType) -> int:
    value = str(value) if isinstance(value, np.datetime64) else _instance(value, str, datetime)
    if isinstance(value, datetime) and getattr(value, "nanosecond", False):
        value = value.isoformat()  # a Timestamp of pandas: only its text contains the nanoseconds
    day, nanos, zone = date_and_nanos(value)
    zoned = kind.root is TypeRoot.TIMESTAMP_LTZ
    if (zone is not None) != zoned:
        raise ValueError("has no time zone, such as 'Z' or a tzinfo" if zoned else "has a time zone")
    total = day * _DAY_NANOS + nanos - (zone or 0)
    unit = _UNIT_NANOS[kind.timestamp_unit]
    number = _whole(total, max(unit, _LAST_DIGIT_NANOS // 10**kind.precision)) // unit
    if not -(2**63) <= number < 2**63:
        raise ValueError("is outside of the years 1677 to 2262, which nanoseconds cover")
    return number


def _whole(nanos: int, step: int) -> int:
    if nanos % step:
        raise ValueError("has more digits of a second than the type")
    return nanos
