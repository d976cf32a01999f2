"""Aggregate functions max and min over every comparable type, in the order of format 7.3; they ignore nulls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.positions import valid_rows
from paimon_core.lsm.aggregates.reductions import reduced
from paimon_core.lsm.aggregates.values import Numbers, column_of, has_nan, raw, skipping_nulls
from paimon_core.lsm.gather import Flags, contiguous, offsets_of, taken
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
            return self._of_numbers(contiguous(column), groups, valid_rows(column))
        codes = parts(column)[1 if column.null_count else 0 :]
        return skipping_nulls(column, groups, None, lambda array, dense, _: self._of_codes(array, codes, dense))

    def _of_numbers(self, array: pa.Array, groups: Groups, valid: Flags | None) -> pa.ChunkedArray:
        width, operation = array.type.bit_width // 8, np.maximum if self.largest else np.minimum
        if pa.types.is_floating(array.type) and _is_special(array):
            bits = raw(array, f"i{width}")
            found, known = reduced(operation, lambda rows: _ordered(taken(bits, rows)), groups, valid)
            found = _order_of_floats(found)
        else:
            values = raw(array, f"{'f' if pa.types.is_floating(array.type) else 'i'}{width}")
            found, known = reduced(operation, partial(taken, values), groups, valid)
        return pa.chunked_array([column_of(found, array.type, known)])

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


def _is_special(array: pa.Array) -> bool:
    """Whether floats include NaN or -0.0, for which numpy's extremes are not those of format 7.3."""
    width = array.type.bit_width // 8
    return has_nan(array) or bool((raw(array, f"i{width}") == np.iinfo(f"i{width}").min).any())


def _ordered(bits: Numbers) -> Numbers:
    """Convert bits of floats to integers of their order; every NaN becomes the canonical one."""
    kind = f"f{bits.itemsize}"
    nan = np.full(1, np.nan, kind).view(bits.dtype)
    return _order_of_floats(np.where(np.isnan(bits.view(kind)), nan, bits))


def _order_of_floats(bits: Numbers) -> Numbers:
    """Convert bits of floats to integers of the same order, -0.0 below 0.0. A second call restores the bits."""
    return np.asarray(bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max))
