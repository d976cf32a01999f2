"""Sum and product of DECIMAL, computed on unscaled values (format 9.5).

Results have the column's precision and scale. With 19 or more digits, a sum that exceeds the precision becomes null,
and the next value starts a new sum. With up to 18 digits, a sum becomes null only when it exceeds 64 bits; a final sum
that fits into 64 bits but exceeds the precision is an error in this library. A product is rounded half up to the scale,
and is null if it exceeds the precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.integers import overflow
from paimon_core.lsm.aggregates.positions import valid_rows
from paimon_core.lsm.aggregates.reductions import reduced
from paimon_core.lsm.aggregates.rounds import left_to_right
from paimon_core.lsm.aggregates.values import Numbers, Valid, column_of, raw, skipping_nulls
from paimon_core.lsm.gather import Flags, Positions, contiguous, taken
from paimon_core.lsm.key_groups import Groups

LARGEST_COMPACT = 18
"""The largest number of digits with which the unscaled value is stored in 64 bits."""
_HALF = np.int64(32)
_LOW = np.int64(2**32 - 1)


@dataclass(frozen=True, slots=True)
class DecimalSum:
    """The sum of the values; retracts are subtracted."""

    column: str
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the sum of each group.

        Raises InvalidRequest if a sum exceeds the precision of a column of up to 18 digits.
        """
        if column.type.precision <= LARGEST_COMPACT:
            array = contiguous(column)
            low = np.ascontiguousarray(raw(array, np.int64, 2)[::2])
            largest = max(-int(low.min(initial=0)), int(low.max(initial=0)))
            if largest * groups.longest < 2**63:
                return self._of_one_word(array.type, low, groups, retracts, valid_rows(column))
        return skipping_nulls(column, groups, retracts, self._step)

    def _of_one_word(
        self, kind: pa.DataType, low: Numbers, groups: Groups, retracts: Retracts | None, valid: Flags | None
    ) -> pa.ChunkedArray:
        """Return the sums of values of one word whose sums fit into one word."""

        def read(rows: Positions) -> Numbers:
            chosen = taken(low, rows)
            return chosen if retracts is None else np.where(retracts[rows], -chosen, chosen)

        sums, known = reduced(np.add, read, groups, valid)
        self._check(sums if known is None else sums[known], kind)
        return pa.chunked_array([column_of(np.stack([sums, sums >> 63], axis=1), kind, known)])

    def _check(self, sums: Numbers, kind: pa.DataType) -> None:
        if (np.abs(sums) >= 10**kind.precision).any():
            raise overflow(self.column, "sum", kind)

    def _step(self, array: pa.Array, groups: Groups, retracts: Retracts | None) -> pa.Array:
        words = raw(array, np.int64, 2).reshape(-1, 2)
        compact = array.type.precision <= LARGEST_COMPACT
        limit = 2**63 - 1 if compact else 10**array.type.precision - 1
        low = np.ascontiguousarray(words[:, 0])[groups.order]
        high = low if compact else np.ascontiguousarray(words[:, 1])[groups.order]
        signs = None if retracts is None else 1 - 2 * retracts[groups.order].astype(np.int64)
        sums = _sum_of_one_word(low, signs, groups) if compact else _sum_of_two_words(low, high, signs, groups)
        unsure = _may_pass(limit, high, 1.0 if compact else 2.0**64, groups)
        known = np.ones(len(groups), np.bool_)
        if unsure.any():
            exact, known[unsure] = _sum_in_order(words, groups.keep(unsure), retracts, limit)
            sums[unsure] = _words(exact)
        if compact:
            self._check(sums[known, 0], array.type)
        return column_of(sums, array.type, known)


