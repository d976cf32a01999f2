"""Sum and product of FLOAT and DOUBLE, strictly from first to last in the column's own width (format 9.5).

The order of floating-point operations affects the last bits, so reductions that combine values pairwise cannot be used.

A result that is computed and is NaN has the bits of the canonical NaN, because processors choose the bits of a NaN by
the order and the number of the operands. A single added value is a result without a computation, and keeps its bits. So
the result is the same whichever rows are merged first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.positions import valid_rows
from paimon_core.lsm.aggregates.reductions import reduced
from paimon_core.lsm.aggregates.rounds import left_to_right
from paimon_core.lsm.aggregates.values import Numbers, column_of, raw, skipping_nulls
from paimon_core.lsm.gather import Positions, contiguous, taken
from paimon_core.lsm.key_groups import Groups


@dataclass(frozen=True, slots=True)
class FloatSum:
    """The sum of the values; retracts are subtracted."""

    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the sum of each group; infinities and NaN are ordinary results."""
        return _in_order(np.add, column, groups, retracts)


@dataclass(frozen=True, slots=True)
class FloatProduct:
    """The product of the values; a retract divides the product."""

    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the product of each group; infinities and NaN are ordinary results."""
        if retracts is None:
            return _in_order(np.multiply, column, groups, None)
        return skipping_nulls(column, groups, retracts, self._step)

    def _step(self, array: pa.Array, groups: Groups, retracts: Retracts | None) -> pa.Array:
        values = raw(array, array.type.to_pandas_dtype())
        with np.errstate(all="ignore"):
            products, known = left_to_right(
                values,
                groups,
                retracts,
                add=lambda a, b: (_one_nan(a * b), None),
                take_back=lambda a, b: (_one_nan(a / b), None),
            )
        return column_of(products, array.type, known)


def _in_order(
    operation: np.ufunc, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None
) -> pa.ChunkedArray:
    """Return one result per group; a retracted value is negated first."""
    array, valid = contiguous(column), valid_rows(column)
    values = raw(array, array.type.to_pandas_dtype())

    def read(rows: Positions) -> Numbers:
        chosen = taken(values, rows)
        return chosen if retracts is None else np.where(retracts[rows], _one_nan(-chosen), chosen)

    results, known = reduced(operation, read, groups, valid)
    if np.isnan(results).any():  # what became NaN stays NaN, so without NaN in the results there was none
        results, known = reduced(operation, read, groups, valid, _one_nan)
    return pa.chunked_array([column_of(results, array.type, known)])


def _one_nan(values: Numbers) -> Numbers:
    """Replace every NaN by the canonical one."""
    return np.where(np.isnan(values), values.dtype.type(np.nan), values)
