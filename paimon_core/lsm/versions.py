"""Versions: the rows of groups by their place in the group, so that all groups are combined at once, row by row.

The first step combines the first and the second row of every group that has two rows, the next step the result and the
third row, and so on. So the rows of a group are combined strictly in their order, groups of one row cost nothing, and
no column is arranged by group. The work of all steps is one operation per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paimon_core.lsm.gather import Positions, Rows, scratch, taken

MOST_STEPS = 31
"""The rows after this number of steps are given in one piece, because a step for few groups is not worth its calls."""

Step = tuple[Positions, Positions]
"""(numbers, rows): the numbers of groups, ascending, and one row of each."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The rows of groups that are not empty."""

    first: Positions
    """The first row of each group."""
    steps: Sequence[Step]
    """Step k has the row k + 1 of each group with so many rows."""
    rest: Step = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    """The rows that follow the last step, in the order of their groups; a group may have several."""

    @staticmethod
    def of_groups(order: Positions, starts: Positions, lengths: Positions) -> Versions:
        """Return the versions of the groups ``order[start : start + length]``."""
        steps: list[Step] = []
        longer = np.flatnonzero(lengths > 1)
        while len(longer) and len(steps) < MOST_STEPS:
            steps.append((longer, order[starts[longer] + (len(steps) + 1)]))
            longer = longer[lengths[longer] > len(steps) + 1]
        if not len(longer):
            return Versions(order[starts], steps)
        left = lengths[longer] - (len(steps) + 1)
        before = np.cumsum(left) - left
        places = np.arange(int(left.sum())) + np.repeat(starts[longer] + (len(steps) + 1) - before, left)
        return Versions(order[starts], steps, (np.repeat(longer, left), order[places]))

    @staticmethod
    def of_chains(first: Rows, following: Rows) -> Versions:
        """Return the versions of chains of rows.

        ``following``: for each row, the position plus 1 of the row of its group that comes next, or 0. The number of
        steps is that of the longest chain.
        """
        rows = scratch(len(first), np.int64)
        rows[:] = first
        numbers = None
        found = Versions(rows, steps := [])
        while len(rows):
            next_rows = taken(following, rows)
            goes_on = np.flatnonzero(next_rows != 0)  # numpy finds booleans several times faster than numbers
            numbers = goes_on if numbers is None else taken(numbers, goes_on)
            rows = np.subtract(taken(next_rows, goes_on), 1, out=scratch(len(goes_on), np.int64), dtype=np.int64)
            if len(rows):
                steps.append((numbers, rows))
        return found
