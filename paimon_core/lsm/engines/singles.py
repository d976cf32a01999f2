"""Single-record rule: if a key has only one row in a merge, the result is this row unchanged (format 9.1).

With ignore-delete, this is also true for a single retract; only among several rows, retracts are ignored.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.gather import Flags, contiguous, take
from paimon_core.lsm.key_groups import Groups


def with_singles(column: pa.ChunkedArray, groups: Groups, many: Flags, folded: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return one value per group: the next value of ``folded`` if ``many`` is true, else the value of its only row."""
    if many.all():
        return folded
    if not many.any():
        return take(column, groups.last)
    if pa.types.is_nested(column.type):
        both = pa.chunked_array([*take(column, groups.last[~many]).chunks, *folded.chunks], column.type)
        places = np.empty(len(many), np.int64)
        places[~many] = np.arange(len(many) - len(folded))
        places[many] = np.arange(len(many) - len(folded), len(many))
        return take(both, places)
    alone = contiguous(take(column, groups.last))
    return pa.chunked_array([pc.replace_with_mask(alone, pa.array(many), contiguous(folded))])


def ignoring_retracts(groups: Groups, adds: Flags) -> Groups:
    """Return the groups without retracts, but with retracts that are the only row of a group.

    Empty groups are left out.
    """
    counts = adds.copy()
    counts[groups.last[groups.lengths == 1]] = True
    groups = groups.where(counts)
    return groups.keep(groups.lengths > 0)
