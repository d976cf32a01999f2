"""Key words: the key columns of rows as a leading word and more words, which sort without copying rows.

Most keys differ in the leading word, so one sort of numbers gives the order of the rows. The other words are compared
only for rows that are equal in the leading word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.gather import Flags, Positions, Rows, offsets_of, scratch
from paimon_core.lsm.order_codes import Codes, Ints, key_parts, leading_word
from paimon_core.lsm.text_words import different, is_image

_PRESORTED = 16
"""Rows count as sorted runs when at most one row in this number is less than the row before it."""
_BLOCK_ROWS = 1 << 13
"""The number of pairs of rows to compare at once, so that their texts fit into the processor's cache."""
_FEW_RUNS = 2
"""Fewer decreases than this number are at most this number of sorted runs."""
_FEW_ROWS, _FEW = 4096, 8
"""Values are packed if of so many rows, at most so many have the high bits of another value."""
_NARROW_BYTES = 2
"""numpy sorts integers of at most this width by a radix sort, which is stable and fast for every order."""


@dataclass(frozen=True, slots=True)
class KeyWords:
    """The keys of rows: ``leading``, one integer per row, then ``rest``, arrays of ``order_codes.key_parts``."""

    leading: Ints
    rest: tuple[Codes, ...] = ()

    @staticmethod
    def of(rows: pa.Table, key: Sequence[str]) -> KeyWords:
        """Return the words of the ``key`` columns (format 7.3)."""
        return KeyWords.of_parts([part for name in key for part in key_parts(rows[name])], len(rows))

    @staticmethod
    def of_parts(columns: Sequence[Codes], rows: int) -> KeyWords:
        """Return the words of arrays of ``order_codes.key_parts``, most significant first."""
        leading, rest = leading_word(columns, rows)
        return KeyWords(leading, tuple(rest))

    def __len__(self) -> int:
        return len(self.leading)

    def is_ascending(self, start: int, end: int) -> bool:
        """Whether each key of the rows from ``start`` to ``end`` is greater than the key of the row before it."""
        run = self.leading[start:end]
        if len(run) < 2:
            return True
        if np.greater(run[1:], run[:-1], out=scratch(len(run) - 1, np.bool_)).all():
            return True
        if not self.rest or (run[1:] < run[:-1]).any():
            return False
        equal = start + np.flatnonzero(run[1:] == run[:-1])
        return bool(before(self.rest, equal, equal + 1).all())

    def in_order(self) -> tuple[Positions, Flags]:
        """Return the rows in key order, and for each but the first whether its key is greater than the one before.

        Rows with equal keys keep their order.
        """
        order = stable_order(self.leading)
        sorted_ = np.take(self.leading, order, out=scratch(len(order), self.leading.dtype), mode="clip")
        opens = np.not_equal(sorted_[1:], sorted_[:-1], out=scratch(max(0, len(order) - 1), np.bool_))
        if self.rest:
            self._compare_rest(order, sorted_, opens)
        return order, opens

    def _compare_rest(self, order: Positions, leading: Ints, opens: Flags) -> None:
        """Correct ``order`` and ``opens``, which are right for the leading word, in place.

        ``leading``: the leading words in this order.
        """
        places = np.flatnonzero(~opens)
        wrong = places[_different_pairs(self.rest, order, places)]
        if not len(wrong):
            return
        places, numbers = _sort_ties(order, leading, wrong, self.rest)
        same = np.flatnonzero(numbers[1:] == numbers[:-1])
        rows = order[places]
        opens[places[same]] = _differs(self.rest, rows[same], rows[same + 1])


