"""Kernels: evaluate one test on a column that is an Arrow array or an Arrow expression.

Floats have SQL's total order: NaN equals NaN and is greater than all other numbers, -0.0 equals 0.0. The result for a
null value is null (unknown). For IN, the result may be False instead of null, which selects the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.predicate.like import arrow_pattern
from paimon_core.predicate.op import Op
from paimon_core.types import DataType, TypeRoot

Operand = Any
"""A pa.Array, a pa.ChunkedArray or a pc.Expression."""

FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})

COMPARE: dict[Op, Callable[[Any, Any], Any]] = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}


def passes(op: Op, values: Sequence[Any], dtype: DataType, column: Operand) -> Operand:
    """Return for each value of ``column`` whether it passes the test; ``values`` are storage values of ``dtype``."""
    if op is Op.IS_NULL:
        return pc.is_null(column)
    if op is Op.NOT_NULL:
        return pc.is_valid(column)
    if dtype.root in FLOATS:
        return _float_passes(column, op, values, dtype.to_arrow())
    if op in _OF_TEXT:
        return _OF_TEXT[op](column, values[0])
    if op.negated in _OF_TEXT:
        return pc.invert(_OF_TEXT[op.negated](column, values[0]))
    arrow = dtype.to_arrow()
    if op in (Op.IN, Op.NOT_IN):
        return _listed(op, column, pc.is_in(column, value_set=pa.array(values, arrow)))
    return COMPARE[op](column, pa.scalar(values[0], arrow))


_OF_TEXT: dict[Op, Callable[[Any, Any], Any]] = {
    Op.STARTS: lambda column, part: pc.starts_with(column, pattern=part),
    Op.ENDS: lambda column, part: pc.ends_with(column, pattern=part),
    Op.CONTAINS: lambda column, part: pc.match_substring(column, pattern=part),
    Op.LIKE: lambda column, pattern: pc.match_substring_regex(column, pattern=arrow_pattern(pattern)),
}


def _listed(op: Op, column: Operand, inside: Operand) -> Operand:
    return inside if op is Op.IN else pc.and_kleene(pc.is_valid(column), pc.invert(inside))


def _float_passes(column: Operand, op: Op, values: Sequence[float], arrow: pa.DataType) -> Operand:
    if op in (Op.IN, Op.NOT_IN):
        # is_in compares the bits of floats. So a zero is listed with both signs, and NaN is tested with is_nan.
        bits = [v for v in values if not math.isnan(v) and v != 0] + [0.0, -0.0] * any(v == 0 for v in values)
        inside = pc.is_in(column, value_set=pa.array(bits, arrow))
        if any(map(math.isnan, values)):
            inside = pc.or_kleene(inside, pc.is_nan(column))
        return _listed(op, column, inside)
    value = values[0]
    if math.isnan(value):
        nan = pc.is_nan(column)
        match op:
            case Op.EQ | Op.GE:
                return nan
            case Op.NE | Op.LT:
                return pc.invert(nan)
            case Op.LE:
                return pc.is_valid(column)
        return pc.and_kleene(nan, pc.invert(nan))
    test = COMPARE[op](column, pa.scalar(value, arrow))
    return pc.or_kleene(test, pc.is_nan(column)) if op in (Op.GT, Op.GE, Op.NE) else test


def pair_passes(op: Op, left: Operand, right: Operand, common: pa.DataType) -> Operand:
    """Return for each row whether the values of two columns, both cast to ``common``, pass the comparison."""
    left, right = cast_to(left, common), cast_to(right, common)
    if not pa.types.is_floating(common):
        return COMPARE[op](left, right)
    nan, other = pc.is_nan(left), pc.is_nan(right)
    match op:
        case Op.EQ | Op.NE:
            test = pc.or_kleene(pc.equal(left, right), pc.and_kleene(nan, other))
        case Op.LT | Op.GE:
            test = pc.or_kleene(pc.less(left, right), pc.and_kleene(other, pc.invert(nan)))
        case _:
            test = pc.or_kleene(pc.greater(left, right), pc.and_kleene(nan, pc.invert(other)))
    return pc.invert(test) if op in (Op.NE, Op.GE, Op.LE) else test


def cast_to(column: Operand, arrow: pa.DataType) -> Operand:
    """Return the column cast to the Arrow type ``arrow``, for example from a dictionary or from large_string."""
    if isinstance(column, pc.Expression):
        return column.cast(arrow)
    return column if column.type == arrow else column.cast(arrow)
