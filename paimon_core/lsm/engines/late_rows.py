"""Late rows: aggregate functions in a sequence group, whose rows may arrive late (format 9.4, 9.5).

A newer row is combined as agg(state, value). A late row is combined in the opposite order, agg(value, state), as if the
late row had arrived first. A retract is applied when it arrives, even if it is late. The consequences depend on the
function:

* sum, product, max, min, bool_and, bool_or and the sketches are symmetric, so all rows are combined in order of
  arrival. The rows of ``collect`` are also combined in order of arrival, unless the function ignores retracts.
* last_value: a late row changes nothing and is left out.
* last_non_null_value, listagg, merge_map, nested_update, nested_partial_update and ``collect`` that ignores retracts
  are associative: late rows are put before all other rows, the last late row first, and all rows are combined in one
  pass. A key needs one more pass for each late row that is the first late row after a retract. All keys are handled in
  parallel.
* merge_map_with_keytime (null removes an entry) and nested_update with a count limit are not associative: they need a
  pass for each late row. All keys are handled in parallel, so the number of passes depends on the key with the most
  late rows.
* first_value and first_non_null_value remember whether they have begun: see ``late_first``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Aggregate
from paimon_core.lsm.engines.key_state import KeyState
from paimon_core.lsm.engines.sequence_group import Arrivals
from paimon_core.lsm.gather import Flags, Positions, offsets_of, take
from paimon_core.lsm.key_groups import Groups
from paimon_core.options import FieldOptions


class Late(Enum):
    """How a function handles late rows."""

    IN_PLACE = "like any other row"
    LEFT_OUT = "not at all"
    BEFORE_ALL = "before all other rows"
    ONE_BY_ONE = "each before everything that was folded so far"
    FIRST = "by the rules of late_first"


_BEFORE_ALL = ("last_non_null_value", "listagg", "merge_map", "nested_update", "nested_partial_update")
_FIRST = ("first_value", "first_non_null_value", "first_not_null_value")


def late(function: str, options: FieldOptions) -> Late:
    """Return how the function handles late rows, as described in the module docstring."""
    if function in _FIRST:
        return Late.FIRST
    if function == "last_value":
        return Late.LEFT_OUT
    if function == "merge_map_with_keytime" or (function == "nested_update" and options.count_limit is not None):
        return Late.ONE_BY_ONE
    if function in _BEFORE_ALL or (function == "collect" and options.ignore_retract):
        return Late.BEFORE_ALL
    return Late.IN_PLACE


@dataclass(frozen=True)
class Events:
    """The rows that are combined for each key, in order of arrival.

    ``rows`` are row positions of the table; the compact ``groups`` and all flags refer to positions in ``rows``.
    """

    rows: Positions
    groups: Groups
    late: Flags
    retracts: Flags
    bases: Flags
    """One boolean per event: whether the state of its key starts with this row, which is then the key's first event."""

    @staticmethod
    def of(state: KeyState, arrived: Arrivals, *, retracts: bool) -> Events:
        """Return the events of the last segments; ``retracts`` False leaves the retracts out."""
        final = state.final
        acts = arrived.counts.copy()
        if state.inert is not None:
            acts &= ~state.inert
        if state.retracts is not None and not retracts:
            acts &= ~state.retracts
        places = np.flatnonzero(acts[final.order])
        begun = np.flatnonzero(state.base >= 0)
        # A base row that also has an effect is listed twice: first as the state, then as an event.
        order = np.argsort(np.append(2 * final.starts[begun], 2 * places + 1), kind="stable")
        rows = np.append(state.base[begun], final.order[places])[order]
        bases = order < len(begun)
        counts = np.bincount(np.append(begun, final.numbers[places]), minlength=len(final))
        ends = np.cumsum(counts)
        back = np.zeros(len(rows), np.bool_) if state.retracts is None else state.retracts[rows] & ~bases
        groups = Groups(np.arange(len(rows)), ends - counts, ends)
        return Events(rows, groups, arrived.late[rows] & ~bases & ~back, back, bases)

    def where(self, kept: Flags) -> Events:
        """Return the events for which ``kept``, one boolean per event, is true."""
        groups = self.groups.where(kept)
        groups = Groups(np.arange(len(groups.order)), groups.starts, groups.ends)
        return Events(self.rows[kept], groups, self.late[kept], self.retracts[kept], self.bases[kept])


