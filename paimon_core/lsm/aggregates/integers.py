"""Sum and product of TINYINT, SMALLINT, INT and BIGINT: exact at every step, an overflow is an error (format 9.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.positions import valid_rows
from paimon_core.lsm.aggregates.reductions import reduced
from paimon_core.lsm.aggregates.rounds import left_to_right
from paimon_core.lsm.aggregates.values import Numbers, column_of, raw, skipping_nulls
from paimon_core.lsm.gather import Positions, contiguous, taken
from paimon_core.lsm.key_groups import Groups


@dataclass(frozen=True, slots=True)
class IntegerSum:
    """The sum of the values; retracts are subtracted."""

    column: str
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the sum of each group.

        Raises InvalidRequest when the sum or an intermediate sum does not fit into the type.
        """
        array = contiguous(column)
        kind = np.dtype(array.type.to_pandas_dtype())
        values = raw(array, kind)
        largest = max(-int(values.min(initial=0)), int(values.max(initial=0)))
        if largest * groups.longest > np.iinfo(kind).max:
            return skipping_nulls(column, groups, retracts, self._exact)

        def read(rows: Positions) -> Numbers:
            chosen = taken(values, rows)
            return chosen if retracts is None else np.where(retracts[rows], -chosen, chosen)

        sums, known = reduced(np.add, read, groups, valid_rows(column))
        return pa.chunked_array([column_of(sums, array.type, known)])

    def _exact(self, array: pa.Array, groups: Groups, retracts: Retracts | None) -> pa.Array:
        """Return the sums and check every intermediate sum.

        A 64-bit overflow is detected by the signs of the numbers.
        """
        kind = np.dtype(array.type.to_pandas_dtype())
        values = raw(array, kind)[groups.order].astype(np.int64, copy=False)
        minus = None if retracts is None else retracts[groups.order]
        changes = values if minus is None else np.where(minus, -values, values)
        totals = np.cumsum(changes)
        after = totals - np.repeat(totals[groups.starts] - changes[groups.starts], groups.lengths)
        before = after - changes
        if kind.itemsize < 8:
            over = (after > np.iinfo(kind).max) | (after < np.iinfo(kind).min)
        else:
            over = ((before ^ after) & (values ^ after)) < 0
            if minus is not None:
                over = np.where(minus, ((before ^ values) & (before ^ after)) < 0, over)
        if over.any():
            raise overflow(self.column, "sum", kind)
        return column_of(after[groups.ends - 1].astype(kind), array.type)


@dataclass(frozen=True, slots=True)
class IntegerProduct:
    """The product of the values; a retract divides the product, and the remainder is dropped."""

    column: str
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the product of each group.

        Raises InvalidRequest when an intermediate product does not fit into the type, and for a division by zero.
        """
        return skipping_nulls(column, groups, retracts, self._step)

    def _step(self, array: pa.Array, groups: Groups, retracts: Retracts | None) -> pa.Array:
        kind = np.dtype(array.type.to_pandas_dtype())
        values = raw(array, kind).astype(np.int64)
        limits = np.iinfo(kind)
        if retracts is None and len(groups):
            ordered = values[groups.order]
            # Zeros are replaced by ones in this bound, because an overflow before a zero is an error as well.
            with np.errstate(over="ignore"):
                bounds = np.multiply.reduceat(np.maximum(np.abs(ordered.astype(np.float64)), 1), groups.starts)
            if bounds.max() < limits.max * 0.999:
                return column_of(np.multiply.reduceat(ordered, groups.starts).astype(kind), array.type)

        def multiply(folded: Numbers, more: Numbers) -> tuple[Numbers, None]:
            products = folded * more
            wide = np.abs(folded.astype(np.float64) * more) >= 2.0**62
            exact = folded[wide].astype(object) * more[wide].astype(object)
            for found in (products[~wide], exact):
                if len(found) and not limits.min <= found.min() <= found.max() <= limits.max:
                    raise overflow(self.column, "product", kind)
            return products, None

        def divide(folded: Numbers, more: Numbers) -> tuple[Numbers, None]:
            if not more.all():
                raise InvalidRequest(f"column {self.column!r}: product cannot retract 0", column=self.column)
            if ((folded == limits.min) & (more == -1)).any():
                raise overflow(self.column, "product", kind)
            down = folded // more
            return down + ((down < 0) & (down * more != folded)), None

        products, known = left_to_right(values, groups, retracts, add=multiply, take_back=divide)
        return column_of(products.astype(kind), array.type, known)


def overflow(column: str, function: str, kind: object) -> InvalidRequest:
    """Return the error for a result that its column cannot represent."""
    return InvalidRequest(f"column {column!r}: {function} overflows {kind}", column=column, function=function)
