"""BoundPredicate: a predicate on the columns of one schema, with literals as storage values.

A predicate has the same meaning for rows and for statistics. A row is selected when the predicate is true. A comparison
with a null is unknown, so it does not select the row, and ``~`` of unknown is unknown (SQL's three-valued logic).
Numbers, dates and decimals are ordered by value, strings and binary by unsigned bytes; False is less than True. Floats
have SQL's total order: NaN equals NaN and is greater than all other numbers, -0.0 equals 0.0. ``may_match`` is False
only if no row can match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.predicate.bound_column import BoundColumn
from paimon_core.predicate.kernels import FLOATS, pair_passes, passes
from paimon_core.predicate.op import Op
from paimon_core.predicate.statistics import Stats, pair_may_pass, value_may_pass
from paimon_core.schema import DataField

__all__ = ["BoundAnd", "BoundConstant", "BoundNested", "BoundOr", "BoundPair", "BoundPredicate", "BoundTest", "Op"]

Rows: TypeAlias = pa.Table | pa.RecordBatch
Truth: TypeAlias = pa.BooleanArray | pa.ChunkedArray
"""One value for each row: True for the selected rows, False or null for other rows."""


class BoundPredicate:
    """A conjunction, a disjunction or one test; created by ``Predicate.bind``."""

    __slots__ = ()

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns that the predicate reads."""
        raise NotImplementedError

    def mask(self, rows: Rows) -> Truth:
        """Return True for exactly the selected rows, and False or null for other rows.

        For few rows, this is much faster than ``Table.filter(to_arrow())``. Do not negate the result: where a test is
        unknown, the result may be False, and a negation would select the row.
        """
        raise NotImplementedError

    def to_arrow(self) -> pc.Expression:
        """Return an Arrow expression that is true for exactly the selected rows, and false or null for other rows.

        Use the expression as a filter and do not negate it: where a test is unknown, the expression may be false, and a
        negation would select the row.
        """
        raise NotImplementedError

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Return False only if none of ``row_count`` rows with these statistics can match.

        ``stats`` may lack columns. The bounds may be wider than the values (truncated statistics). The bounds of a
        float column do not cover NaN, and do not determine the sign of a zero.
        """
        raise NotImplementedError

    def equality_values(self, column: str) -> tuple[Any, ...] | None:
        """Return the storage values that ``column`` can have when the predicate is true; None if it can have any value.

        Always None for a column of floats, because equal floats (0.0 and -0.0, or two NaNs) can have different bytes
        and therefore different buckets.
        """
        return None

    def conjuncts(self) -> tuple[BoundPredicate, ...]:
        """Return the predicates that must all be true: the parts of a conjunction, otherwise the predicate itself."""
        return (self,)

    def only(self, columns: Collection[str]) -> BoundPredicate | None:
        """Return the conjunction of the conjuncts that read only these columns; None if there is no such conjunct.

        The result selects every row that the whole predicate selects, and may select more rows.
        """
        parts = tuple(p for p in self.conjuncts() if p.columns <= set(columns))
        return None if not parts else parts[0] if len(parts) == 1 else BoundAnd(parts)


_CHAIN = 32
"""Maximum number of parts in one Arrow chain of "and" or of "or"."""


def _joined(join: Callable[[Any, Any], Any], parts: Sequence[pc.Expression]) -> pc.Expression:
    """Join the parts (at least one) in their order.

    Arrow flattens nested calls of one function into a chain, and processes the chain recursively and in quadratic time.
    So chains are limited to ``_CHAIN`` parts: a double negation, which does not change the value, ends a chain.
    """
    layer = list(parts)
    while len(layer) > _CHAIN:
        layer = [~~reduce(join, layer[at : at + _CHAIN]) for at in range(0, len(layer), _CHAIN)]
    return reduce(join, layer)


@dataclass(frozen=True, slots=True)
class BoundAnd(BoundPredicate):
    """A conjunction: true when all parts are true."""

    parts: tuple[BoundPredicate, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns of all parts."""
        return frozenset().union(*(p.columns for p in self.parts))

    def mask(self, rows: Rows) -> Truth:
        """Return the masks of the parts, joined by Kleene's "and" (SQL's three-valued logic)."""
        return reduce(pc.and_kleene, (p.mask(rows) for p in self.parts))

    def to_arrow(self) -> pc.Expression:
        """Return the expressions of the parts, joined by Kleene's "and"."""
        return _joined(and_, [p.to_arrow() for p in self.parts])

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Whether every part may match."""
        return all(p.may_match(stats, row_count) for p in self.parts)

    def equality_values(self, column: str) -> tuple[Any, ...] | None:
        """Return the values that every part that restricts the column allows; None if no part restricts the column."""
        found = [v for v in (p.equality_values(column) for p in self.parts) if v is not None]
        if not found:
            return None
        shared = set(found[0]).intersection(*found[1:])
        return tuple(v for v in found[0] if v in shared)

    def conjuncts(self) -> tuple[BoundPredicate, ...]:
        """Return the parts."""
        return self.parts


@dataclass(frozen=True, slots=True)
class BoundOr(BoundPredicate):
    """A disjunction: true when at least one part is true."""

    parts: tuple[BoundPredicate, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns of all parts."""
        return frozenset().union(*(p.columns for p in self.parts))

    def mask(self, rows: Rows) -> Truth:
        """Return the masks of the parts, joined by Kleene's "or" (SQL's three-valued logic)."""
        return reduce(pc.or_kleene, (p.mask(rows) for p in self.parts))

    def to_arrow(self) -> pc.Expression:
        """Return the expressions of the parts, joined by Kleene's "or"."""
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
    """A comparison of one column with ``values``, which are storage values.

    For IN and NOT_IN the values are distinct and ascending, with NaN last.
    """

    op: Op
    field: DataField
    values: tuple[Any, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The column of the test."""
        return frozenset((self.field.name,))

    def mask(self, rows: Rows) -> Truth:
        """Return the truth of the test for each row."""
        return passes(self.op, self.values, self.field.type, BoundColumn(self.field.name, self.field).of(rows))

    def to_arrow(self) -> pc.Expression:
        """Return the test as an Arrow expression, with NaN and zeros ordered as the module docstring defines."""
        return passes(self.op, self.values, self.field.type, pc.field(self.field.name))

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Whether a value within the bounds can pass the test."""
        low, high, nulls = stats.get(self.field.name, (None, None, None))
        if self.op is Op.IS_NULL:
            return nulls is None or nulls > 0
        if nulls is not None and nulls >= row_count:
            return False
        if self.op is Op.NOT_NULL or low is None or high is None:
            return True
        return value_may_pass(self.op, self.values, low, high, is_float=self.field.type.root in FLOATS)

    def equality_values(self, column: str) -> tuple[Any, ...] | None:
        """Return the values if the test is == or IN on ``column``, and the column has no floats; otherwise None."""
        if column != self.field.name or self.op not in (Op.EQ, Op.IN) or self.field.type.root in FLOATS:
            return None
        return self.values


@dataclass(frozen=True, slots=True)
class BoundNested(BoundPredicate):
    """A test of a field of a ROW, or of the value of a key of a MAP. Such values have no statistics and no indexes."""

    op: Op
    column: BoundColumn
    values: tuple[Any, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The column that contains the field."""
        return frozenset((self.column.root,))

    def mask(self, rows: Rows) -> Truth:
        """Return the truth of the test for each row."""
        return passes(self.op, self.values, self.column.field.type, self.column.of(rows))

    def to_arrow(self) -> pc.Expression:
        """Return the test on the field as an Arrow expression."""
        return passes(self.op, self.values, self.column.field.type, self.column.to_arrow())

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Whether a row may match, by the null count only.

        True if the test is IS NULL, or if a value of the column is not null: no bounds of the nested values are known.
        """
        _, _, nulls = stats.get(self.column.root, (None, None, None))
        return self.op is Op.IS_NULL or nulls is None or nulls < row_count


@dataclass(frozen=True, slots=True)
class BoundPair(BoundPredicate):
    """A comparison of two columns, whose values are cast to one type that contains the values of both."""

    op: Op
    left: BoundColumn
    right: BoundColumn
    common: pa.DataType

    @property
    def columns(self) -> frozenset[str]:
        """The two columns."""
        return frozenset((self.left.root, self.right.root))

    def mask(self, rows: Rows) -> Truth:
        """Return the truth of the comparison for each row."""
        return pair_passes(self.op, self.left.of(rows), self.right.of(rows), self.common)

    def to_arrow(self) -> pc.Expression:
        """Return the comparison of the cast columns as an Arrow expression."""
        return pair_passes(self.op, self.left.to_arrow(), self.right.to_arrow(), self.common)

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Whether values within the bounds of both columns can pass; bounds of floats do not cover NaN and are not
        used.
        """
        bounds = []
        for column in (self.left, self.right):
            low, high, nulls = stats.get(column.root, (None, None, None))
            if nulls is not None and nulls >= row_count:
                return False
            bounds.append((low, high) if not column.steps else (None, None))
        if pa.types.is_floating(self.common) or any(bound is None for pair in bounds for bound in pair):
            return True
        return pair_may_pass(self.op, bounds[0], bounds[1])


@dataclass(frozen=True, slots=True)
class BoundConstant(BoundPredicate):
    """A predicate that is true for all rows or for no row; binding removes constants inside of other predicates."""

    value: bool

    @property
    def columns(self) -> frozenset[str]:
        """No column."""
        return frozenset()

    def mask(self, rows: Rows) -> Truth:
        """Return the value for each row."""
        return pa.array(np.full(rows.num_rows, self.value))

    def to_arrow(self) -> pc.Expression:
        """Return the value as an Arrow expression."""
        return pc.scalar(self.value)

    def may_match(self, stats: Stats, row_count: int) -> bool:
        """Whether the value is true."""
        return self.value

    def equality_values(self, column: str) -> tuple[Any, ...] | None:
        """Return () when the predicate selects no row, otherwise None."""
        return None if self.value else ()
