"""Key windows: sorted runs are read a batch at a time and cut at one key, so that a merge needs bounded memory.

``windows`` loads a part of each run and cuts all parts at the smallest last key loaded: no run can still hold a key at
or below the cut. What lies above it waits for the next window. The parts of all runs together hold ``WINDOW_BYTES``
and one batch per run, so memory does not grow with the length of the runs; with their number it grows no more than the
batches do.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from paimon_core.errors import CorruptTable
from paimon_core.lsm.gather import joined
from paimon_core.lsm.key_order import SortKey, sort_key

WINDOW_ROWS = 1 << 17
"""Rows of each run that one merge step holds: enough for whole columns to pay, few enough to use memory again."""
WINDOW_BYTES = 64 << 20
"""Bytes of all runs together at which a window is full, whatever its rows: wide tables need some for batches that pay.
"""


def windows(
    runs: Sequence[Iterator[pa.RecordBatch]], key: Sequence[str], window_rows: int, *, repeats: bool = False
) -> Iterator[list[pa.Table]]:
    """Yield, window by window in key order, the rows of each run that has rows there, in the order of the runs.

    Each run is sorted by the ``key`` columns, ascending, and holds a key once; with ``repeats`` any number of times.
    A run's part of a window is full at ``window_rows`` rows or its share of WINDOW_BYTES. Together the windows hold
    every row, no key is in two windows, and no window is empty. Raises CorruptTable when a run falls back.
    """
    sources = [_Source(run, tuple(key), repeats) for run in runs]
    while True:
        for source in sources:
            source.load(window_rows, WINDOW_BYTES // len(sources))
        sources = [source for source in sources if source.waiting]
        if not sources:
            return
        cuts = [source.last_key() for source in sources if not source.ended]
        cut = min(cuts) if cuts else None
        pieces = [source.take(cut) for source in sources]
        yield [piece for piece in pieces if piece is not None]


class _Source:
    """The batches of one run that are loaded and not yet in a window."""

    def __init__(self, run: Iterator[pa.RecordBatch], key: tuple[str, ...], repeats: bool) -> None:
        self.waiting: deque[pa.RecordBatch] = deque()
        self.ended = False
        self._run = run
        self._key = key
        self._repeats = repeats
        self._passed: SortKey | None = None

    def load(self, window_rows: int, window_bytes: int) -> None:
        """Read batches until ``window_rows`` rows or ``window_bytes`` bytes wait, or the run ends."""
        rows = sum(batch.num_rows for batch in self.waiting)
        size = sum(batch.nbytes for batch in self.waiting)
        while not self.ended and (not self._can_cut() or (rows < window_rows and size < window_bytes)):
            batch = next(self._run, None)
            if batch is None:
                self.ended = True
            elif batch.num_rows:
                self._check_follows(batch)
                self.waiting.append(batch)
                rows += batch.num_rows
                size += batch.nbytes

    def last_key(self) -> SortKey:
        """The largest key that waits."""
        return _key_at(self.waiting[-1], self._key, -1)

    def take(self, cut: SortKey | None) -> pa.Table | None:
        """The waiting rows with a key at or, when the run repeats its keys, below ``cut`` (None: all)."""
        taken = []
        self._passed = cut
        while self.waiting:
            batch = self.waiting.popleft()
            rows = batch.num_rows if cut is None else self._rows_to(batch, cut)
            if rows:
                taken.append(batch.slice(0, rows))
            if rows < batch.num_rows:
                self.waiting.appendleft(batch.slice(rows))
                break
        return joined([pa.Table.from_batches([batch]) for batch in taken]) if taken else None

    def _can_cut(self) -> bool:
        """Whether a cut at the last key leaves rows before it; of a key that repeats, more rows may follow."""
        if not self._repeats or not self.waiting:
            return bool(self.waiting)
        return _key_at(self.waiting[0], self._key, 0) != self.last_key()

    def _rows_to(self, batch: pa.RecordBatch, cut: SortKey) -> int:
        """How many rows of a sorted batch lie before the cut."""
        last = _key_at(batch, self._key, -1)
        if last < cut or (last == cut and not self._repeats):
            return int(batch.num_rows)
        if len(self._key) == 1:
            column = batch.column(self._key[0])
            ((valid, value),) = cut
            if valid and pa.types.is_integer(column.type) and not column.null_count:
                values = column.to_numpy()
                return int(values.searchsorted(values.dtype.type(value), "left" if self._repeats else "right"))
        bisect = bisect_left if self._repeats else bisect_right
        return bisect(range(batch.num_rows), cut, key=lambda row: _key_at(batch, self._key, row))

    def _check_follows(self, batch: pa.RecordBatch) -> None:
        bound = self.last_key() if self.waiting else self._passed
        if bound is None:
            return
        first = _key_at(batch, self._key, 0)
        if first < bound or (first == bound and not self._repeats):
            raise not_ascending(self._key)


def not_ascending(key: Sequence[str]) -> CorruptTable:
    """The error of a run whose keys fall back or repeat."""
    return CorruptTable(
        f"a sorted run is not strictly ascending by {', '.join(key)}: its files cannot be merged", key=tuple(key)
    )


def _key_at(batch: pa.RecordBatch, key: Sequence[str], row: int) -> SortKey:
    return sort_key(_storage_value(batch.column(name)[row]) for name in key)


def _storage_value(scalar: pa.Scalar) -> Any:
    """The scalar as a storage value: times are their integer, so that nanoseconds survive."""
    if isinstance(scalar, pa.TimestampScalar | pa.Time32Scalar | pa.Date32Scalar):
        return scalar.value
    return scalar.as_py()
