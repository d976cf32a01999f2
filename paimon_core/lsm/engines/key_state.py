"""Key state: the row that each key's state starts with, and which rows change it (format 9.4).

A key's state starts empty. Two kinds of rows replace the state by all of their columns: a retract that is the first row
of the key, and every row that removes the record. Removing rows divide the rows of a key into segments; only the last
segment affects the values of the result.
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
    """The rows of some keys; the groups are compact and none is empty."""

    whole: Groups
    """All rows that count for the keys."""
    retracts: Flags | None = None
    """One boolean per row of the table: whether its kind is -U or -D; None when there is no such row."""
    removed: Flags | None = None
    """One boolean per row of the table: whether it removes the record; None when no row does."""
    inert: Flags | None = None
    """One boolean per row of the table: whether it does nothing, except that it may be a segment's first state."""

    @cached_property
    def segments(self) -> Groups:
        """The groups, divided before each row that removes the record."""
        if self.removed is None:
            return self.whole
        opens = self.removed[self.whole.order]
        opens[self.whole.starts] = True
        starts = np.flatnonzero(opens)
        return Groups(self.whole.order, starts, np.append(starts[1:], len(opens)))

    @cached_property
    def last_segments(self) -> Positions:
        """The number of each key's last segment."""
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
        """The row that is the first state of each key's last segment; -1 when it starts empty."""
        return base_rows(self.final, self.retracts)

    @cached_property
    def value_rows(self) -> Groups:
        """The rows whose non-null values count: the base and the adds after it. Groups may be empty."""
        if self.retracts is None:
            return self.final
        carries = ~self.retracts
        carries[self.base[self.base >= 0]] = True
        return self.final.where(carries)

    @cached_property
    def kinds(self) -> Positions:
        """The result's kind: -D when the last row removed the record or no row was an add, else +I."""
        if self.retracts is None:
            return np.zeros(len(self.whole), np.int8)
        deleted = first_where(~self.retracts, self.whole) < 0
        if self.removed is not None:
            deleted |= self.removed[self.whole.last]
        return np.where(deleted, RowKind.DELETE, RowKind.INSERT).astype(np.int8)


def base_rows(segments: Groups, retracts: Flags | None) -> Positions:
    """Return the first row of each segment if it is a retract, else -1."""
    if retracts is None:
        return np.full(len(segments), -1, np.int64)
    return np.where(retracts[segments.first], segments.first, -1)
