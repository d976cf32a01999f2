"""Removals: the -D rows that remove the record of a key (option remove-record-on-sequence-group; format 9.4).

A -D row removes the record of its key when the -D row is newer for one of the sequence groups that the option lists.
With one listed group, rows can be checked independently, because a removing row has the largest ordering values so far.
With several groups, a removal may lower the ordering values of another group, so the rows of a key are processed one
after the other. All keys are processed in parallel: the number of steps is the largest number of rows of a key that has
a -D row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.rounds import rounds
from paimon_core.lsm.engines.sequence_group import arrivals, counting
from paimon_core.lsm.gather import Flags
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.order_codes import order_codes


def removals(rows: pa.Table, groups: Groups, deletes: Flags, orderings: Sequence[Sequence[str]]) -> Flags:
    """Return one boolean per row: whether it removes the record of its key.

    ``deletes`` marks the rows of kind -D; ``orderings`` are the ordering columns of the listed groups. ``groups`` are
    compact and none is empty.
    """
    removed = np.zeros(len(rows), np.bool_)
    if len(groups):
        groups = groups.keep(np.logical_or.reduceat(deletes[groups.order], groups.starts)).compact()
    if len(orderings) == 1:
        removed[groups.order] = (arrivals(rows, orderings[0], groups).newer & deletes)[groups.order]
        return removed
    counts = [counting(rows, ordering) for ordering in orderings]
    codes = [order_codes([rows[name] for name in ordering]) for ordering in orderings]
    states = [code[groups.first] for code in codes]
    for keys, here in rounds(groups):
        newer = [c[here] & (code[here] >= state[keys]) for c, code, state in zip(counts, codes, states, strict=True)]
        removing = deletes[here] & np.logical_or.reduce(newer)
        removed[here] = removing
        for code, state, larger in zip(codes, states, newer, strict=True):
            state[keys] = np.where(removing | larger, code[here], state[keys])
    return removed
