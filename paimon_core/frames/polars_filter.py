"""Polars filter: translates the parts of a polars expression that have an equal predicate of a scan.

An expression is read from its JSON form. The JSON form is not stable between versions of polars: a part with an unknown
node is not translated, and only polars applies this part. Polars and predicates order floats in the same way: NaN
equals NaN and is the greatest number. In a conjunction the parts that cannot be translated are left out, so the
predicate may be true for more rows than the expression, never for fewer.
"""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from paimon_core.errors import PaimonError
from paimon_core.predicate import Predicate, col

_FLIPPED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_COMPARE: dict[str, Callable[[Any, Any], Predicate]] = {
    "Eq": lambda a, b: a == b,
    "NotEq": lambda a, b: a != b,
    "Lt": lambda a, b: a < b,
    "LtEq": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "GtEq": lambda a, b: a >= b,
}
_BOUNDS = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}
_UNITS = {"Milliseconds": 1_000, "Microseconds": 1}
_NUMBERS = tuple(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64))
_DYNAMIC = "dynamic_pred"


class _Unknown(Exception):
    """Raised for a node of the expression that cannot be translated."""


@dataclass(frozen=True)
class Filter:
    """A polars filter, and its translation for the scan."""

    expression: Any
    """The expression that polars applies to the rows; None: nothing is left to apply."""
    columns: tuple[str, ...]
    """The columns that the expression reads."""
    where: Predicate | None
    """A predicate that is true for every row for which the expression is true; None when no part of the expression
    could be translated.
    """

    @staticmethod
    def of(pl: Any, expression: Any) -> Filter | None:
        """Return the filter of a polars expression; None when ``expression`` is None."""
        if expression is None:
            return None
        columns = tuple(expression.meta.root_names())
        try:
            tree = json.loads(expression.meta.serialize(format="json"))
        except Exception:  # such as a Python function: the errors of polars differ between its versions
            return Filter(expression, columns, None)
        kept = _without_dynamic(tree)
        if kept is None:
            return Filter(None, columns, None)
        if kept is not tree:
            expression = pl.Expr.deserialize(io.BytesIO(json.dumps(kept).encode()), format="json")
        return Filter(expression, columns, translated(kept))


def _without_dynamic(tree: Any) -> Any:
    """Return the tree without the parts that polars adds as hints for a limit; None when nothing is left.

    Polars cannot evaluate the hints on a DataFrame, and polars applies the limit itself.
    """
    match tree:
        case {"Display": {"fmt_str": str(text)}} if text.startswith(_DYNAMIC):
            return None
        case {"BinaryExpr": {"op": "And", "left": left, "right": right} as node}:
            new_left, new_right = _without_dynamic(left), _without_dynamic(right)
            if new_left is left and new_right is right:
                return tree
            if new_left is None or new_right is None:
                return new_right if new_left is None else new_left
            return {"BinaryExpr": {**node, "left": new_left, "right": new_right}}
    return tree


def translated(tree: Any) -> Predicate | None:
    """Return a predicate that is true for every row for which ``tree`` is true; None when no part of ``tree`` could be
    translated."""
    try:
        return _predicate(tree)
    except (_Unknown, RecursionError, PaimonError):
        return None


def _predicate(tree: Any) -> Predicate:
    match tree:
        case {"BinaryExpr": {"op": "And", "left": left, "right": right}}:
            parts = [p for p in map(translated, (left, right)) if p is not None]
            if not parts:
                raise _Unknown
            return parts[0] if len(parts) == 1 else parts[0] & parts[1]
        case {"BinaryExpr": {"op": "Or", "left": left, "right": right}}:
            return _predicate(left) | _predicate(right)
        case {"BinaryExpr": {"op": str(op), "left": {"Column": str(name)}, "right": value}} if op in _COMPARE:
            return _COMPARE[op](col(name), _literal(value))
        case {"BinaryExpr": {"op": str(op), "left": value, "right": {"Column": str(name)}}} if op in _FLIPPED:
            return _COMPARE[_FLIPPED[op]](col(name), _literal(value))
        case {"Function": {"input": [{"Column": str(name)}, *inputs], "function": function}}:
            return _function(name, inputs, function)
    raise _Unknown


def _function(name: str, inputs: list[Any], function: Any) -> Predicate:
    match function:
        case {"Boolean": "IsNull"}:
            return col(name).is_null()
        case {"Boolean": "IsNotNull"}:
            return col(name).is_not_null()
        case {"Boolean": {"IsBetween": {"closed": str(closed)}}} if closed in _BOUNDS and len(inputs) == 2:
            low, high = _BOUNDS[closed]
            return _COMPARE[low](col(name), _literal(inputs[0])) & _COMPARE[high](col(name), _literal(inputs[1]))
        case {"Boolean": {"IsIn": {"nulls_equal": False}}} if len(inputs) == 1:
            return col(name).is_in(_values(inputs[0]))
        case {"StringExpr": "StartsWith"} if len(inputs) == 1:
            return col(name).startswith(_literal(inputs[0]))
    raise _Unknown


def _literal(tree: Any) -> Any:
    match tree:
        case {"Literal": {"Dyn": {"Int": int(value)}}}:
            return value
        case {"Literal": {"Dyn": {"Float": float(value)}}}:
            return value
        case {"Literal": {"Scalar": dict(scalar)}} if len(scalar) == 1:
            return _scalar(scalar)
    raise _Unknown


def _scalar(scalar: Mapping[str, Any]) -> Any:
    match scalar:
        case {"String": str(value)} | {"Boolean": bool(value)} | {"Float64": float(value)}:
            return value
        case {"Decimal": [int(value), *_, int(scale)]}:
            return Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -scale))
        case {"Date": int(days)}:
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=days)
        case {"Datetime": [int(value), str(unit), zone]} if unit in _UNITS:
            moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value * _UNITS[unit])
            return moment if zone is None else moment.replace(tzinfo=datetime.UTC)
    ((kind, value),) = scalar.items()
    if kind in _NUMBERS and isinstance(value, int):
        return value
    raise _Unknown


def _values(tree: Any) -> list[Any]:
    """Return the values of a list, which polars serializes as an Arrow stream; nulls are left out."""
    match tree:
        case {"Literal": {"Scalar": {"List": list(data)}}}:
            try:
                values = pa.ipc.open_stream(bytes(data)).read_all().column(0)
            except (pa.ArrowException, ValueError, OSError):
                raise _Unknown from None
            if pa.types.is_float32(values.type) or not _is_plain(values.type):
                raise _Unknown
            return [v for v in values.to_pylist() if v is not None]
    raise _Unknown


def _is_plain(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_date32(kind)
    )
