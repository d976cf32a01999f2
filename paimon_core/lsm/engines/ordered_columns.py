"""Ordered columns: computes the columns of one sequence group, from the newest row or by their aggregate functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.aggregates.aggregate import Aggregate
from paimon_core.lsm.aggregates.positions import last_where, take_or_null
from paimon_core.lsm.engines.key_state import KeyState
from paimon_core.lsm.engines.late_first import fold_first
from paimon_core.lsm.engines.late_rows import Events, Late, fold_events
from paimon_core.lsm.engines.sequence_group import Arrivals
from paimon_core.lsm.gather import Flags, Positions


@dataclass(frozen=True, slots=True)
class Function:
    """The aggregate function of a column, and how the function handles late rows.

    ``name`` is the function's name in the options; ``ignores_retracts`` is the value of option ignore-retract.
    """

    name: str
    fold: Aggregate
    late: Late
    ignores_retracts: bool = False

    def cannot_retract(self, column: str) -> InvalidRequest:
        """Return the error for a retract that the function of this column cannot apply."""
        return InvalidRequest(
            f"column {column!r}: the aggregate function {self.name} cannot retract rows of kind -U and -D; "
            f"set the option fields.{column}.ignore-retract = true to ignore them",
            column=column,
            function=self.name,
        )


@dataclass(frozen=True)
class OrderedColumns:
    """The columns of one sequence group, for the keys of ``state``."""

    state: KeyState
    arrived: Arrivals

    def ordering(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return, for each key, the value of an ordering column of the group in the last newer row (of any kind)."""
        return take_or_null(column, self._newest)

    def protected(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column that has no function: its value in each key's last newer row, null if that is a retract."""
        return take_or_null(column, self._winners)

    def folded(self, name: str, column: pa.ChunkedArray, function: Function) -> pa.ChunkedArray:
        """Return the column ``name``, combined by its function.

        Raises InvalidRequest for a retract that the function cannot apply.
        """
        state, arrived = self.state, self.arrived
        if state.retracts is None and not self._any_late:
            counted = state.final if arrived.counts.all() else state.final.where(arrived.counts)
            return function.fold(column, counted, None)
        if not (function.ignores_retracts or function.fold.can_retract) and self._any_retract:
            raise function.cannot_retract(name)
        if function.late in (Late.IN_PLACE, Late.LEFT_OUT) and not self._any_base:
            acts = arrived.counts if function.late is Late.IN_PLACE else arrived.counts & ~self._late_adds
            retracts = None if function.ignores_retracts else state.retracts
            if state.retracts is not None and function.ignores_retracts:
                acts = acts & ~state.retracts
            return function.fold(column, state.final.where(acts), retracts)
        if function.late is Late.FIRST:
            return fold_first(column, state, arrived, non_null=function.name != "first_value")
        events = Events.of(state, arrived, retracts=not function.ignores_retracts)
        return fold_events(column, events, function.fold, function.late)

    @cached_property
    def _newest(self) -> Positions:
        return last_where(self.arrived.newer, self.state.final)

    @cached_property
    def _winners(self) -> Positions:
        """The position of the last newer row of each key, without rows that have no effect (``KeyState.inert``).

        The position is -1 when this row is a retract. Without such a row, it is the position of the base row.
        """
        state = self.state
        if state.retracts is None:
            return self._newest
        rows = self._newest
        if state.inert is not None:
            rows = last_where(self.arrived.newer & ~state.inert, state.final)
        return np.where(rows < 0, state.base, np.where(state.retracts[rows], -1, rows))

    @cached_property
    def _late_adds(self) -> Flags:
        late = self.arrived.late
        return late if self.state.retracts is None else late & ~self.state.retracts

    @cached_property
    def _any_base(self) -> bool:
        return bool((self.state.base >= 0).any())

    @cached_property
    def _any_late(self) -> bool:
        return bool(self.arrived.late[self.state.final.order].any())

    @cached_property
    def _any_retract(self) -> bool:
        """Whether the functions receive a retract.

        A retract counts even if a later row removes the record of its key.
        """
        state = self.state
        if state.retracts is None:
            return False
        acts = state.retracts & self.arrived.counts
        if state.inert is not None:
            acts &= ~state.inert
        return bool(acts[state.whole.order].any())
