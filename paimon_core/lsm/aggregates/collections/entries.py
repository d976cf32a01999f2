"""Entries: the elements of a list or map column, in one array ordered by group and merge order.

An aggregate function of collections chooses the entries of the result and their order. ``Entries.same`` puts equal
entries of a group together, so that all adds and retracts of one element are in one sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.collections.value_codes import Numbers, is_valid, within_groups
from paimon_core.lsm.gather import Flags, Positions, contiguous, offsets_of, take
from paimon_core.lsm.key_groups import Groups, group


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a column. The entries are ordered by group, by row and by position in the row.

    All arrays except ``present`` have one value per entry.
    """

    kind: pa.DataType
    """The type of the column."""
    values: pa.Array
    """The elements of a list, the values of a map."""
    keys: pa.Array | None
    """The keys of a map."""
    group_of: Positions
    retracted: Flags
    """Whether the entry belongs to a retracted row."""
    present: Flags
    """One boolean per group: whether its result is a collection; the result is null if no collection was added."""
    begun: Flags
    """Whether a collection was added to the group in a row before the entry's row."""

    def keep(self, chosen: Flags) -> Entries:
        """Return the entries for which ``chosen``, one boolean per entry, is true."""
        if chosen.all():
            return self
        at = np.flatnonzero(chosen)
        taken = pa.array(at)
        return Entries(
            self.kind,
            self.values.take(taken),
            None if self.keys is None else self.keys.take(taken),
            self.group_of[at],
            self.retracted[at],
            self.present,
            self.begun[at],
        )

    def same(self, numbers: Numbers) -> Groups:
        """Return groups of the entries that have the same group and the same number in ``numbers``, in merge order."""
        return group(self.identities(numbers), None)

    def identities(self, numbers: Numbers) -> Numbers:
        """Return one integer per pair of group and number."""
        return within_groups(self.group_of, numbers)

    def column(self, at: Positions, values: pa.Array | None = None) -> pa.ChunkedArray:
        """Return the result column, one collection per group, with the entries at the positions ``at``.

        The groups of the entries at ``at`` must ascend. ``values``, if given, are used instead of the values of the
        entries.
        """
        lengths = np.bincount(self.group_of[at], minlength=len(self.present))
        offsets = pa.array(offsets_of(lengths), pa.int32())
        taken = pa.array(at)
        content = self.values.take(taken) if values is None else values
        absent = pa.array(~self.present)
        if self.keys is None:
            made = pa.ListArray.from_arrays(offsets, content, type=self.kind, mask=absent)
        else:
            made = pa.MapArray.from_arrays(offsets, self.keys.take(taken), content, type=self.kind, mask=absent)
        return pa.chunked_array([made], self.kind)


def entries(column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> Entries:
    """Return the entries of the groups' rows; a null collection has no entries."""
    groups = groups.compact()
    rows = contiguous(take(column, groups.order))
    valid = is_valid(rows)
    taken_back = np.zeros(len(rows), np.bool_) if retracts is None else retracts[groups.order]
    adds = offsets_of(valid & ~taken_back)
    before: Positions = adds[:-1] - np.repeat(adds[groups.starts], groups.lengths)
    lengths = np.where(valid, np.diff(rows.offsets.to_numpy()), 0)
    row_of = np.repeat(np.arange(len(rows)), lengths)
    is_map = pa.types.is_map(rows.type)
    return Entries(
        column.type,
        rows.items if is_map else rows.flatten(),
        rows.keys if is_map else None,
        groups.numbers[row_of],
        taken_back[row_of],
        adds[groups.ends] > adds[groups.starts],
        before[row_of] > 0,
    )


def after_last(same: Groups, event: Flags) -> Groups:
    """Return for each group of equal entries the entries after its last ``event``, without empty groups."""
    if not event.any():
        return same
    places = np.where(event[same.order], np.arange(len(same.order)), -1)
    starts = np.maximum(same.starts, np.maximum.reduceat(places, same.starts) + 1)
    return Groups(same.order, starts, same.ends).keep(starts < same.ends)


def by_first(same: Groups, chosen: Positions) -> Positions:
    """Return the entries ``chosen``, one for each group of equal entries, sorted by the group's first entry."""
    return chosen[np.argsort(same.first, kind="stable")]


def rank_in_group(group_of: Positions) -> Positions:
    """Return the number, from 0, of each entry within its group; ``group_of`` must ascend."""
    first = np.searchsorted(group_of, group_of)
    return np.arange(len(group_of)) - first


def replaced(at: Positions, group_of: Positions, groups: Flags, by: Callable[[int], list[int]]) -> Positions:
    """Return the positions ``at``; those of a group that ``groups`` marks are replaced by the result of ``by`` for it.

    Loops over the chosen groups, because their results cannot be computed on whole columns.
    """
    if not groups.any():
        return at
    kept = at[~groups[group_of[at]]]
    steps = [np.array(by(int(number)), np.int64) for number in np.flatnonzero(groups)]
    both = np.concatenate([kept, *steps])
    return both[np.argsort(group_of[both], kind="stable")]
