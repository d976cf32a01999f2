"""Aggregate functions that pick one row's value: last_value, last_non_null_value, first_value, first_non_null_value.

All types are allowed (format 9.5). Each function first chooses rows, then takes their values in one call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.positions import first_where, last_where, take_or_null, valid_rows
from paimon_core.lsm.gather import Flags, Positions
from paimon_core.lsm.key_groups import Groups


@dataclass(frozen=True, slots=True)
class Last:
    """The last value, or with ``non_null`` the last non-null value; null when the row of this value is a retract."""

    non_null: bool
    can_retract: bool = True

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the last value of each group, or null if the row of this value is a retract."""
        rows = last_where(valid_rows(column) if self.non_null else None, groups)
        return take_or_null(column, rows if retracts is None else _unless(retracts, rows))


@dataclass(frozen=True, slots=True)
class First:
    """The first value, or with ``non_null`` the first non-null value."""

    non_null: bool
    can_retract: bool = False

    def __call__(self, column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None) -> pa.ChunkedArray:
        """Return the first value of each group."""
        return take_or_null(column, first_where(self._candidates(column), groups))

    def after_deletes(self, column: pa.ChunkedArray, whole: Groups, since: Groups, deletes: Flags) -> pa.ChunkedArray:
        """Return one value per group, where each row in ``deletes`` replaces the result so far (format 9.5).

        ``deletes``: one boolean per row. ``since``: the rows of the groups ``whole`` from the last delete of each group
        on, including this delete. If a group has a first value before its last delete, the result is the value of the
        delete row; otherwise it is the first value after the delete row.
        """
        candidates = self._candidates(column)
        adds = ~deletes if candidates is None else candidates & ~deletes
        after = first_where(adds, since)
        unseen = (after >= 0) & (after == first_where(adds, whole))
        return take_or_null(column, np.where(unseen, after, since.first))

    def _candidates(self, column: pa.ChunkedArray) -> Flags | None:
        return valid_rows(column) if self.non_null else None


def _unless(retracts: Retracts, rows: Positions) -> Positions:
    """Return the positions ``rows``, with -1 instead of the position of a retract."""
    return np.where((rows >= 0) & retracts[rows], -1, rows)
