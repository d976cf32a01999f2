"""Hash difference: finds, by row hashes, the surplus rows: rows that one of two sides has more often than the other.

Memory: 1 byte per row, and 200 bytes for each of at most ``BIN_ROWS`` rows. The hashes of more rows are distributed by
value over files (bins) on local disk, so that equal hashes are in the same bin. With ``write-buffer-spillable`` =
false, all hashes are one bin in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.options import TableOptions
from paimon_core.table.changes.row_hashes import Hashes
from paimon_core.write.spill import SpilledRun, SpillSpace

BIN_ROWS = 1 << 20
"""The approximate number of rows of both sides that are compared at once."""
_MOST_BINS = 1 << 10
_COLUMNS = ("high", "low", "at")
_HALF = np.uint64(32)
Flags = npt.NDArray[np.bool_]
_Placed = tuple[Hashes, npt.NDArray[np.int64]]
"""The hashes of some rows of one side, as uint64[2, rows] (high and low halves), and the positions of these rows."""


class HashedRows:
    """Collects the hashes of the rows of two sides, in row order; a context manager that deletes its files."""

    def __init__(self, options: TableOptions, row_count: int) -> None:
        """``row_count``: about how many rows will be added."""
        space = SpillSpace(options["write-buffer-spill.max-disk-size"], None)
        spills = bool(options["write-buffer-spillable"])
        self._space = space
        self._bins = min(_MOST_BINS, max(1, -(-row_count // BIN_ROWS))) if spills else 1
        self._held: list[list[Hashes]] = [[], []]
        self._held_rows = 0
        self._spilled: list[list[list[SpilledRun]]] = [[[] for _ in range(self._bins)] for _ in range(2)]
        self._first = [0, 0]
        self.counts = [0, 0]
        """The number of rows of each side."""

    def add(self, side: int, hashes: Hashes) -> None:
        """Add the hashes of the next rows of a side; raises StorageError when local disk is full."""
        self._held[side].append(hashes)
        self._held_rows += hashes.shape[1]
        self.counts[side] += hashes.shape[1]
        if self._bins > 1 and self._held_rows >= BIN_ROWS:
            self._flush()

    def bins(self) -> Iterator[tuple[_Placed, _Placed]]:
        """Yield the hashes and positions of the rows of both sides for each bin; equal hashes are in the same bin."""
        if self._bins == 1:
            yield self._taken(0), self._taken(1)
            return
        self._flush()
        for at in range(self._bins):
            yield _read(self._spilled[0][at]), _read(self._spilled[1][at])

    def _taken(self, side: int) -> _Placed:
        hashes = np.concatenate([np.zeros((2, 0), np.uint64), *self._held[side]], axis=1)
        self._held[side].clear()
        first = self._first[side]
        self._first[side] += hashes.shape[1]
        return hashes, np.arange(first, first + hashes.shape[1])

    def _flush(self) -> None:
        for side in (0, 1):
            (high, low), places = self._taken(side)
            numbers = ((high >> _HALF) * np.uint64(self._bins)) >> _HALF
            order = np.argsort(numbers, kind="stable")
            columns = [column[order] for column in (high, low, places)]
            ends = np.searchsorted(numbers[order], np.arange(self._bins + 1, dtype=np.uint64))
            for at, (start, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
                if start < end:
                    some = [pa.array(column[start:end]) for column in columns]
                    rows = pa.RecordBatch.from_arrays(some, names=list(_COLUMNS))
                    self._spilled[side][at].append(self._space.put(rows.schema, iter([rows])))
        self._held_rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._space.close()


def surplus(rows: HashedRows) -> tuple[Flags, Flags]:
    """Return for each side one flag per row: whether the row is surplus.

    If one side has a row n times more often than the other side, n of its equal rows are surplus.
    """
    found = np.zeros(rows.counts[0], np.bool_), np.zeros(rows.counts[1], np.bool_)
    for (left, left_at), (right, right_at) in rows.bins():
        chosen = _surplus(left, right)
        count = len(left_at)
        found[0][left_at[chosen[:count]]] = True
        found[1][right_at[chosen[count:]]] = True
    return found


def _surplus(before: Hashes, after: Hashes) -> Flags:
    """Return for each row of ``before``, then of ``after``, whether it is surplus."""
    count = before.shape[1]
    high, low = np.concatenate([before, after], axis=1)
    chosen = np.zeros(len(high), np.bool_)
    if not len(high):
        return chosen
    order = np.argsort(high)
    if _is_mixed(high[order], low[order]):
        order = np.lexsort((low, high))
    starts = _starts(high[order], low[order])
    is_after = order >= count
    groups = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    rank_after = np.cumsum(is_after)
    rank_before = np.arange(1, len(order) + 1) - rank_after
    weight = np.add.reduceat(np.where(is_after, 1, -1), first)[groups]
    rank_after -= (rank_after[first] - is_after[first])[groups]
    rank_before -= (rank_before[first] - ~is_after[first])[groups]
    chosen[order] = np.where(is_after, rank_after <= weight, rank_before <= -weight)
    return chosen


def _starts(high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64]) -> Flags:
    """Return for each hash whether it differs from the hash before it; True for the first hash."""
    return np.append(True, (high[1:] != high[:-1]) | (low[1:] != low[:-1]))


def _is_mixed(high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64]) -> bool:
    """Whether two neighboring hashes differ only in the second half; the hashes are sorted by the first half."""
    return bool(np.any((high[1:] == high[:-1]) & (low[1:] != low[:-1])))


def _read(runs: list[SpilledRun]) -> _Placed:
    batches = [batch for run in runs for batch in run.batches()]
    high, low, at = (
        np.concatenate([np.zeros(0, kind), *(batch[name].to_numpy() for batch in batches)])
        for name, kind in zip(_COLUMNS, (np.uint64, np.uint64, np.int64), strict=True)
    )
    return np.stack([high, low]), at
