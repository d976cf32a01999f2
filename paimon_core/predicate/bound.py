"""BoundPredicate: a predicate on the columns of one schema, with literals as storage values.

It has the same meaning for rows and for statistics. A row is selected when the predicate is true; a comparison with a
null is unknown, which is not true, and ``~`` of unknown is unknown (SQL's three-valued logic). Numbers, dates and
decimals are ordered by value, strings and binary by unsigned bytes, False before True. Floats have SQL's total order:
NaN equals NaN and is greater than all other numbers, -0.0 equals 0.0. ``may_match`` is False only if no row can match.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import SchemaMismatch
from paimon_core.predicate.literal import Literal, storage_value
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TypeRoot

Stats = Mapping[str, tuple[Any, Any, int | None]]
"""By column: minimum and maximum (storage values that bound all non-null values) and null count; None: unknown."""


class Op(StrEnum):
    """The operator of a comparison; the value is its text."""

    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    IN = "in"
    NOT_IN = "not in"
    STARTS = "starts with"
    NOT_STARTS = "does not start with"
    IS_NULL = "is null"
    NOT_NULL = "is not null"

    @property
    def negated(self) -> Op:
        """The operator that is true where this one is false; both are unknown for the same rows."""
        return _NEGATED[self]


_OPPOSITES = (
    (Op.EQ, Op.NE),
    (Op.LT, Op.GE),
    (Op.GT, Op.LE),
    (Op.IN, Op.NOT_IN),
    (Op.STARTS, Op.NOT_STARTS),
    (Op.IS_NULL, Op.NOT_NULL),
)
_NEGATED = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}


class BoundPredicate:
    """A conjunction, a disjunction or one test; created by ``Predicate.bind``."""

    __slots__ = ()

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns that the predicate reads."""
        raise NotImplementedError

    def to_arrow(self) -> pc.Expression:
        """Return an Arrow expression that is true for exactly the selected rows, and false or null for other rows.

        Use it as a filter and do not negate it: a test in it may be false where its meaning is unknown.
        """
        raise NotImplementedError

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Return False only if none of ``row_count`` rows with these statistics can match; a missing column is unknown.

        The bounds may be wider than the values (truncated statistics). Float columns may contain NaN and both zeros
        whatever their bounds are.
        """
        raise NotImplementedError

    def equality_values(self, column: str) -> tuple[Any, ...] | None:
        """Return the storage values that ``column`` can have when the predicate is true; None for any values.

        None for floats too: equal floats (two zeros, many NaNs) have different bytes and thus different buckets.
        """
        return None

    def conjuncts(self) -> tuple[BoundPredicate, ...]:
        """Return the parts that must all be true: those of a conjunction, otherwise the predicate itself."""
        return (self,)

    def only(self, columns: Collection[str]) -> BoundPredicate | None:
        """Return the conjunction of the conjuncts that read only these columns; None if there is none.

        It is weaker: it selects every row that the whole predicate selects.
        """
        parts = tuple(p for p in self.conjuncts() if p.columns <= set(columns))
        return None if not parts else parts[0] if len(parts) == 1 else BoundAnd(parts)


_CHAIN = 32
"""Maximum number of parts in one Arrow chain of "and" or of "or"."""


def _joined(join: Callable[[Any, Any], Any], parts: Sequence[pc.Expression]) -> pc.Expression:
    """Join the parts, at least one, in their order.

    Arrow flattens nested calls of one function into a chain, which it processes recursively and in quadratic time. A
    double negation, which does not change the value, ends a chain.
    """
    layer = list(parts)
    while len(layer) > _CHAIN:
        layer = [~~reduce(join, layer[at : at + _CHAIN]) for at in range(0, len(layer), _CHAIN)]
    return reduce(join, layer)


@dataclass(frozen=True, slots=True)
class BoundAnd(BoundPredicate):
    """All parts are true."""

    parts: tuple[BoundPredicate, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns of all parts."""
        return frozenset().union(*(p.columns for p in self.parts))

    def to_arrow(self) -> pc.Expression:
        """Return the parts, joined by Kleene's and."""
        return _joined(and_, [p.to_arrow() for p in self.parts])

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Whether every part may match."""
        return all(p.may_match(stats, row_count) for p in self.parts)

    def equality_values(self, column: str) -> tuple[Any, ...] | None:
        """Return the values that are common to all parts that restrict the column."""
        found = [v for v in (p.equality_values(column) for p in self.parts) if v is not None]
        if not found:
            return None
        shared = set(found[0]).intersection(*found[1:])
        return tuple(v for v in found[0] if v in shared)

    def conjuncts(self) -> tuple[BoundPredicate, ...]:
        """The parts."""
        return self.parts


@dataclass(frozen=True, slots=True)
class BoundOr(BoundPredicate):
    """At least one part is true."""

    parts: tuple[BoundPredicate, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns of all parts."""
        return frozenset().union(*(p.columns for p in self.parts))

    def to_arrow(self) -> pc.Expression:
        """Return the parts, joined by Kleene's or."""
        return _joined(or_, [p.to_arrow() for p in self.parts])

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Whether at least one part may match."""
        return any(p.may_match(stats, row_count) for p in self.parts)

    def equality_values(self, column: str) -> tuple[Any, ...] | None:
        """Return the values of all parts if every part restricts the column, otherwise None."""
        out: dict[Any, None] = {}
        for part in self.parts:
            values = part.equality_values(column)
            if values is None:
                return None
            out.update(dict.fromkeys(values))
        return tuple(out)


@dataclass(frozen=True, slots=True)
class BoundTest(BoundPredicate):
    """One comparison; ``values`` are storage values, for IN and NOT_IN distinct and ascending (NaN last)."""

    op: Op
    field: DataField
    values: tuple[Any, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The column of the test."""
        return frozenset((self.field.name,))

    @property
    def _is_float(self) -> bool:
        return self.field.type.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE)

    def to_arrow(self) -> pc.Expression:
        """Return the test, with NaN and zeros ordered as the module docstring defines."""
        column = pc.field(self.field.name)
        if self.op is Op.IS_NULL:
            return column.is_null()
        if self.op is Op.NOT_NULL:
            return column.is_valid()
        if self._is_float:
            return _float_to_arrow(column, self.op, self.values, self.field.type.to_arrow())
        arrow = self.field.type.to_arrow()
        if self.op in (Op.STARTS, Op.NOT_STARTS):
            starts = pc.starts_with(column, pattern=self.values[0])
            return starts if self.op is Op.STARTS else ~starts
        if self.op in (Op.IN, Op.NOT_IN):
            inside = column.isin(pa.array(self.values, arrow))
            return inside if self.op is Op.IN else column.is_valid() & ~inside
        return _COMPARE[self.op](column, pa.scalar(self.values[0], arrow))

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Whether a value within the bounds can pass the test."""
        low, high, nulls = stats.get(self.field.name, (None, None, None))
        if self.op is Op.IS_NULL:
            return nulls is None or nulls > 0
        if nulls is not None and nulls >= row_count:
            return False
        if self.op is Op.NOT_NULL or low is None or high is None:
            return True
        if self._is_float:
            return _floats_may_match(self.op, self.values, low, high)
        return _RANGE_TESTS[self.op](low, high, self.values)

    def equality_values(self, column: str) -> tuple[Any, ...] | None:
        """Return the values of == and IN on that column, otherwise None."""
        if column != self.field.name or self.op not in (Op.EQ, Op.IN) or self._is_float:
            return None
        return self.values


_COMPARE: dict[Op, Callable[[Any, Any], Any]] = {
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}


def _float_to_arrow(column: pc.Expression, op: Op, values: Sequence[float], arrow: pa.DataType) -> pc.Expression:
    nan = pc.is_nan(column)
    if op in (Op.IN, Op.NOT_IN):
        # Arrow compares bits: a zero is listed with both signs, and NaN is tested with is_nan.
        bits = [v for v in values if not math.isnan(v) and v != 0] + [0.0, -0.0] * any(v == 0 for v in values)
        inside = column.isin(pa.array(bits, arrow))
        if any(map(math.isnan, values)):
            inside = inside | nan
        return inside if op is Op.IN else column.is_valid() & ~inside
    value = values[0]
    if math.isnan(value):
        match op:
            case Op.EQ | Op.GE:
                return nan
            case Op.NE | Op.LT:
                return ~nan
            case Op.LE:
                return column.is_valid()
        return nan & ~nan
    test = _COMPARE[op](column, pa.scalar(value, arrow))
    return test | nan if op in (Op.GT, Op.GE, Op.NE) else test


def _floats_may_match(op: Op, values: Sequence[float], low: float, high: float) -> bool:
    if math.isnan(low) or math.isnan(high) or any(map(math.isnan, values)):
        return True
    if op in (Op.EQ, Op.LT, Op.LE, Op.IN):
        return _RANGE_TESTS[op](low, high, values)
    return True  # a NaN, which no bounds cover, passes the other tests


def _some_inside(low: Any, high: Any, values: Sequence[Any]) -> bool:
    at = bisect_left(values, low)
    return at < len(values) and values[at] <= high


_RANGE_TESTS: dict[Op, Callable[[Any, Any, Sequence[Any]], bool]] = {
    Op.EQ: lambda low, high, v: low <= v[0] <= high,
    Op.NE: lambda low, high, v: not low == v[0] == high,
    Op.LT: lambda low, high, v: low < v[0],
    Op.LE: lambda low, high, v: low <= v[0],
    Op.GT: lambda low, high, v: high > v[0],
    Op.GE: lambda low, high, v: high >= v[0],
    Op.IN: _some_inside,
    Op.NOT_IN: lambda low, high, v: not (low == high and _some_inside(low, high, v)),
    # Code points have the same order as their UTF-8 bytes, so text is compared directly.
    Op.STARTS: lambda low, high, v: low[: len(v[0])] <= v[0] <= high,
    Op.NOT_STARTS: lambda low, high, v: not (low.startswith(v[0]) and high.startswith(v[0])),
}


def bind_test(op: Op, field: DataField, literals: Sequence[Literal]) -> BoundPredicate:
    """Return the test with literals converted to ``field``; raises SchemaMismatch naming the column.

    A comparison with an inexact literal is replaced by an equivalent one with the next storage value below.
    """
    if op in (Op.STARTS, Op.NOT_STARTS) and field.type.root not in STRING_ROOTS | BINARY_ROOTS:
        raise SchemaMismatch(
            f"column {field.name!r} is {field.type}: only text and binary columns support startswith", column=field.name
        )
    bound = [storage_value(v, field) for v in literals]
    if op in (Op.IN, Op.NOT_IN):
        exact = {value for value, equal in bound if equal}
        nans = sorted(v for v in exact if v != v)[:1]
        return BoundTest(op, field, (*sorted(v for v in exact if v == v), *nans))
    if not bound or bound[0][1]:
        return BoundTest(op, field, tuple(value for value, _ in bound))
    floor = bound[0][0]
    match op:
        case Op.EQ:
            return BoundTest(Op.IN, field)
        case Op.NE:
            return BoundTest(Op.NOT_NULL, field)
        case Op.LT | Op.LE:
            return BoundTest(Op.LE, field, (floor,))
    return BoundTest(Op.GT, field, (floor,))
