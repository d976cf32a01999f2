"""Key words: the key columns of rows as a leading word and more words, which sort without copying rows.

Most keys differ in the leading word, so one sort of numbers gives the order of the rows. The other words are compared
only for rows that are equal in the leading word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.lsm.gather import Flags, Positions, Rows, offsets_of, scratch
from paimon_core.lsm.order_codes import Ints, leading_word, parts
from paimon_core.parallel_work import own_processors, run_parallel

_PRESORTED = 16
"""Rows count as sorted runs when at most one row in this number is less than the row before it."""
_MANY_ROWS = 1 << 18
"""The minimum number of rows that are sorted by several threads."""
_SAMPLE = 1 << 10
"""The number of rows from which the ranges of the threads are estimated."""
_NARROW_BYTES = 2
"""numpy sorts integers of at most this width by a radix sort, which is stable and fast for every order."""


@dataclass(frozen=True, slots=True)
class KeyWords:
    """The keys of rows: ``leading`` first, then ``rest``, each an array with one integer per row."""

    leading: Ints
    rest: tuple[Ints, ...] = ()

    @staticmethod
    def of(rows: pa.Table, key: Sequence[str]) -> KeyWords:
        """Return the words of the ``key`` columns (format 7.3)."""
        return KeyWords.of_parts([part for name in key for part in parts(rows[name])], len(rows))

    @staticmethod
    def of_parts(columns: Sequence[Ints], rows: int) -> KeyWords:
        """Return the words of integer arrays, most significant first."""
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

        Rows with equal keys keep their order. Many rows are sorted by several threads, if processors are idle.
        """
        if len(self) >= _MANY_ROWS and (threads := own_processors()) > 1 and not _is_fast(self.leading):
            return self._in_order_by_ranges(threads)
        order = stable_order(self.leading)
        sorted_ = self.leading[order]
        opens = sorted_[1:] != sorted_[:-1]
        if self.rest:
            self._compare_rest(order, opens)
        return order, opens

    def _in_order_by_ranges(self, threads: int) -> tuple[Positions, Flags]:
        """Return the same as ``in_order``: the rows are divided at values of the leading word, and each range is sorted
        by a thread.
        """
        leading = self.leading
        sample = np.sort(leading[:: max(1, len(leading) // _SAMPLE)])
        cuts = np.unique(sample[len(sample) * np.arange(1, threads) // threads])
        numbers = np.searchsorted(cuts, leading, "right") if len(cuts) > 1 else leading >= cuts[0]

        def in_range(number: int) -> tuple[Positions, Flags]:
            rows = np.flatnonzero(numbers == number)
            order, opens = KeyWords(leading[rows], tuple(part[rows] for part in self.rest)).in_order()
            return rows[order], opens

        found = [part for part in run_parallel(in_range, range(len(cuts) + 1), threads) if len(part[0])]
        opens = [flags for _, part in found for flags in (np.ones(1, np.bool_), part)]
        return np.concatenate([order for order, _ in found]), np.concatenate(opens)[1:]

    def _compare_rest(self, order: Positions, opens: Flags) -> None:
        """Correct ``order`` and ``opens``, which are right for the leading word, in place."""
        places = np.flatnonzero(~opens)
        differs = _differs(self.rest, order[places], order[places + 1])
        if not differs.any():
            return
        group_of = offsets_of(opens)
        wrong = np.zeros(int(group_of[-1]) + 1, np.bool_)
        wrong[group_of[places[differs]]] = True
        places = np.flatnonzero(wrong[group_of])
        numbers, rows = group_of[places], order[places]
        rows = rows[np.lexsort((*(part[rows] for part in reversed(self.rest)), numbers))]
        order[places] = rows
        same = np.flatnonzero(numbers[1:] == numbers[:-1])
        opens[places[same]] = _differs(self.rest, rows[same], rows[same + 1])


def before(columns: Sequence[Ints], one: Rows, other: Rows) -> Flags:
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

    numpy's stable sort merges sorted runs. Rows without such runs are sorted by numpy's other sort, which is several
    times faster; it uses the vector instructions of the processor. Then only rows with equal values are put into order.
    """
    if _is_fast(values):
        return np.argsort(values, kind="stable")
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


def _is_fast(values: Ints) -> bool:
    """Whether numpy's stable sort is fast: the values are narrow, or sorted runs."""
    if values.dtype.itemsize <= _NARROW_BYTES:
        return True
    falls = np.count_nonzero(np.less(values[1:], values[:-1], out=scratch(max(0, len(values) - 1), np.bool_)))
    return bool(falls * _PRESORTED <= len(values))


def _differs(columns: Sequence[Ints], one: Rows, other: Rows) -> Flags:
    differs = np.zeros(len(one), np.bool_)
    for column in columns:
        differs |= column[one] != column[other]
    return differs
