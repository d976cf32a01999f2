"""Positions: which row of each group a value comes from (format 9.5); groups may be empty and need not be compact.

A position is a row of the table, -1 for none. Choosing positions first and taking values once keeps the cost of a
column independent of its type.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.gather import Positions, take
from paimon_core.lsm.groups import Groups

Flags = npt.NDArray[np.bool_]
"""One boolean per row of the table."""
_LOOK_BACK = 4


def valid_rows(column: pa.ChunkedArray) -> Flags | None:
    """True for the rows whose value is not null; None: for all of them."""
    if not column.null_count:
        return None
    flags: Flags = column.is_valid().to_numpy()
    return flags


def last_where(rows: Flags | None, groups: Groups) -> Positions:
    """The last row of each group for which ``rows`` is true (None: for all), or -1.

    Looks back from each group's end for a few rows, since most groups end there, and then through all that is left.
    """
    if rows is None:
        return _rows(groups.ends - 1, groups.ends > groups.starts, groups)
    found = np.full(len(groups), -1, np.int64)
    wanting = np.arange(len(groups))
    for back in range(1, 1 + _LOOK_BACK):
        places = groups.ends[wanting] - back
        inside = places >= groups.starts[wanting]
        wanting = wanting[inside]
        candidates = groups.order[places[inside]]
        chosen = rows[candidates]
        found[wanting[chosen]] = candidates[chosen]
        wanting = wanting[~chosen]
        if not len(wanting):
            return found
    left = Groups(groups.order, groups.starts[wanting], groups.ends[wanting]).compact()
    nearest = np.maximum.accumulate(np.where(rows[left.order], np.arange(len(left.order)), -1))
    found[wanting] = _rows(nearest[left.ends - 1], nearest[left.ends - 1] >= left.starts, left)
    return found


def first_where(rows: Flags | None, groups: Groups) -> Positions:
    """The first row of each group for which ``rows`` is true (None: for all), or -1."""
    places = groups.starts
    if rows is not None and len(groups):
        chosen = rows[groups.order]
        none = len(chosen)
        nearest = np.minimum.accumulate(np.where(chosen, np.arange(none), none)[::-1])[::-1]
        places = np.append(nearest, none)[places]
    return _rows(places, places < groups.ends, groups)


def last_valid(column: pa.ChunkedArray, groups: Groups) -> Positions:
    """The row of each group's last value that is not null, or -1 where it has none."""
    return last_where(valid_rows(column), groups)


def first_valid(column: pa.ChunkedArray, groups: Groups) -> Positions:
    """The row of each group's first value that is not null, or -1 where it has none."""
    return first_where(valid_rows(column), groups)


def take_or_null(column: pa.ChunkedArray, positions: Positions) -> pa.ChunkedArray:
    """The values at ``positions``, in that order; null at -1."""
    missing = positions < 0
    return take(column, pa.array(positions, mask=missing) if missing.any() else positions)


def _rows(places: Positions, found: Flags, groups: Groups) -> Positions:
    """The rows at those places of the order that are ``found``, else -1."""
    if found.all():
        return groups.order[places]
    rows = np.full(len(groups), -1, np.int64)
    rows[found] = groups.order[places[found]]
    return rows
