"""Groups: the rows of a table arranged by key, and by merge order within each key; nothing is copied yet.

``group`` sorts once by key, stably. Rows that are given as presorted runs in arrival order need little more: the sort
then merges the runs, and only keys whose rows are out of merge order are sorted again. ``last_rows`` gives the last row
of each key alone, without a sort where the keys lie close together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_core.lsm.gather import Flags, Positions, Rows, offsets_of, scratch
from paimon_core.lsm.order_codes import Codes, order_codes

_BLOCK_ROWS = 1 << 13
"""Rows whose temporary arrays stay in the processor's cache and in malloc's."""
_SLOTS_PER_ROW = 4
"""Keys lie close together when their range is no more than so many times their number."""


@dataclass(frozen=True)
class Groups:
    """Row positions in key order; group g holds ``order[starts[g]:ends[g]]``, first to last in merge order."""

    order: Positions
    starts: Positions
    ends: Positions

    @cached_property
    def first(self) -> Positions:
        """The row that comes first in each group, in key order; no group may be empty."""
        return self.order[self.starts]

    @cached_property
    def last(self) -> Positions:
        """The row that comes last in each group, in key order; no group may be empty."""
        return self.order[self.ends - 1]

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def lengths(self) -> Positions:
        """The number of rows of each group."""
        return self.ends - self.starts

    @cached_property
    def numbers(self) -> Positions:
        """Of ``compact`` groups: the number of its group for each place of ``order``."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def keep(self, groups: Flags) -> Groups:
        """The groups chosen by one boolean per group."""
        return Groups(self.order, self.starts[groups], self.ends[groups])

    def compact(self) -> Groups:
        """The same groups over an ``order`` that holds their rows and no others, as reductions need it."""
        ends: Positions = np.cumsum(self.lengths)
        if len(ends) == 0 or (ends[-1] == len(self.order) and ends[0] == self.ends[0]):
            return self if len(ends) else Groups(self.order[:0], self.starts, self.ends)
        starts = ends - self.lengths
        places = np.arange(ends[-1]) + np.repeat(self.starts - starts, self.lengths)
        return Groups(self.order[places], starts, ends)

    def where(self, rows: Flags) -> Groups:
        """The groups without the rows for which a boolean per row of the table is false; a group may become empty."""
        groups = self.compact()
        kept = rows[groups.order]
        before = offsets_of(kept)
        return Groups(groups.order[kept], before[groups.starts], before[groups.ends])


def key_codes(rows: pa.Table, key: Sequence[str]) -> Codes:
    """The order codes of the key columns (format 7.3)."""
    return order_codes([rows[name] for name in key])


def group(keys: Codes, ranks: Codes | None) -> Groups:
    """Arrange rows by their key codes and, within a key, by ``ranks``; None: the rows come in merge order already.

    Rows of equal key and rank stay in the order given.
    """
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    opens = in_order[1:] != in_order[:-1]
    if ranks is not None:
        order = _settle(order, opens, ranks)
    ends = np.append(np.flatnonzero(opens) + 1, len(keys)) if len(keys) else np.zeros(0, np.int64)
    return Groups(order, np.append(np.zeros(min(1, len(keys)), np.int64), ends[:-1]), ends)


def last_rows(keys: Codes, lengths: Sequence[int]) -> Rows:
    """The last row of each key, in key order; the rows are ascending runs of these ``lengths``, none empty, in order.

    The same rows as ``group(keys, None).last``.
    """
    borders = offsets_of(np.array(lengths, np.int64))
    if keys.dtype.kind in "iu":
        low, high = int(keys[borders[:-1]].min()), int(keys[borders[1:] - 1].max())
        if high - low < _SLOTS_PER_ROW * len(keys):
            return _last_by_slot(keys, low, high - low + 1)
    last: Rows = group(keys, None).last
    return last


def _last_by_slot(keys: Codes, low: int, slots: int) -> Rows:
    """A slot per possible key, in which each row is put over the earlier ones of its key."""
    found = scratch(slots, np.uint32)
    found.fill(0)
    # Keys of 8 bytes stay as they are: a signed one, less the least, cannot overflow in so small a range.
    kind = keys.dtype if keys.dtype.itemsize == 8 else np.dtype(np.int64)
    for start in range(0, len(keys), _BLOCK_ROWS):
        block = keys[start : start + _BLOCK_ROWS]
        found[np.subtract(block, low, dtype=kind).view(np.int64)] = np.arange(
            start + 1, start + 1 + len(block), dtype=np.uint32
        )
    taken = np.not_equal(found, 0, out=scratch(slots, np.bool_))
    slots_taken = np.flatnonzero(taken)
    last = scratch(len(slots_taken), np.uint32)
    np.take(found, slots_taken, out=last, mode="clip")  # with another mode numpy fills a buffer first
    last -= np.uint32(1)
    return last


def _settle(order: Positions, opens: Flags, ranks: Codes) -> Positions:
    """Sort again the rows of those groups in which a rank falls."""
    by_key = ranks[order]
    falls = (by_key[1:] < by_key[:-1]) & ~opens
    if not falls.any():
        return order
    group_of = offsets_of(opens)
    wrong = np.zeros(int(group_of[-1]) + 1, np.bool_)
    wrong[group_of[1:][falls]] = True
    rows = np.flatnonzero(wrong[group_of])
    settled = order.copy()
    settled[rows] = order[rows[np.lexsort((by_key[rows], group_of[rows]))]]
    return settled