def fold_events(column: pa.ChunkedArray, events: Events, function: Aggregate, rule: Late) -> pa.ChunkedArray:
    """Return one value per key; ``rule`` must not be FIRST."""
    if rule is Late.LEFT_OUT:
        events = events.where(~events.late)
    values = take(column, events.rows)
    cuts = np.zeros(len(events.rows), np.bool_)
    if rule is Late.BEFORE_ALL:
        cuts = _after_retract(events)
    elif rule is Late.ONE_BY_ONE:
        cuts = events.late
    else:
        events = replace(events, late=cuts)
    folded = _stepwise(values, events, cuts, function)
    untouched = np.flatnonzero((events.groups.lengths == 1) & _any(events.bases, events.groups))
    if not len(untouched):
        return folded
    # A state without other events is returned unchanged, because a function could change the form of a single value.
    places = np.arange(len(events.groups))
    places[untouched] = len(folded) + np.arange(len(untouched))
    return _chosen([folded, take(values, events.groups.starts[untouched])], places)


def _stepwise(values: pa.ChunkedArray, events: Events, cuts: Flags, function: Aggregate) -> pa.ChunkedArray:
    """Return one value per key.

    For each key, the events before its first cut are combined. Then the result is combined with the events up to the
    next cut, and so on.
    """
    numbers = events.groups.numbers
    steps = _steps(events, cuts)
    by_step = np.argsort(steps, kind="stable")
    bounds = np.searchsorted(steps[by_step], np.arange(int(steps.max(initial=0)) + 2))
    keys = np.arange(len(events.groups))
    results: list[pa.ChunkedArray] = []
    place = np.zeros(len(keys), np.int64)
    known = 0
    for start, end in pairwise(bounds):
        here = by_step[start:end]
        group, ranks, retracts = numbers[here], np.where(events.late[here], -1 - here, 1 + here), events.retracts[here]
        table = values if len(here) == len(steps) else take(values, here)
        if results:
            before, keys = keys, np.unique(group)
            group = np.append(np.searchsorted(keys, group), np.arange(len(keys)))
            ranks = np.append(ranks, np.zeros(len(keys), np.int64))
            retracts = np.append(retracts, np.zeros(len(keys), np.bool_))
            table = _chosen([table, take(results[-1], np.searchsorted(before, keys))], np.arange(len(group)))
        ends = np.cumsum(np.bincount(group, minlength=len(keys)))
        groups = Groups(np.lexsort((ranks, group)), np.append(0, ends)[:-1], ends)
        results.append(function(table, groups, retracts if retracts.any() else None))
        place[keys] = known + np.arange(len(keys))
        known += len(keys)
    return results[0] if len(results) == 1 else _chosen(results, place)


def _chosen(columns: Sequence[pa.ChunkedArray], places: Positions) -> pa.ChunkedArray:
    """Return the values at the positions ``places`` of the concatenated columns."""
    return take(pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type), places)


def _after_retract(events: Events) -> Flags:
    """Return true for each late event with a retract between this event and the previous late event.

    For the first late event of a key: whether the key has any retract before this event.
    """
    before: Positions = np.cumsum(events.retracts) - events.retracts
    late = np.flatnonzero(events.late)
    numbers = events.groups.numbers[late]
    first = np.append(True, numbers[1:] != numbers[:-1])
    since = np.where(first, before[events.groups.starts[numbers]], np.append(0, before[late[:-1]])[: len(late)])
    cuts = np.zeros(len(events.rows), np.bool_)
    cuts[late[before[late] > since]] = True
    return cuts


def _steps(events: Events, cuts: Flags) -> Positions:
    """Return for each event the number of cuts in its key up to and including the event."""
    seen = offsets_of(cuts)
    steps: Positions = seen[1:] - seen[events.groups.starts][events.groups.numbers]
    return steps


def _any(flags: Flags, groups: Groups) -> Flags:
    seen = offsets_of(flags)
    found: Flags = seen[groups.ends] > seen[groups.starts]
    return found
