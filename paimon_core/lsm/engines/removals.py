"""Removals: the -D rows that remove the whole record of a key (option remove-record-on-sequence-group; format 9.4).

A -D row removes the record when it is newer for one of the listed sequence groups. With one such group no step depends
on another: the row that removes the record is the largest, before as well as after. With several, a removal may set
another group's order back, so the rows are taken in rounds: as many whole-column steps as the key with the most
removals has removals, each over the keys that still have one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.positions import Flags, first_where
from paimon_core.lsm.engines.sequence_group import arrivals
from paimon_core.lsm.groups import Groups


def removals(rows: pa.Table, groups: Groups, deletes: Flags, orderings: Sequence[Sequence[str]]) -> Flags:
    """One boolean per row: it removes its key's record.

    ``deletes`` are the rows of kind -D; ``orderings`` the ordering columns of the listed groups. ``groups`` are compact
    and none is empty.
    """
    removed = np.zeros(len(rows), np.bool_)
    if len(groups):
        groups = groups.keep(np.logical_or.reduceat(deletes[groups.order], groups.starts)).compact()
    if len(orderings) == 1:
        removed[groups.order] = (arrivals(rows, orderings[0], groups).newer & deletes)[groups.order]
        return removed
    while len(groups):
        newer = np.logical_or.reduce([arrivals(rows, ordering, groups).newer for ordering in orderings])
        removing = first_where(newer & deletes & ~removed, groups)
        here = np.zeros(len(rows), np.bool_)
        here[removing[removing >= 0]] = True
        removed |= here
        groups = _since(groups.keep(removing >= 0).compact(), here)
    return removed


def _since(groups: Groups, here: Flags) -> Groups:
    """The groups from their one row ``here`` on, as far as another row follows it."""
    starts = np.flatnonzero(here[groups.order])
    return Groups(groups.order, starts, groups.ends).keep(groups.ends - starts > 1).compact()
