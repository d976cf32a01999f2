"""Sum and product of FLOAT and DOUBLE, strictly from first to last in the column's own width (format 9.5).

The order of floating-point operations affects the last bits, so reductions that combine values pairwise cannot be used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.rounds import left_to_right
from paimon_core.lsm.aggregates.values import Numbers, column_of, raw, skipping_nulls
from paimon_core.lsm.key_groups import Groups

_ROUNDS = 32
"""Groups of at most this number of rows are combined in rounds: one row of every group in each."""


@dataclass(frozen=True, slots=True)
class FloatSum:
    """The sum of the values; retracts are subtracted."""

    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the sum of each group; infinities and NaN are ordinary results."""
        return skipping_nulls(column, groups, retracts, self._step)

    def _step(self, array: pa.Array, groups: Groups, retracts: Retracts | None) -> pa.Array:
        values = raw(array, array.type.to_pandas_dtype())[groups.order]
        if retracts is not None:
            values = np.where(retracts[groups.order], -values, values)
        return column_of(_in_order(np.add, values, groups), array.type)


@dataclass(frozen=True, slots=True)
class FloatProduct:
    """The product of the values; a retract divides the product."""

    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the product of each group; infinities and NaN are ordinary results."""
        return skipping_nulls(column, groups, retracts, self._step)

    def _step(self, array: pa.Array, groups: Groups, retracts: Retracts | None) -> pa.Array:
        values = raw(array, array.type.to_pandas_dtype())
        if retracts is None:
            return column_of(_in_order(np.multiply, values[groups.order], groups), array.type)
        with np.errstate(all="ignore"):
            products, known = left_to_right(
                values, groups, retracts, add=lambda a, b: (a * b, None), take_back=lambda a, b: (a / b, None)
            )
        return column_of(products, array.type, known)


def _in_order(operation: np.ufunc, values: Numbers, groups: Groups) -> Numbers:
    """Return one result per group. ``values`` are in the order of the groups, which are compact and not empty."""
    folded = values[groups.starts]
    with np.errstate(all="ignore"):
        if int(groups.lengths.max(initial=0)) > _ROUNDS:
            rest = np.ones(len(values), np.bool_)
            rest[groups.starts] = False
            operation.at(folded, np.repeat(np.arange(len(groups)), groups.lengths - 1), values[rest])
            return folded
        longer, at = np.flatnonzero(groups.lengths > 1), 1
        while len(longer):
            folded[longer] = operation(folded[longer], values[groups.starts[longer] + at])
            at += 1
            longer = longer[groups.lengths[longer] > at]
    return folded
