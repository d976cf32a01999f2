"""Last values: columns of a partial update in no sequence group, and the kind and sequence number (format 9.4)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.lsm.aggregates.positions import last_where, take_or_null, valid_rows
from paimon_core.lsm.engines.key_state import KeyState
from paimon_core.lsm.gather import Flags, contiguous, take
from paimon_core.lsm.key_groups import Groups


def last_values(state: KeyState, many: Flags, column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """Return the last non-null value of each group, among the ``value_rows`` of ``state``.

    ``many`` marks the groups that are merged; ``state`` describes these groups. Every other group has a single row and
    gets the value of this row; the kind of the row does not matter.
    """
    valid = valid_rows(column)
    if state.retracts is None:
        return take_or_null(column, groups.last if valid is None else last_where(valid, groups))
    rows = groups.last.copy()
    rows[many] = last_where(valid, state.value_rows)
    return take_or_null(column, rows)


def result_kinds(state: KeyState, many: Flags, column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """Return the kind of each result: the kind of the merged state if the key is in ``many``, else its row's kind."""
    kinds = contiguous(take(column, groups.last)).to_numpy().copy()
    kinds[many] = state.kinds
    return pa.chunked_array([pa.array(kinds, column.type)])


def last_add_numbers(state: KeyState, many: Flags, column: pa.ChunkedArray, groups: Groups) -> pa.ChunkedArray:
    """Return the sequence number of each key if deletes are ignored.

    It is the number of the last added row, or 0 for a key with several deletes and no added row.
    """
    rows = groups.last.copy()
    rows[many] = last_where(None if state.retracts is None else ~state.retracts, state.whole)
    numbers = contiguous(take(column, rows.clip(min=0))).to_numpy().copy()
    numbers[np.flatnonzero(rows < 0)] = 0
    return pa.chunked_array([pa.array(numbers, column.type)])
