"""First values with late rows: first_value and first_non_null_value in a sequence group (format 9.4, 9.5).

Such a function *begins* at one row of a key, and remembers this even after the record of the key is removed. Before a
function has begun, a late row sets the value only if the state has no value (first_value: never). The function begins
with the first newer row (first_non_null_value: with the first newer row that has a value), or with the first late row
when the state has a value. After that, newer rows change nothing, and every late row replaces the value, even by null.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.positions import first_where, last_where, take_or_null, valid_rows
from paimon_core.lsm.engines.key_state import KeyState, base_rows
from paimon_core.lsm.engines.sequence_group import Arrivals
from paimon_core.lsm.gather import Flags, Positions, offsets_of
from paimon_core.lsm.key_groups import Groups


def fold_first(column: pa.ChunkedArray, state: KeyState, arrived: Arrivals, *, non_null: bool) -> pa.ChunkedArray:
    """Return one value per key; retracts change nothing."""
    adds = arrived.counts if state.retracts is None else arrived.counts & ~state.retracts
    valid = valid_rows(column) if non_null else None
    whole = state.segments
    rows, begins = _fold(whole, adds & arrived.newer, adds & arrived.late, base_rows(whole, state.retracts), valid)
    last = state.last_segments
    if len(last) == len(whole):
        return take_or_null(column, rows)
    begun = offsets_of(begins)
    first = np.append(0, last[:-1] + 1)
    before = begun[last] > begun[first]
    late = last_where(adds & arrived.late, state.final)
    return take_or_null(column, np.where(before, np.where(late >= 0, late, state.base), rows[last]))


def _fold(segments: Groups, newer: Flags, late: Flags, base: Positions, valid: Flags | None) -> tuple[Positions, Flags]:
    """Return for each segment the row of its value (-1 for none), and whether the function begins in this segment.

    The function is taken as not begun before the segment. ``valid`` None: null counts as a value.
    """
    places = np.empty(len(newer), np.int64)
    places[segments.order] = np.arange(len(segments.order))
    never = len(segments.order)
    usable = newer if valid is None else newer & valid
    first_newer = _place(first_where(usable, segments), places, never)
    stand_in_rows, stand_in_places = base, segments.starts - 1
    if valid is not None:
        filling = first_where(late & valid, segments)
        has_base = (base >= 0) & valid[base]
        stand_in_rows = np.where(has_base, base, filling)
        stand_in_places = np.where(has_base, segments.starts, _place(filling, places, never))
    after = late.copy()
    in_order = segments.order
    after[in_order] &= np.arange(never) > stand_in_places[segments.numbers]
    first_late = _place(first_where(after, segments), places, never)
    by_newer = first_newer < first_late
    begins = np.where(by_newer, first_newer, first_late)
    at_begin = np.where(by_newer, in_order[begins.clip(max=never - 1)], stand_in_rows)
    last_late = last_where(late, segments)
    return np.where(_place(last_late, places, -1) > begins, last_late, at_begin), begins < never


def _place(rows: Positions, places: Positions, none: int) -> Positions:
    return np.where(rows >= 0, places[rows], none)
