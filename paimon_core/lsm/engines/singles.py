"""Single-record rule: if a key has only one row in a merge, the result is this row unchanged (format 9.1).

With ignore-delete, the rule also applies to a single retract: retracts are ignored only among several rows of a key.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.gather import Flags, contiguous, take
from paimon_core.lsm.key_groups import Groups


def with_singles(column: pa.ChunkedArray, groups: Groups, many: Flags, folded: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return one value per group.

    Groups for which ``many`` is true get the values of ``folded``, in order. Other groups get the value of their only
    row.
    """
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
    """Return the groups without retracts, except a retract that is the only row of its group.

    Empty groups are left out.
    """
    counts = adds.copy()
    counts[groups.last[groups.lengths == 1]] = True
    groups = groups.where(counts)
    return groups.keep(groups.lengths > 0)
