"""Key groups: the rows of a table arranged by key, and in merge order within each key, without copying rows.

``group`` sorts the rows once by key, with a stable sort. The sort is fast for sorted runs in arrival order, because it
only merges the runs. Only keys whose rows are not in merge order are sorted again. ``newest_rows`` returns only the
newest row of each key. It needs no sort when the keys are dense integers, and never sorts the rows of a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.gather import Flags, Positions, Rows, offsets_of, scratch, taken
from paimon_core.lsm.key_words import KeyWords, before
from paimon_core.lsm.order_codes import Codes, Ints, order_codes
from paimon_core.lsm.versions import Versions

_BLOCK_ROWS = 1 << 13
"""The number of rows per block: small enough that temporary arrays fit into the processor's cache."""
_SLOTS_PER_ROW = 4
"""Integer keys count as dense when their range is smaller than this factor times the number of rows."""

Numbers = npt.NDArray[np.uint32]
"""One number per row."""
Ranks = Sequence[Ints]
"""The merge order of rows: arrays with one integer per row, most significant first."""


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

    @cached_property
    def several(self) -> Flags:
        """Whether each group has more than one row."""
        return self.lengths > 1

    @cached_property
    def longest(self) -> int:
        """The number of rows of the longest group, 0 if there is no group."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def has_empty(self) -> bool:
        """Whether a group is empty."""
        return not self.lengths.all()

    @cached_property
    def versions(self) -> Versions:
        """The rows of the groups by their place; no group may be empty."""
        return Versions.of_groups(self.order, self.starts, self.lengths)

    def keep(self, groups: Flags) -> Groups:
        """Return the groups for which ``groups``, one boolean per group, is true."""
        return self if groups.all() else Groups(self.order, self.starts[groups], self.ends[groups])

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


class ChainedGroups(Groups):
    """Groups that are given by their versions; ``order``, ``starts`` and ``ends`` are computed when they are needed."""

    def __init__(self, versions: Versions) -> None:
        self.__dict__.update(versions=versions, first=versions.first, has_empty=False)

    def __len__(self) -> int:
        return len(self.versions.first)

    def compact(self) -> Groups:
        """Return the groups, which always are compact."""
        return self

    @cached_property
    def last(self) -> Positions:
        """The last row of each group, in key order."""
        last = self.first.copy()
        for numbers, rows in self.versions.steps:
            last[numbers] = rows
        return last

    @cached_property
    def several(self) -> Flags:
        """Whether each group has more than one row."""
        several = np.zeros(len(self), np.bool_)
        for numbers, _ in self.versions.steps[:1]:
            several[numbers] = True
        return several

    @cached_property
    def longest(self) -> int:
        """The number of rows of the longest group, 0 if there is no group."""
        return len(self.versions.steps) + min(1, len(self))

    @cached_property
    def lengths(self) -> Positions:
        """The number of rows of each group."""
        lengths = np.ones(len(self), np.int64)
        for place, (numbers, _) in enumerate(self.versions.steps, 2):
            lengths[numbers] = place
        return lengths

    @cached_property
    def starts(self) -> Positions:
        """The place in ``order`` of the first row of each group."""
        return self.ends - self.lengths

    @cached_property
    def ends(self) -> Positions:
        """The place in ``order`` after the last row of each group."""
        return np.cumsum(self.lengths)

    @cached_property
    def order(self) -> Positions:
        """The rows of all groups."""
        order = np.empty(int(self.lengths.sum()), np.int64)
        order[self.starts] = self.first
        for place, (numbers, rows) in enumerate(self.versions.steps, 1):
            order[self.starts[numbers] + place] = rows
        return order


def key_codes(rows: pa.Table, key: Sequence[str]) -> Codes:
    """Return the order codes of the key columns (format 7.3)."""
    return order_codes([rows[name] for name in key])


def group(keys: Codes | KeyWords, ranks: Ranks | None) -> Groups:
    """Return the groups of rows with equal keys, each group sorted by ``ranks``.

    ``ranks`` None: the rows are already in merge order.

    Rows of equal key and rank keep their order.
    """
    order, opens = (keys if isinstance(keys, KeyWords) else KeyWords(keys)).in_order()
    if ranks is not None:
        order = _sort_groups_by_rank(order, opens, ranks)
    ends = np.append(np.flatnonzero(opens) + 1, len(keys)) if len(keys) else np.zeros(0, np.int64)
    return Groups(order, np.append(np.zeros(min(1, len(keys)), np.int64), ends[:-1]), ends)


def group_runs(keys: KeyWords, lengths: Sequence[int], ranks: Ranks | None) -> Groups:
    """Return the same groups as ``group``.

    The rows are consecutive runs. No run is empty, and each run is in strictly ascending key order; ``lengths`` are the
    numbers of rows of the runs. Dense integer keys are chained instead of sorted.
    """
    starts = offsets_of(np.array(lengths, np.int64))
    dense = _dense(keys, starts)
    if dense is None or ranks is not None:
        return group(keys, ranks)
    low, slots = dense
    found = scratch(slots, np.uint32)
    found.fill(0)
    following = scratch(len(keys), np.uint32)
    bounds = starts.tolist()
    for run in reversed(list(pairwise(bounds))):  # the newest run first, so that a slot has the next newer row
        for start, places in _slot_blocks(keys.leading, low, run):
            following[start : start + len(places)] = found[places]
            found[places] = np.arange(start + 1, start + 1 + len(places), dtype=np.uint32)
    return ChainedGroups(Versions.of_chains(_rows_in_slots(found), following))


def newest_rows(keys: KeyWords, lengths: Sequence[int], ranks: Ranks | None, previous: Numbers | None = None) -> Rows:
    """Return the newest row of each key, in key order.

    The rows are consecutive runs. No run is empty, and each run is in strictly ascending key order; ``lengths`` are the
    numbers of rows of the runs. Of the rows of a key, the row with the greatest rank is the newest, and of rows with
    equal ranks the row of the last run. ``ranks`` None: the row of the last run is the newest. The result is the same
    as ``group(keys, ranks).last``.

    ``previous``, one number per row, is only for ``ranks`` None: each number is set to the position plus 1 of the row
    of the same key in the runs before, or to 0.
    """
    starts = offsets_of(np.array(lengths, np.int64))
    dense = _dense(keys, starts)
    if dense is not None:
        return _newest_by_slot(keys.leading, starts, *dense, ranks, previous)
    if ranks is None and previous is None:
        order, opens = keys.in_order()
        last: Positions = order[np.append(np.flatnonzero(opens), len(order) - 1)]
        return last
    found = group(keys, None)
    if previous is not None:
        follows = np.ones(len(keys), np.bool_)
        follows[found.starts] = False
        places = np.flatnonzero(follows)
        previous.fill(0)
        previous[found.order[places]] = found.order[places - 1] + 1
    return found.last if ranks is None else _greatest(found, ranks)


def _newest_by_slot(
    keys: Codes, starts: Positions, low: int, slots: int, ranks: Ranks | None, previous: Numbers | None
) -> Rows:
    """Return the newest row of each key; each key from ``low`` on has a slot with the position of its row plus 1."""
    found = scratch(slots, np.uint32)
    found.fill(0)
    # Rows overwrite each other, in blocks of any runs. Where rows are compared, a block must have each key once.
    bounds = [0, len(keys)] if ranks is None and previous is None else starts.tolist()
    for start, places in _slot_blocks(keys, low, bounds):
        rows = np.arange(start + 1, start + 1 + len(places), dtype=np.uint32)
        if ranks is not None and start >= starts[1]:
            known = found[places]
            older = np.flatnonzero(known)
            older = older[before(ranks, rows[older] - np.uint32(1), known[older] - np.uint32(1))]
            rows[older] = known[older]
        if previous is not None:
            previous[start : start + len(places)] = found[places]
        found[places] = rows
    return _rows_in_slots(found)


def _rows_in_slots(found: Numbers) -> Rows:
    """Return the rows whose positions plus 1 are in the slots, in the order of the slots; 0 is an empty slot."""
    slots_taken = np.flatnonzero(np.not_equal(found, 0, out=scratch(len(found), np.bool_)))
    newest = taken(found, slots_taken)
    newest -= np.uint32(1)
    return newest


def _dense(keys: KeyWords, starts: Positions) -> tuple[int, int] | None:
    """Return the smallest key and the number of keys up to the greatest key; None unless the keys are dense integers.

    ``starts``: the first row of each run, and the number of rows.
    """
    codes = keys.leading
    if keys.rest or codes.dtype.kind not in "iu":
        return None
    low, high = int(codes[starts[:-1]].min()), int(codes[starts[1:] - 1].max())
    return (low, high - low + 1) if high - low < _SLOTS_PER_ROW * len(codes) else None


def _slot_blocks(keys: Codes, low: int, bounds: Sequence[int]) -> Iterator[tuple[int, Positions]]:
    """Yield the keys in blocks, as the number of the first row and the distances of the keys from ``low``.

    A block has only rows between two of the ``bounds``.
    """
    # Keys of 8 bytes keep their type: the key range is small, so subtracting the smallest key cannot overflow.
    kind = keys.dtype if keys.dtype.itemsize == 8 else np.dtype(np.int64)
    for first, last in pairwise(bounds):
        for start in range(first, last, _BLOCK_ROWS):
            block = keys[start : min(start + _BLOCK_ROWS, last)]
            yield start, np.subtract(block, low, dtype=kind).view(np.int64)


def _greatest(groups: Groups, ranks: Ranks) -> Positions:
    """Return the row of each group with the greatest rank, the last one of equal rows.

    The number of steps is the largest number of rows of a key.
    """
    newest = groups.first.copy()
    open_ = np.flatnonzero(groups.lengths > 1)
    step = 1
    while len(open_):
        rows = groups.order[groups.starts[open_] + step]
        later = ~before(ranks, rows, newest[open_])
        newest[open_[later]] = rows[later]
        step += 1
        open_ = open_[groups.lengths[open_] > step]
    return newest


def _sort_groups_by_rank(order: Positions, opens: Flags, ranks: Ranks) -> Positions:
    """Return ``order`` with the rows sorted again by rank in the groups in which a rank decreases."""
    places = np.flatnonzero(~opens)
    decreases = before(ranks, order[places + 1], order[places])
    if not decreases.any():
        return order
    group_of = offsets_of(opens)
    wrong = np.zeros(int(group_of[-1]) + 1, np.bool_)
    wrong[group_of[places[decreases]]] = True
    places = np.flatnonzero(wrong[group_of])
    rows = order[places]
    corrected = order.copy()
    corrected[places] = rows[np.lexsort((*(rank[rows] for rank in reversed(ranks)), group_of[places]))]
    return corrected