def _sort_ties(
    order: Positions, leading: Ints, wrong: Positions, columns: Sequence[Codes]
) -> tuple[Positions, Positions]:
    """Sort some rows of ``order`` by ``columns``, in place; return their places and the numbers of their groups.

    ``leading``, which ascends, has one value for each place; places with the value of a place in ``wrong``, which
    ascends and is not empty, are a group that is sorted. Rows that are equal in all columns keep their order.
    """
    values = leading[wrong]
    values = values[np.append(True, values[1:] != values[:-1])]
    starts = np.searchsorted(leading, values)
    lengths = np.searchsorted(leading, values, "right") - starts
    numbers = np.repeat(np.arange(len(values)), lengths)
    places = np.arange(len(numbers)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    rows = order[places]
    order[places] = rows[np.lexsort((*(column[rows] for column in reversed(columns)), numbers))]
    return places, numbers


def _different_pairs(columns: Sequence[Codes], order: Positions, places: Positions) -> Positions:
    """Return the numbers of the ``places`` whose row differs from the row at the next place."""
    found = []
    for start in range(0, len(places), _BLOCK_ROWS):
        block = places[start : start + _BLOCK_ROWS]
        found.append(start + np.flatnonzero(_differs(columns, order[block], order[block + 1])))
    return np.concatenate([np.zeros(0, np.int64), *found])


def before(columns: Sequence[Codes], one: Rows, other: Rows) -> Flags:
    """Return for each pair of rows whether row ``one`` is less than row ``other``: the first columns decide first."""
    found = np.zeros(len(one), np.bool_)
    left: slice | Positions = slice(None)
    for column in columns:
        mine, theirs = column[one], column[other]
        found[left] = mine < theirs
        ties = np.flatnonzero(mine == theirs)
        if not len(ties):
            break
        one, other, left = one[ties], other[ties], ties if isinstance(left, slice) else left[ties]
    return found


def stable_order(values: Ints) -> Positions:
    """Return the rows in the order of their values; rows with equal values keep their order.

    Two sorted runs are merged by numpy's stable sort. For other rows, numpy's sort of numbers is several times faster,
    because it uses the vector instructions of the processor, so the value and the row are packed into one number.
    """
    falls = _falls(values)
    if values.dtype.itemsize <= _NARROW_BYTES or falls < _FEW_RUNS:
        return np.argsort(values, kind="stable")
    order = _packed_order(values) if values.dtype.kind in "iu" else None
    if order is not None:
        return order
    return np.argsort(values, kind="stable") if falls * _PRESORTED <= len(values) else _order_of_shuffled(values)


def _falls(values: Ints) -> int:
    """Return how many values are less than the value before them."""
    return int(np.count_nonzero(np.less(values[1:], values[:-1], out=scratch(max(0, len(values) - 1), np.bool_))))


def _packed_order(values: Ints) -> Positions | None:
    """Return the stable order of the rows by a sort of numbers, each with the high bits of a value and the row.

    None if the low bits, for which there is no room, decide between too many rows.
    """
    low = int(values.min())
    row_bits = (len(values) - 1).bit_length()
    dropped = max(0, (int(values.max()) - low).bit_length() + row_bits - 64)
    if dropped and _ties(values[:_FEW_ROWS], low, dropped) > _FEW:
        return None
    packed = _high_bits(values, low, dropped)
    packed <<= np.uint64(row_bits)
    packed |= np.arange(len(values), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64(2**row_bits - 1)).view(np.int64)
    if not dropped:
        return order
    sorted_ = np.take(values, order, out=scratch(len(order), values.dtype), mode="clip")
    falls = np.flatnonzero(sorted_[1:] < sorted_[:-1])
    if len(falls) * _PRESORTED > len(values):
        return None
    if len(falls):
        packed >>= np.uint64(row_bits)
        _sort_ties(order, packed, falls, [values])
    return order


def _ties(values: Ints, low: int, dropped: int) -> int:
    """Return how many values have the high bits of another, smaller value."""
    sorted_ = np.sort(values)
    high = _high_bits(sorted_, low, dropped)
    return int(np.count_nonzero((high[1:] == high[:-1]) & (sorted_[1:] != sorted_[:-1])))


def _high_bits(values: Ints, low: int, dropped: int) -> npt.NDArray[np.uint64]:
    """Return the distances of the values from ``low``, without the lowest ``dropped`` bits."""
    found = scratch(len(values), np.uint64)
    np.copyto(found, values, casting="unsafe")
    found -= np.uint64(low % 2**64)
    found >>= np.uint64(dropped)
    return found


def _order_of_shuffled(values: Ints) -> Positions:
    """Return the stable order of rows without sorted runs: only rows with equal values are put into order."""
    order = np.argsort(values)
    sorted_ = values[order]
    equal = sorted_[1:] == sorted_[:-1]
    if not equal.any():
        return order
    tied = np.append(equal, False)
    tied[1:] |= equal
    places = np.flatnonzero(tied)
    # The number of the value and the row in one integer: rows fit into 32 bits.
    numbers = offsets_of(~equal)[places].astype(np.uint64) << np.uint64(32)
    rows = np.sort(numbers | order[places].view(np.uint64)) & np.uint64(2**32 - 1)
    order[places] = rows.view(np.int64)
    return order


def _differs(columns: Sequence[Codes], one: Rows, other: Rows) -> Flags:
    differs = np.zeros(len(one), np.bool_)
    for column in columns:
        differs |= different(column, one, other) if is_image(column) else column[one] != column[other]
    return differs
