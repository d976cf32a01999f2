"""Aggregate functions max and min over every comparable type, in the order of format 7.3; they ignore nulls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.values import Numbers, column_of, raw, skipping_nulls
from paimon_core.lsm.gather import contiguous, offsets_of
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.order_codes import parts


@dataclass(frozen=True, slots=True)
class Extreme:
    """The largest value if ``largest``, otherwise the smallest value."""

    largest: bool
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the largest or smallest value of each group.

        Numbers and times are compared by value, other types by the integer arrays of ``order_codes``, one after the
        other.
        """
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_temporal(kind) or pa.types.is_floating(kind):
            return skipping_nulls(column, groups, None, self._of_numbers)
        codes = parts(column)[1 if column.null_count else 0 :]
        return skipping_nulls(column, groups, None, lambda array, dense, _: self._of_codes(array, codes, dense))

    def _of_numbers(self, array: pa.Array, groups: Groups, retracts: Retracts | None) -> pa.Array:
        floating = pa.types.is_floating(array.type)
        values = raw(array, f"{'f' if floating else 'i'}{array.type.bit_width // 8}")[groups.order]
        if not len(values):
            return array[:0]
        if not floating:
            return column_of(self._reduced(values, groups), array.type)
        bits = np.where(np.isnan(values), np.full(1, np.nan, values.dtype), values).view(f"i{values.itemsize}")
        return column_of(_order_of_floats(self._reduced(_order_of_floats(bits), groups)), array.type)

    def _of_codes(self, array: pa.Array, codes: list[Numbers], groups: Groups) -> pa.Array:
        """Return the extreme value of each group.

        Rows are compared by the first of ``codes``, then the second, and so on.
        """
        for part in codes if len(groups) else ():
            values = part[groups.order]
            leads = values == np.repeat(self._reduced(values, groups), groups.lengths)
            if not leads.all():
                before = offsets_of(leads)
                groups = Groups(groups.order[leads], before[groups.starts], before[groups.ends])
        return contiguous(array).take(pa.array(groups.first))

    def _reduced(self, values: Numbers, groups: Groups) -> Numbers:
        reduce = np.maximum.reduceat if self.largest else np.minimum.reduceat
        return np.asarray(reduce(values, groups.starts))


def _order_of_floats(bits: Numbers) -> Numbers:
    """Convert bits of floats to integers of the same order, -0.0 below 0.0. A second call restores the bits."""
    return np.asarray(bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max))
