"""Key groups: the rows of a table arranged by key, and in merge order within each key, without copying rows.

``group`` sorts the rows once by key, with a stable sort. The sort is fast for sorted runs in arrival order, because it
only merges the runs. Only keys whose rows are not in merge order are sorted again. ``last_rows`` returns only the last
row of each key, and needs no sort when the keys are dense integers.
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
"""The number of rows per block: small enough that temporary arrays fit into the processor's cache."""
_SLOTS_PER_ROW = 4
"""Integer keys count as dense when their range is smaller than this factor times the number of rows."""


@dataclass(frozen=True)
class Groups:
    """Row positions in key order; group g is ``order[starts[g]:ends[g]]``, first to last in merge order."""

    order: Positions
    starts: Positions
    ends: Positions

    @cached_property
    def first(self) -> Positions:
        """The first row of each group, in key order; no group may be empty."""
        return self.order[self.starts]

    @cached_property
    def last(self) -> Positions:
        """The last row of each group, in key order; no group may be empty."""
        return self.order[self.ends - 1]

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def lengths(self) -> Positions:
        """The number of rows of each group."""
        return self.ends - self.starts

    @cached_property
    def numbers(self) -> Positions:
        """The group number of each position in ``order``; the groups must be ``compact``."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def keep(self, groups: Flags) -> Groups:
        """Return the groups for which ``groups``, one boolean per group, is true."""
        return Groups(self.order, self.starts[groups], self.ends[groups])

    def compact(self) -> Groups:
        """Return the same groups with an ``order`` of only their rows, which numpy's ``reduceat`` requires."""
        ends: Positions = np.cumsum(self.lengths)
        if len(ends) == 0 or (ends[-1] == len(self.order) and ends[0] == self.ends[0]):
            return self if len(ends) else Groups(self.order[:0], self.starts, self.ends)
        starts = ends - self.lengths
        places = np.arange(ends[-1]) + np.repeat(self.starts - starts, self.lengths)
        return Groups(self.order[places], starts, ends)

    def where(self, rows: Flags) -> Groups:
        """Return the groups with only the rows for which ``rows``, one boolean per row of the table, is true.

        Groups may become empty.
        """
        groups = self.compact()
        kept = rows[groups.order]
        before = offsets_of(kept)
        return Groups(groups.order[kept], before[groups.starts], before[groups.ends])


def key_codes(rows: pa.Table, key: Sequence[str]) -> Codes:
    """Return the order codes of the key columns (format 7.3)."""
    return order_codes([rows[name] for name in key])


def group(keys: Codes, ranks: Codes | None) -> Groups:
    """Return the groups of rows with equal key codes, each group sorted by ``ranks``.

    ``ranks`` None: the rows are already in merge order.

    Rows of equal key and rank keep their order.
    """
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    opens = in_order[1:] != in_order[:-1]
    if ranks is not None:
        order = _sort_groups_by_rank(order, opens, ranks)
    ends = np.append(np.flatnonzero(opens) + 1, len(keys)) if len(keys) else np.zeros(0, np.int64)
    return Groups(order, np.append(np.zeros(min(1, len(keys)), np.int64), ends[:-1]), ends)


def last_rows(keys: Codes, lengths: Sequence[int]) -> Rows:
    """Return the last row of each key, in key order.

    The rows are consecutive runs. No run is empty, and each run is in ascending key order; ``lengths`` are the numbers
    of rows of the runs. The result is the same as ``group(keys, None).last``.
    """
    boundaries = offsets_of(np.array(lengths, np.int64))
    if keys.dtype.kind in "iu":
        low, high = int(keys[boundaries[:-1]].min()), int(keys[boundaries[1:] - 1].max())
        if high - low < _SLOTS_PER_ROW * len(keys):
            return _last_by_slot(keys, low, high - low + 1)
    last: Rows = group(keys, None).last
    return last


def _last_by_slot(keys: Codes, low: int, slots: int) -> Rows:
    """Return the last row of each key; each key from ``low`` on has a slot with the position of its last row plus 1."""
    found = scratch(slots, np.uint32)
    found.fill(0)
    # Keys of 8 bytes keep their type: the key range is small, so subtracting the smallest key cannot overflow.
    kind = keys.dtype if keys.dtype.itemsize == 8 else np.dtype(np.int64)
    for start in range(0, len(keys), _BLOCK_ROWS):
        block = keys[start : start + _BLOCK_ROWS]
        found[np.subtract(block, low, dtype=kind).view(np.int64)] = np.arange(
            start + 1, start + 1 + len(block), dtype=np.uint32
        )
    taken = np.not_equal(found, 0, out=scratch(slots, np.bool_))
    slots_taken = np.flatnonzero(taken)
    last = scratch(len(slots_taken), np.uint32)
    np.take(found, slots_taken, out=last, mode="clip")  # with other modes, numpy makes an additional copy
    last -= np.uint32(1)
    return last


def _sort_groups_by_rank(order: Positions, opens: Flags, ranks: Codes) -> Positions:
    """Return ``order`` with the rows sorted again by rank in the groups in which a rank decreases."""
    by_key = ranks[order]
    decreases = (by_key[1:] < by_key[:-1]) & ~opens
    if not decreases.any():
        return order
    group_of = offsets_of(opens)
    wrong = np.zeros(int(group_of[-1]) + 1, np.bool_)
    wrong[group_of[1:][decreases]] = True
    rows = np.flatnonzero(wrong[group_of])
    corrected = order.copy()
    corrected[rows] = order[rows[np.lexsort((by_key[rows], group_of[rows]))]]
    return corrected