@dataclass(frozen=True, slots=True)
class DecimalProduct:
    """The product of the values; a retract divides the product. Slow: Python integers are multiplied one by one."""

    column: str
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the product of each group.

        Raises InvalidRequest for a division by zero and for a quotient with infinitely many digits.
        """
        return skipping_nulls(column, groups, retracts, self._step)

    def _step(self, array: pa.Array, groups: Groups, retracts: Retracts | None) -> pa.Array:
        unit, limit = 10**array.type.scale, 10**array.type.precision - 1

        def multiply(folded: Numbers, more: Numbers) -> tuple[Numbers, Valid]:
            return _within(_half_up(folded * more, np.full(len(more), unit, object)), limit)

        def divide(folded: Numbers, more: Numbers) -> tuple[Numbers, Valid]:
            if not more.all():
                raise InvalidRequest(f"column {self.column!r}: product cannot retract 0", column=self.column)
            if (10**127 % (abs(more) // np.gcd(folded, more)) != 0).any():
                raise InvalidRequest(
                    f"column {self.column!r}: product cannot retract a factor if the quotient has no last digit",
                    column=self.column,
                )
            return _within(_half_up(folded * unit, more), limit)

        values = _integers(raw(array, np.int64, 2).reshape(-1, 2))
        products, known = left_to_right(values, groups, retracts, add=multiply, take_back=divide)
        return column_of(_words(products), array.type, known)


def _may_pass(limit: int, words: Numbers, unit: float, groups: Groups) -> Valid:
    """Return one boolean per group: whether an intermediate sum may exceed ``limit``.

    The sums are estimated from the leading words.
    """
    depth = int(groups.lengths.max(initial=0))
    largest = max(int(words.max(initial=0)), -int(words.min(initial=0))) + 1
    if largest * unit * depth < limit * 0.999:
        return np.zeros(len(groups), np.bool_)
    sizes = (np.abs(words).astype(np.float64) + 1) * unit
    return np.asarray(np.add.reduceat(sizes, groups.starts) > limit * 0.999)


def _sum_of_one_word(low: Numbers, signs: Numbers | None, groups: Groups) -> Numbers:
    """Return the sums modulo 2**64 of values that fit into one word; each sum is given as two words."""
    values = low if signs is None else low * signs
    sums = np.add.reduceat(values, groups.starts) if len(groups) else np.zeros(0, np.int64)
    return np.stack([sums, sums >> 63], axis=1)


def _sum_of_two_words(low: Numbers, high: Numbers, signs: Numbers | None, groups: Groups) -> Numbers:
    """Return sums modulo 2**128: 32-bit pieces are summed separately without overflow, then the carries are added."""
    carry = np.zeros(len(groups), np.int64)
    pieces = []
    for piece in (low & _LOW, (low >> _HALF) & _LOW, high & _LOW, high >> _HALF):
        signed = piece if signs is None else piece * signs
        total = carry + (np.add.reduceat(signed, groups.starts) if len(groups) else carry)
        pieces.append(total & _LOW)
        carry = total >> _HALF
    return np.stack([pieces[0] | pieces[1] << _HALF, pieces[2] | pieces[3] << _HALF], axis=1)


def _sum_in_order(words: Numbers, groups: Groups, retracts: Retracts | None, limit: int) -> tuple[Numbers, Valid]:
    """Return (sums, valid): exact sums, and whether each is not null. A sum becomes null when it exceeds ``limit``."""
    return left_to_right(
        _integers(words),
        groups,
        retracts,
        add=lambda folded, more: _within(folded + more, limit),
        take_back=lambda folded, more: _within(folded - more, limit),
        open_with_retract=lambda values: -values,
    )


def _within(values: Numbers, limit: int) -> tuple[Numbers, Valid]:
    return values, np.asarray(abs(values) <= limit, np.bool_)


def _half_up(values: Numbers, divisors: Numbers) -> Numbers:
    """Return the quotients rounded to the nearest integer; halves are rounded away from zero."""
    size, by = abs(values), abs(divisors)
    rounded = (2 * size + by) // (2 * by)
    return np.asarray(np.where((values < 0) == (divisors < 0), rounded, -rounded))


def _integers(words: Numbers) -> Numbers:
    """Convert two words per value, the low one first, to Python integers."""
    high: Numbers = words[:, 1].astype(object) * 2**64
    low: Numbers = np.ascontiguousarray(words[:, 0]).view(np.uint64).astype(object)
    return np.asarray(high + low)


def _words(values: Numbers) -> Numbers:
    """Convert Python integers to two words per value; values of more than 128 bits, which are null, are arbitrary."""
    low = (values & (2**64 - 1)).astype(np.uint64).view(np.int64)
    high = (values >> 64 & (2**64 - 1)).astype(np.uint64).view(np.int64)
    return np.stack([low, high], axis=1)
