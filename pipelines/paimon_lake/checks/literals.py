"""Literals: convert the values in the declaration of a check, as YAML reads them, to values of the column's type.

YAML has fewer types than a table: it reads ``no`` as false, ``12:30:00`` as a number, ``0.1`` as a double. A value is
accepted only when it means exactly one value of the column.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any

from paimon_core.errors import SchemaMismatch
from paimon_core.predicate.literal import Literal, storage_value
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS, STRING_ROOTS, TypeRoot

_DOUBLE_DIGITS = 15
"""A decimal with at most this many digits is unchanged after a conversion to a double and back."""
_FLOATS = (TypeRoot.FLOAT, TypeRoot.DOUBLE)


def accepted(value: Any, field: DataField) -> Literal:
    """Return the value converted to the column's type. Raises SchemaMismatch when no row can have this value."""
    literal = _literal(value, field)
    _, exact = storage_value(literal, field)
    if not exact:
        raise _mismatch(field, value, "has more digits than the type: no row can have it")
    if field.type.root in STRING_ROOTS and len(str(literal)) > field.type.length:
        raise _mismatch(field, value, "is longer than the type: no row can have it")
    return literal


def bound(value: Any, field: DataField) -> Literal:
    """Return a bound of a range, which may lie between two values of the type; raises SchemaMismatch if it does not
    fit.
    """
    literal = _literal(value, field)
    if isinstance(literal, float) and math.isnan(literal):
        raise _mismatch(field, value, "is not a bound")
    storage_value(literal, field)
    return literal


def _literal(value: Any, field: DataField) -> Literal:
    root = field.type.root
    if root in NESTED_ROOTS:
        raise SchemaMismatch(
            f"column {field.name!r} is {field.type}: only columns of single values can be compared", column=field.name
        )
    if value is None or isinstance(value, (list, dict, tuple)):
        raise _mismatch(field, value, "is not one value" if value is not None else "is null: nulls are accepted anyway")
    if root is TypeRoot.DECIMAL and isinstance(value, (float, str)):
        return _decimal(value, field)
    if root in _FLOATS and isinstance(value, int) and not isinstance(value, bool) and not _is_double(value):
        raise _mismatch(field, value, "has no exact double")
    try:
        storage_value(value, field)
    except SchemaMismatch as error:
        raise SchemaMismatch(f"{error}{_hint(value, root)}", column=field.name) from None
    literal: Literal = value
    return literal


def _decimal(value: float | str, field: DataField) -> Decimal:
    try:
        exact = Decimal(repr(value) if isinstance(value, float) else value.strip())
    except InvalidOperation:
        raise _mismatch(field, value, "is not a number") from None
    if not exact.is_finite():
        raise _mismatch(field, value, "is not a finite number")
    if isinstance(value, float) and len(exact.as_tuple().digits) > _DOUBLE_DIGITS:
        raise _mismatch(field, value, "has more digits than YAML keeps of a number: write it in quotes")
    return exact


def _is_double(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _hint(value: Any, root: TypeRoot) -> str:
    if root in STRING_ROOTS and isinstance(value, bool):
        return "; YAML reads yes, no, on and off as booleans: write texts in quotes"
    if root in (*STRING_ROOTS, TypeRoot.TIME) and not isinstance(value, str):
        return "; write it in quotes"
    if root in _FLOATS and isinstance(value, str):
        return "; write a number without quotes, with a point and a sign before an exponent, such as 1.0e+3"
    return ""


def _mismatch(field: DataField, value: Any, rule: str) -> SchemaMismatch:
    return SchemaMismatch(f"column {field.name!r} is {field.type}: {str(value)!r:.80} {rule}", column=field.name)
