"""Rounds: combines the rows of each group strictly one after the other; each round handles one row of every group.

The number of rounds is the number of rows of the longest group. Rounds are used where a numpy reduction would give
another result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.values import Numbers, Valid
from paimon_core.lsm.gather import Positions
from paimon_core.lsm.key_groups import Groups

Combine = Callable[[Numbers, Numbers], tuple[Numbers, Valid | None]]
"""Takes the results so far and the next values; returns the new results, and one boolean per result: false for null.

None instead of the booleans: no result is null.
"""


def rounds(groups: Groups) -> Iterator[tuple[Positions, Positions]]:
    """Yield (groups, rows) for each position 0, 1, ...: the groups with a row at this position, and these rows."""
    longest_first = np.argsort(-groups.lengths, kind="stable")
    lengths = groups.lengths[longest_first]
    for place in range(int(lengths[0]) if len(lengths) else 0):
        longest_first = longest_first[: np.searchsorted(-lengths, -place)]
        lengths = lengths[: len(longest_first)]
        yield longest_first, groups.order[groups.starts[longest_first] + place]


def left_to_right(
    values: Numbers,
    groups: Groups,
    retracts: Retracts | None,
    *,
    add: Combine,
    take_back: Combine,
    open_with_retract: Callable[[Numbers], Numbers] | None = None,
) -> tuple[Numbers, Valid]:
    """Combine ``values``, one per row, starting from null.

    Return (results, valid): one value and one boolean per group.

    If the result so far is null, an added value becomes the result unchanged, and for a retracted value the result is
    what ``open_with_retract`` returns; without this function, a retracted value is ignored.
    """
    folded = np.zeros(len(groups), values.dtype)
    known = np.zeros(len(groups), np.bool_)
    for numbers, rows in rounds(groups):
        backs = np.zeros(len(rows), np.bool_) if retracts is None else retracts[rows]
        has = known[numbers]
        for chosen, combine in ((has & ~backs, add), (has & backs, take_back)):
            if chosen.any():
                at = numbers[chosen]
                folded[at], valid = combine(folded[at], values[rows[chosen]])
                known[at] = True if valid is None else valid
        fresh = ~has if open_with_retract is not None else ~has & ~backs
        if fresh.any():
            opening = values[rows[fresh]]
            if open_with_retract is not None and backs[fresh].any():
                opening[backs[fresh]] = open_with_retract(opening[backs[fresh]])
            folded[numbers[fresh]] = opening
            known[numbers[fresh]] = True
    return folded, known
