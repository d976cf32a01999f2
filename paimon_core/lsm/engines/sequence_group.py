"""Sequence groups: for each group of columns, which rows of a key are newer than all before them (format 9.4).

A row counts for a group unless all of its ordering columns are null. It is newer when its ordering columns, compared
one after the other, ascending, null smallest, are at least those of the key's state: the largest seen so far. A row
that counts and is not newer is late.
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
    """What the rows of a table are to one sequence group, one boolean per row."""

    counts: Flags
    newer: Flags

    @property
    def late(self) -> Flags:
        """The rows that count and are not newer."""
        late: Flags = self.counts & ~self.newer
        return late


def counting(rows: pa.Table, ordering: Sequence[str]) -> Flags:
    """The rows that have a value in one of the ordering columns at least."""
    counts = np.zeros(len(rows), np.bool_)
    for name in ordering:
        valid = valid_rows(rows[name])
        if valid is None:
            return np.ones(len(rows), np.bool_)
        counts |= valid
    return counts


def arrivals(rows: pa.Table, ordering: Sequence[str], segments: Groups) -> Arrivals:
    """The arrivals for the group with these ordering columns.

    ``segments`` are compact, none is empty, and each begins a new state: its first row is compared with nothing.
    Rows in no segment have any value.
    """
    counts = counting(rows, ordering)
    return Arrivals(counts, counts & ~_below_maximum(order_codes([rows[name] for name in ordering]), segments))


def _below_maximum(codes: Codes, segments: Groups) -> Flags:
    """True for the rows whose code is below that of a row before them in their segment."""
    below = np.zeros(len(codes), np.bool_)
    in_order = codes[segments.order]
    falls = np.zeros(len(in_order), np.bool_)
    falls[1:] = in_order[1:] < in_order[:-1]
    falls[segments.starts] = False
    if not falls.any():
        return below
    # Rows that arrive in order are the rule: only the segments in which a code falls need the running maximum.
    wrong = segments.keep(np.logical_or.reduceat(falls, segments.starts)).compact()
    below[wrong.order] = _falls_behind(codes[wrong.order], wrong)
    return below


def _falls_behind(codes: Codes, segments: Groups) -> Flags:
    """For codes in the order of the segments: one word that puts the segment first makes one running maximum of all."""
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
