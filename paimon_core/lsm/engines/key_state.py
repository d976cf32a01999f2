"""Key state: which row the merged row (the state) of a key starts with, and which rows change the state (format 9.4).

The state of a key starts empty. All columns of a row replace the state in two cases: the row is a retract and the first
row of the key, or the row removes the record of the key. Rows that remove the record divide the rows of a key into
segments. Only the last segment affects the values of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paimon_core.lsm.aggregates.positions import first_where
from paimon_core.lsm.gather import Flags, Positions
from paimon_core.lsm.key_groups import Groups
from paimon_core.schema import RowKind


@dataclass(frozen=True)
class KeyState:
    """The rows of some keys; the groups are compact and not empty."""

    whole: Groups
    """All rows of the keys that are not ignored."""
    retracts: Flags | None = None
    """One boolean per row of the table: whether its kind is -U or -D; None when there is no such row."""
    removed: Flags | None = None
    """One boolean per row of the table: whether it removes the record of its key; None when no row does."""
    inert: Flags | None = None
    """One boolean per row of the table: whether it has no effect, except that a segment may start with it."""

    @cached_property
    def segments(self) -> Groups:
        """The groups of ``whole``, divided before each row that removes the record of its key."""
        if self.removed is None:
            return self.whole
        opens = self.removed[self.whole.order]
        opens[self.whole.starts] = True
        starts = np.flatnonzero(opens)
        return Groups(self.whole.order, starts, np.append(starts[1:], len(opens)))

    @cached_property
    def last_segments(self) -> Positions:
        """For each key, the index of its last segment in ``segments``."""
        return np.searchsorted(self.segments.starts, self.whole.ends) - 1

    @cached_property
    def final(self) -> Groups:
        """The last segment of each key, compact."""
        if self.removed is None:
            return self.whole
        last = self.last_segments
        return Groups(self.segments.order, self.segments.starts[last], self.segments.ends[last]).compact()

    @cached_property
    def base(self) -> Positions:
        """The row with which the state of each key's last segment starts; -1 when the state starts empty."""
        return base_rows(self.final, self.retracts)

    @cached_property
    def value_rows(self) -> Groups:
        """The rows whose non-null values are used: the base and the adds after it. Groups may be empty."""
        if self.retracts is None:
            return self.final
        carries = ~self.retracts
        carries[self.base[self.base >= 0]] = True
        return self.final.where(carries)

    @cached_property
    def kinds(self) -> Positions:
        """The kind of each key's result.

        It is -D if the last row of the key removes the record, or if all rows of the key are retracts; otherwise +I.
        """
        if self.retracts is None:
            return np.zeros(len(self.whole), np.int8)
        deleted = first_where(~self.retracts, self.whole) < 0
        if self.removed is not None:
            deleted |= self.removed[self.whole.last]
        return np.where(deleted, RowKind.DELETE, RowKind.INSERT).astype(np.int8)


def base_rows(segments: Groups, retracts: Flags | None) -> Positions:
    """Return for each segment the position of its first row if this row is a retract, otherwise -1."""
    if retracts is None:
        return np.full(len(segments), -1, np.int64)
    return np.where(retracts[segments.first], segments.first, -1)
