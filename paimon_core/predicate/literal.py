"""Literals of predicates: converts Python values to storage values of a column's type and to JSON.

A literal between two storage values (a microsecond for a TIMESTAMP(3), 1.005 for a DECIMAL(10, 2)) becomes the lower
storage value and is marked as inexact. Binding then changes the operator, so that the comparison selects the right
rows. A literal that has the wrong kind or is outside the range of the type is refused: it is never replaced by null or
by the nearest value.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from paimon_core.errors import InvalidRequest, SchemaMismatch, shown
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TypeRoot
from paimon_core.types.time_text import date_and_nanos, nanos_of_day

Literal = bool | int | float | str | bytes | Decimal | date | time | datetime

_INTEGER_BITS = {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}
_NANOS = {"ms": 1_000_000, "us": 1_000, "ns": 1}


def plain_literal(value: Any) -> Literal:
    """Convert ``value`` to a literal; raises InvalidRequest for None and for unsupported types."""
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytearray | memoryview):
        value = bytes(value)
    if isinstance(value, datetime) and getattr(value, "nanosecond", False):
        return value.isoformat()  # a pandas Timestamp: only its text contains the nanoseconds
    if isinstance(value, bool | int | float | str | bytes | Decimal | date | time):
        return value
    if value is None:
        raise InvalidRequest("a comparison with None is never true: use .is_null() or .is_not_null()")
    raise InvalidRequest(
        f"a column is compared with a bool, int, float, str, bytes, Decimal, date, time or datetime, "
        f"not with {type(value).__name__}"
    )


def storage_value(value: Literal, field: DataField) -> tuple[Any, bool]:
    """Return the greatest storage value of the field's type that is <= ``value``, and whether both are equal.

    A literal for a FLOAT or DOUBLE column is rounded to the column's width and treated as equal: 0.1 means the FLOAT
    0.1. Raises SchemaMismatch naming the column for a literal of another kind or outside of the type's range.
    """
    kind = field.type
    root = kind.root
    try:
        if root is TypeRoot.BOOLEAN and isinstance(value, bool):
            return value, True
        if root in STRING_ROOTS and isinstance(value, str):
            value.encode()  # raises an error for a lone surrogate, which is not valid text
            return value, True
        if root in BINARY_ROOTS and isinstance(value, bytes):
            return value, True
        if root in _INTEGER_BITS and isinstance(value, int) and not isinstance(value, bool):
            return _in_range(value, _INTEGER_BITS[root]), True
        if root in _INTEGER_BITS and isinstance(value, Decimal):
            return _whole(value, _INTEGER_BITS[root])
        if root in (TypeRoot.FLOAT, TypeRoot.DOUBLE) and isinstance(value, int | float) and not isinstance(value, bool):
            return _float(value, narrow=root is TypeRoot.FLOAT), True
        if root in (TypeRoot.FLOAT, TypeRoot.DOUBLE) and isinstance(value, Decimal) and value.is_finite():
            return _float(value, narrow=root is TypeRoot.FLOAT), True
        if root is TypeRoot.DECIMAL and isinstance(value, int | Decimal) and not isinstance(value, bool):
            return _decimal(Decimal(value), kind.precision, kind.scale)
        if root is TypeRoot.DATE and isinstance(value, str | date):
            day, nanos, zone = date_and_nanos(value)
            if zone is None:
                return day, nanos == 0
        if root is TypeRoot.TIME and isinstance(value, str | time):
            millis, rest = divmod(nanos_of_day(value), 1_000_000)
            return millis, rest == 0
        if root in (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ) and isinstance(value, str | date):
            day, nanos, zone = date_and_nanos(value)
            if (zone is not None) == (root is TypeRoot.TIMESTAMP_LTZ):
                total = day * 86_400_000_000_000 + nanos - (zone or 0)
                units, rest = divmod(total, _NANOS[kind.timestamp_unit])
                return _in_range(units, 64), rest == 0
            need = "an offset such as 'Z' or a tzinfo" if zone is None else "a time without offset or tzinfo"
            raise SchemaMismatch(f"column {field.name!r} is {kind} and needs {need}: {value!r}", column=field.name)
    except (ValueError, OverflowError) as error:
        if isinstance(error, SchemaMismatch):
            raise
        raise SchemaMismatch(f"column {field.name!r} is {kind}: {shown(value)} {error}", column=field.name) from None
    hint = " (use a Decimal)" if root is TypeRoot.DECIMAL and isinstance(value, float) else ""
    raise SchemaMismatch(
        f"column {field.name!r} is {kind} and does not accept the {type(value).__name__} {shown(value)}{hint}",
        column=field.name,
    )


def _in_range(value: int, bits: int) -> int:
    bound = 1 << (bits - 1)
    if not -bound <= value < bound:
        raise ValueError(f"is not from {-bound} to {bound - 1}")
    return value


def _whole(value: Decimal, bits: int) -> tuple[int, bool]:
    """Return the greatest integer that is not above ``value``, and whether both are equal."""
    if not value.is_finite() or value.adjusted() > 20:
        raise ValueError("is outside the range of the type")
    floor = math.floor(value)
    return _in_range(floor, bits), floor == value


def _float(value: float | Decimal, *, narrow: bool) -> float:
    wide = float(value)
    if math.isinf(wide) and isinstance(value, Decimal):
        raise OverflowError("is outside the range of the type")
    if not narrow:
        return wide
    with np.errstate(over="ignore"):
        out = float(np.float32(wide))
    if math.isinf(out) and not math.isinf(wide):
        raise OverflowError("is outside the range of the type")
    return out


def _decimal(value: Decimal, precision: int, scale: int) -> tuple[Decimal, bool]:
    if not value.is_finite() or (value != 0 and value.adjusted() >= precision - scale):
        raise ValueError("is outside the range of the type")
    unit = Decimal((0, (1,), -scale))
    floor = value.quantize(unit, rounding=ROUND_FLOOR, context=Context(prec=100))
    if floor != 0 and floor.adjusted() >= precision - scale:
        raise ValueError("is outside the range of the type")
    return floor, floor == value


def literal_to_json(value: Literal) -> Any:
    """Return a JSON value; types that JSON does not have become an object with one member, named after the type."""
    match value:
        case bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case Decimal():
            return {"decimal": str(value)}
        case datetime():
            return {"datetime": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
    return {"time": value.isoformat()}


_REVIVE = {
    "float": float,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
}


def literal_from_json(value: Any) -> Literal:
    """Return the literal that ``literal_to_json`` encoded; raises InvalidRequest for other values."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, text),) = value.items()
        if kind in _REVIVE and isinstance(text, str):
            try:
                revived: Literal = _REVIVE[kind](text)  # type: ignore[operator]
            except (ValueError, ArithmeticError):
                raise InvalidRequest(f"{text!r} is not a {kind}", value=text) from None
            return revived
    return plain_literal(value)
