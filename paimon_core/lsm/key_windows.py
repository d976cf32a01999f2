"""Key windows: sorted runs are read batch by batch and cut at a common key, so that a merge needs bounded memory.

``windows`` loads a part of each run. The cut is the smallest of the last loaded keys of all runs that have unread
rows, because no run can have unread rows at or below this key. Rows above the cut are part of a later window::

    run 1 | a c f |  h ...   loaded to f
    run 2 | b g   |  k ...   loaded to g
    run 3 | d e   |  i ...   loaded to e: the cut
    window: a c | b | d e    f and g wait for the next window

The loaded parts of all runs together take at most ``WINDOW_BYTES`` of decoded rows and one batch per run. So the memory
does not depend on the length of the runs, and each additional run needs only one more batch.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from paimon_core.arrow.byte_budget import decoded_bytes
from paimon_core.errors import CorruptTable
from paimon_core.lsm.gather import joined
from paimon_core.lsm.key_order import SortKey, sort_key
from paimon_core.parallel_work import run_parallel

WINDOW_ROWS = 1 << 17
"""The number of rows per run in one merge step: enough for efficient column operations, and few enough that the memory
of one step can be reused by the next step.
"""
WINDOW_BYTES = 64 << 20
"""The number of bytes of all runs together at which a window is full, independent of its number of rows.

Tables with many columns need this much memory for batches of an efficient size.
"""


def windows(
    runs: Sequence[Iterator[pa.RecordBatch]],
    key: Sequence[str],
    window_rows: int,
    *,
    repeats: bool = False,
    threads: int = 1,
) -> Iterator[list[pa.Table]]:
    """Yield the windows in key order, each as a list of tables: one for each run with rows in the window.

    Each run is sorted by the ``key`` columns, ascending, and contains each key once. With ``repeats`` a run may contain
    a key several times, and all rows of a key are in one window. The part of a run in a window is full at
    ``window_rows`` rows or at the run's share of WINDOW_BYTES. The windows together contain every row, no key is in two
    windows, and no window is empty. At most ``threads`` runs are read at the same time. Raises CorruptTable when the
    keys of a run do not ascend from one batch to the next; the order of the rows inside a batch is not checked.
    """
    sources = [_Source(run, tuple(key), repeats) for run in runs]
    while True:
        share = WINDOW_BYTES // max(1, len(sources))
        run_parallel(partial(_Source.load, window_rows=window_rows, window_bytes=share), sources, threads)
        sources = [source for source in sources if source.loaded]
        if not sources:
            return
        cuts = [source.last_key() for source in sources if not source.ended]
        cut = min(cuts) if cuts else None
        # No variable refers to the rows, so their memory is freed as soon as the consumer releases them.
        yield [piece for piece in [source.take(cut) for source in sources] if piece is not None]


class _Source:
    """The batches of one run that are loaded and not yet in a window."""

    def __init__(self, run: Iterator[pa.RecordBatch], key: tuple[str, ...], repeats: bool) -> None:
        self.loaded: deque[pa.RecordBatch] = deque()
        self._sizes: deque[int] = deque()  # the decoded bytes of each loaded batch
        self.ended = False
        self._run = run
        self._key = key
        self._repeats = repeats
        self._last_cut: SortKey | None = None

    def load(self, window_rows: int, window_bytes: int) -> None:
        """Read batches until ``window_rows`` rows or ``window_bytes`` bytes are loaded, or the run ends."""
        rows = sum(batch.num_rows for batch in self.loaded)
        size = sum(self._sizes)
        while not self.ended and (not self._can_cut() or (rows < window_rows and size < window_bytes)):
            batch = next(self._run, None)
            if batch is None:
                self.ended = True
            elif batch.num_rows:
                self._check_ascending(batch)
                self.loaded.append(batch)
                self._sizes.append(decoded_bytes(batch))
                rows += batch.num_rows
                size += self._sizes[-1]

    def last_key(self) -> SortKey:
        """Return the largest loaded key."""
        return _key_at(self.loaded[-1], self._key, -1)

    def take(self, cut: SortKey | None) -> pa.Table | None:
        """Remove and return the loaded rows up to the key ``cut``; if keys repeat, the rows with this key stay.

        ``cut`` None: return all rows. Return None when there is no row to return.
        """
        taken = []
        self._last_cut = cut
        while self.loaded:
            batch = self.loaded.popleft()
            self._sizes.popleft()
            rows = batch.num_rows if cut is None else self._rows_to(batch, cut)
            if rows:
                taken.append(batch.slice(0, rows))
            if rows < batch.num_rows:
                self.loaded.appendleft(batch.slice(rows))
                self._sizes.appendleft(decoded_bytes(self.loaded[0]))
                break
        return joined([pa.Table.from_batches([batch]) for batch in taken]) if taken else None

    def _can_cut(self) -> bool:
        """Whether a cut at the last loaded key gives at least one row.

        If keys repeat, unread rows may have the last loaded key, so rows with this key are not part of the window.
        """
        if not self._repeats or not self.loaded:
            return bool(self.loaded)
        return _key_at(self.loaded[0], self._key, 0) != self.last_key()

    def _rows_to(self, batch: pa.RecordBatch, cut: SortKey) -> int:
        """Return the number of rows of a sorted batch that belong to the window which ends at ``cut``."""
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

    def _check_ascending(self, batch: pa.RecordBatch) -> None:
        bound = self.last_key() if self.loaded else self._last_cut
        if bound is None:
            return
        first = _key_at(batch, self._key, 0)
        if first < bound or (first == bound and not self._repeats):
            raise not_ascending(self._key)


def not_ascending(key: Sequence[str]) -> CorruptTable:
    """Return the error for a run whose keys decrease or repeat."""
    return CorruptTable(
        f"a sorted run is not strictly ascending by {', '.join(key)}: its files cannot be merged", key=tuple(key)
    )


def _key_at(batch: pa.RecordBatch, key: Sequence[str], row: int) -> SortKey:
    return sort_key(_storage_value(batch.column(name)[row]) for name in key)


def _storage_value(scalar: pa.Scalar) -> Any:
    """Return the scalar as a storage value; dates and times become integers, so that nanoseconds are not lost."""
    if isinstance(scalar, pa.TimestampScalar | pa.Time32Scalar | pa.Date32Scalar):
        return scalar.value
    return scalar.as_py()
