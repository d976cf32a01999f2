"""Sequence groups: finds the rows that are newer, by a sequence group, than all earlier rows of the key (format 9.4).

A row counts for a group unless all ordering columns of the group are null. A row is newer when its ordering values are
at least as large as the largest ordering values of the earlier rows of the same key. Columns are compared one after the
other, and null is the smallest value. A row that counts and is not newer is late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.aggregates.positions import valid_rows
from paimon_core.lsm.gather import Flags
from paimon_core.lsm.key_groups import Groups
from paimon_core.lsm.order_codes import Codes, order_codes

_WORD_BITS = 62


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Two booleans for each row of a table: whether the row counts for a sequence group, and whether the row is
    newer.
    """

    counts: Flags
    newer: Flags

    @property
    def late(self) -> Flags:
        """The rows that count and are not newer."""
        late: Flags = self.counts & ~self.newer
        return late


def counting(rows: pa.Table, ordering: Sequence[str]) -> Flags:
    """Return true for the rows that have a value in at least one of the ordering columns."""
    counts = np.zeros(len(rows), np.bool_)
    for name in ordering:
        valid = valid_rows(rows[name])
        if valid is None:
            return np.ones(len(rows), np.bool_)
        counts |= valid
    return counts


def arrivals(rows: pa.Table, ordering: Sequence[str], segments: Groups) -> Arrivals:
    """Return the arrivals for the group with these ordering columns.

    ``segments`` are compact, and none is empty. Each segment starts a new state, so its first row is not compared. The
    result for rows that are in no segment is arbitrary.
    """
    counts = counting(rows, ordering)
    return Arrivals(counts, counts & ~_below_maximum(order_codes([rows[name] for name in ordering]), segments))


def _below_maximum(codes: Codes, segments: Groups) -> Flags:
    """Return true for each row that has a smaller code than an earlier row of its segment."""
    below = np.zeros(len(codes), np.bool_)
    in_order = codes[segments.order]
    decreases = np.zeros(len(in_order), np.bool_)
    decreases[1:] = in_order[1:] < in_order[:-1]
    decreases[segments.starts] = False
    if not decreases.any():
        return below
    # Most rows arrive in order: only the segments in which a code decreases need the running maximum.
    wrong = segments.keep(np.logical_or.reduceat(decreases, segments.starts)).compact()
    below[wrong.order] = _below_running_maximum(codes[wrong.order], wrong)
    return below


def _below_running_maximum(codes: Codes, segments: Groups) -> Flags:
    """Return true for each code that is smaller than the running maximum of its segment; codes are ordered by segment.

    Each code and the number of its segment are combined into one integer, with the segment number in the upper bits, so
    that one running maximum covers all segments.
    """
    small: npt.NDArray[Any] = np.zeros(0, np.int64)
    if codes.dtype.kind in "iub":
        low, high = int(codes.min()), int(codes.max())
        bits = (high - low).bit_length()
        if bits + len(segments).bit_length() <= _WORD_BITS:
            small = (codes.astype(np.uint64) - np.uint64(low % 2**64)).astype(np.int64)
    if not len(small):
        values, small = np.unique(codes, return_inverse=True)
        bits = len(values).bit_length()
    words = (segments.numbers << bits) | small
    behind: Flags = words < np.maximum.accumulate(words)
    return behind
