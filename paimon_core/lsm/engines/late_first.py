"""First values in a sequence group: first_value and first_non_null_value with late rows (format 9.4, 9.5).

These functions remember that they have begun, and the memory outlives the removal of the record. Until they begin, a
late row stands in only where the state has no value (first_value: never); they begin with the first newer row (that is
not null, for first_non_null_value) or with the first late row that finds a value. From then on newer rows change
nothing, and every late row, null or not, takes the place.
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
    """One value per key; retracts change nothing."""
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
    """For segments in which the function has not begun: the row each takes its value from or -1, and whether it begins.

    ``valid`` None: null is a value like any other.
    """
    places = np.empty(len(newer), np.int64)
    places[segments.order] = np.arange(len(segments.order))
    never = len(segments.order)
    usable = newer if valid is None else newer & valid
    first_newer = _place(first_where(usable, segments), places, never)
    stand_in, stands = base, segments.starts - 1
    if valid is not None:
        filling = first_where(late & valid, segments)
        has_base = (base >= 0) & valid[base]
        stand_in = np.where(has_base, base, filling)
        stands = np.where(has_base, segments.starts, _place(filling, places, never))
    after = late.copy()
    in_order = segments.order
    after[in_order] &= np.arange(never) > stands[segments.numbers]
    first_late = _place(first_where(after, segments), places, never)
    by_newer = first_newer < first_late
    begins = np.where(by_newer, first_newer, first_late)
    at_begin = np.where(by_newer, in_order[begins.clip(max=never - 1)], stand_in)
    last_late = last_where(late, segments)
    return np.where(_place(last_late, places, -1) > begins, last_late, at_begin), begins < never


def _place(rows: Positions, places: Positions, none: int) -> Positions:
    return np.where(rows >= 0, places[rows], none)
