"""Write buffer: collects rows of one bucket in arrival order until the rows become files of level 0 (format 7.3, 10).

Rows that do not fit in memory are written to sorted runs. ``drain`` gives the same result as a merge of all rows in
memory: the runs are read in order of arrival, and each run contains the rows of a key in merge order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, starmap
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from paimon_core.arrow.byte_budget import cut, ranges, row_sizes
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.gather import take, take_rows
from paimon_core.lsm.key_groups import Groups, group
from paimon_core.lsm.key_windows import WINDOW_ROWS, windows
from paimon_core.lsm.key_words import KeyWords
from paimon_core.lsm.merge import sorted_groups
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.parallel_work import own_processors, run_parallel
from paimon_core.schema import KEY_PREFIX

FAN_IN = 64
"""The largest number of stored runs that one merge reads; if there are more, some adjacent runs are merged first."""
BATCH_BYTES = 1 << 20
"""The largest batch of a run in bytes (a larger row gets its own batch); a merge loads some batches of every run."""
_LARGE_BATCH_BYTES = 4 << 20
"""The largest batch of the first runs. Large batches cost less time."""
_LARGE_BATCH_RUNS = 16
"""The number of runs with large batches, so that one batch of each of these runs fits into one window."""
_BATCHES = 32
"""The number of batches of a run that has batches of more than BATCH_BYTES, so that small buffers merge little memory.
"""
PART_BYTES = 8 << 20
"""The number of bytes of long rows that are copied at once."""
_MANY_ROWS = 1 << 17
"""The minimum number of rows whose columns are copied by several threads."""
_LONG_BYTES = 1 << 10
"""Rows with more bytes than this on average are called long."""
_FIRST_ROWS = 1 << 12
"""The number of rows whose keys are compared first: rows in random order are then found without codes for all keys."""

_Result = TypeVar("_Result")


class StoredRun(Protocol):
    """A sorted run that is stored outside of memory."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the rows in the order in which they were stored."""

    def delete(self) -> None:
        """Delete the run and free its storage."""


class RunStore(Protocol):
    """Stores sorted runs outside of memory; all buffers of a writer share one store."""

    @property
    def has_room(self) -> bool:
        """Whether another run may be stored."""

    def put(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> StoredRun:
        """Store the batches as a run and return the run."""


@dataclass(frozen=True, slots=True)
class Drained:
    """All rows of some keys of a buffer, merged and, if requested, unmerged."""

    merged: pa.Table
    """One row per key, of any kind, sorted by key."""
    raw: pa.Table | None = None
    """Every row that was added, sorted by key and in merge order within a key; None unless requested."""


class WriteBuffer:
    """Collects tables of rows without copying them.

    ``spill`` and ``drain`` need additional memory: about the size of the buffered rows, or less for long rows.

    ``keeps_raw``: ``drain`` also returns the unmerged rows. ``folds_early``: merging some rows of a key before its
    other rows does not change the result, so a run stores only one row per key (unless ``keeps_raw``).
    """

    def __init__(
        self,
        key: Sequence[str],
        order: MergeOrder,
        engine: MergeEngine,
        *,
        store: RunStore | None = None,
        keeps_raw: bool = False,
        folds_early: bool = False,
    ) -> None:
        self._key = tuple(key)
        self._order = order
        self._engine = engine
        self._store = store
        self._keeps_raw = keeps_raw
        self._folds_early = folds_early and not keeps_raw
        self._tables: list[pa.Table] = []
        self._bytes = 0
        self._runs: list[StoredRun] = []
        self._last_key: pa.Table | None = None

    def add(self, rows: pa.Table) -> None:
        """Append rows, in arrival order, with their key, sequence, kind and value columns."""
        if len(rows):
            self._tables.append(rows)
            self._bytes += rows.nbytes

    @property
    def nbytes(self) -> int:
        """The size of the rows in memory, in bytes."""
        return self._bytes

    @property
    def has_long_rows(self) -> bool:
        """Whether the rows in memory have on average more than 1 KiB."""
        return self._bytes > _LONG_BYTES * sum(map(len, self._tables))

    def spill(self) -> bool:
        """Move the rows in memory to the store as a run; return False and change nothing if the store has no room."""
        if self._store is None or not self._store.has_room:
            return False
        if self._tables:
            size = BATCH_BYTES
            if len(self._runs) < _LARGE_BATCH_RUNS and not self.has_long_rows:
                size = max(size, min(_LARGE_BATCH_BYTES, self._bytes // _BATCHES))
            self._runs.append(_put(self._store, self._chunk(), size))
        return True

    def spill_long(self) -> None:
        """Move long rows in memory to the store if ``drain`` has to merge runs, because the merge also needs memory."""
        if self._runs and self.has_long_rows:
            self.spill()

    def drain(self) -> Iterator[Drained]:
        """Yield all rows by ascending key; yield nothing if the buffer is empty. Afterwards the buffer is empty."""
        if not self._runs:
            if self._tables and self._folds_early:
                yield from map(Drained, self._chunk())
            elif self._tables:
                yield from starmap(self._drained, _parts(*self._grouped()))
            return
        self.spill_long()
        self._join_runs()
        runs = [run.batches() for run in self._runs]
        if self._tables:
            runs.append(_batches(self._chunk(), BATCH_BYTES))
        yield from self._merged(runs, self._drained)
        self._delete(self._runs)
        self._runs = []

    def drain_ascending(self) -> Iterator[Drained] | None:
        """Return what ``drain`` yields, if the rows arrived by ascending key and no key is there twice.

        The first key must also be greater than the keys that this method has returned before. None, and the buffer is
        not changed, if this is not so, if the buffer is empty, or if it has stored runs.
        """
        if self._runs or not self._tables:
            return None
        rows = pa.concat_tables(self._tables)
        keys = rows.select(self._key)
        before = [] if self._last_key is None else [self._last_key]
        if not all(self._ascends([*before, some]) for some in (keys.slice(0, _FIRST_ROWS), keys)):
            return None
        self._tables, self._bytes = [], 0
        self._last_key = keys.take([len(keys) - 1])  # a slice would hold all keys in memory
        if self._engine.keeps_last:  # the one row of each key is its result
            return iter([Drained(rows, rows if self._keeps_raw else None)])
        places = np.arange(len(rows) + 1)
        return starmap(self._drained, _parts(rows, Groups(places[:-1], places[:-1], places[1:])))

    def _ascends(self, keys: Sequence[pa.Table]) -> bool:
        words = KeyWords.of(pa.concat_tables(keys), self._key)
        return words.is_ascending(0, len(words))

    @property
    def drains_together(self) -> bool:
        """Whether the buffer may be passed to ``drain_together``."""
        return self._engine.keeps_last and not self._keeps_raw and not self._runs and bool(self._tables)

    def discard(self) -> None:
        """Delete all rows."""
        self._delete(self._runs)
        self._tables, self._bytes, self._runs = [], 0, []

    def _grouped(self) -> tuple[pa.Table, Groups]:
        """Remove the rows in memory from the buffer and return them with their groups."""
        rows = pa.concat_tables(self._tables)
        self._tables, self._bytes = [], 0
        return rows, sorted_groups(rows, self._key, self._order)

    def _chunk(self) -> Iterator[pa.Table]:
        """Remove the rows in memory from the buffer and yield them as the rows of a run."""
        rows, groups = self._grouped()
        if self._folds_early and self._frees_columns(rows):
            kept, names = self._engine.survivors(rows, groups, drop_deletes=False), rows.column_names
            parts = _column_parts(rows)
            del rows
            yield self._fold_by_column(parts, kept, names)
            return
        yield from starmap(self._run_rows, _parts(rows, groups))

    def _frees_columns(self, rows: pa.Table) -> bool:
        """Whether rows in memory are copied column by column, so that one column at a time is in memory twice."""
        return self._engine.keeps_last and len(rows) >= _MANY_ROWS and not _are_long(rows)

    def _run_rows(self, rows: pa.Table, groups: Groups) -> pa.Table:
        return self._fold(rows, groups) if self._folds_early else _arranged(rows, groups)

    def _drained(self, rows: pa.Table, groups: Groups) -> Drained:
        if not self._keeps_raw:
            return Drained(self._fold(rows, groups), None)
        raw = _arranged(rows, groups)
        in_place = Groups(np.arange(len(raw)), groups.starts, groups.ends)
        return Drained(self._fold(raw, in_place), raw)

    def _fold(self, rows: pa.Table, groups: Groups) -> pa.Table:
        engine, names = self._engine, rows.column_names
        kept = engine.survivors(rows, groups, drop_deletes=False)
        if not engine.keeps_last or len(rows) < _MANY_ROWS or own_processors() == 1:
            return engine.fold(rows, kept, names)
        return self._fold_by_column(_column_parts(rows), kept, names)

    def _fold_by_column(self, parts: dict[int, pa.Table], kept: Groups, names: Sequence[str]) -> pa.Table:
        """Return the columns ``names`` of the results of ``kept``; each table of ``parts`` has some of the columns.

        ``parts`` loses each table when it is copied, so that its memory can be used for the next one.
        """

        def copied(at: int) -> pa.Table:
            part = parts.pop(at)
            return self._engine.fold(part, kept, part.column_names)

        found = run_parallel(copied, list(parts), own_processors())
        columns = {name: table[name] for table in found for name in table.column_names}
        return pa.Table.from_arrays([columns[name] for name in names], names)

    def _merged(
        self, runs: Sequence[Iterator[pa.RecordBatch]], result: Callable[[pa.Table, Groups], _Result]
    ) -> Iterator[_Result]:
        """Yield the value of ``result`` for each part of the rows; the ``runs`` must be in order of arrival.

        No variable refers to the rows, so that their memory can be freed.
        """

        def of_window(pieces: list[pa.Table]) -> Iterator[_Result]:
            rows = pa.concat_tables(pieces)
            return starmap(result, _parts(rows, self._groups(rows)))

        return chain.from_iterable(map(of_window, windows(runs, self._key, WINDOW_ROWS, repeats=not self._folds_early)))

    def _groups(self, rows: pa.Table) -> Groups:
        """Return the groups of rows of several runs.

        Sequence numbers ascend from run to run, so only the ``sequence.field`` columns must be compared.
        """
        return group(KeyWords.of(rows, self._key), self._order.ranks(rows) if self._order.sequence_fields else None)

    def _join_runs(self) -> None:
        """Merge adjacent runs until one merge can read all runs; the last round merges only as many runs as needed.

        With a FAN_IN of 64 and 70 runs, the 7 oldest runs are merged into one run, so that 64 runs remain. With 200
        runs, every 64 adjacent runs are merged into one run, so that 4 runs remain.
        """
        while (excess := len(self._runs) - FAN_IN + 1) > 1:
            end = excess if excess <= FAN_IN else len(self._runs)
            groups = [self._runs[first : min(first + FAN_IN, end)] for first in range(0, end, FAN_IN)]
            self._runs = [*map(self._joined, groups), *self._runs[end:]]

    def _joined(self, runs: list[StoredRun]) -> StoredRun:
        if self._store is None or len(runs) == 1:
            return runs[0]
        joined = _put(self._store, self._merged([run.batches() for run in runs], self._run_rows), BATCH_BYTES)
        self._delete(runs)
        return joined

    @staticmethod
    def _delete(runs: Sequence[StoredRun]) -> None:
        for run in runs:
            run.delete()


def drain_together(buffers: Sequence[WriteBuffer]) -> list[pa.Table]:
    """Empty several small buffers of one table and return the merged rows of each buffer, as ``drain`` would.

    The rows of all buffers are sorted and copied together: with few rows, the time depends mainly on the number of
    calls.
    """
    one = buffers[0]
    lengths = np.array([sum(map(len, buffer._tables)) for buffer in buffers])
    rows = pa.concat_tables([table for buffer in buffers for table in buffer._tables])
    for buffer in buffers:
        buffer._tables, buffer._bytes = [], 0
    numbers = np.repeat(np.arange(len(buffers)), lengths)
    last = sorted_groups(rows, one._key, one._order, numbers).last
    merged = take_rows(rows, last, rows.column_names)
    ends = np.cumsum(np.bincount(numbers[last], minlength=len(buffers))).tolist()
    return [merged.slice(start, end - start) for start, end in pairwise([0, *ends])]


def _arranged(rows: pa.Table, groups: Groups) -> pa.Table:
    """Return all rows in the order of their groups."""
    return pa.Table.from_arrays([take(column, groups.order) for column in rows.columns], schema=rows.schema)


def _are_long(rows: pa.Table) -> bool:
    return bool(rows.nbytes > max(PART_BYTES, _LONG_BYTES * len(rows)))


def _column_parts(rows: pa.Table) -> dict[int, pa.Table]:
    """Return tables of the columns that are copied together, the largest first, by their number.

    A key column and its value column are one part, because the engine copies equal memory only once. Large columns
    begin first, so that threads end at about the same time.
    """
    parts: dict[str, list[str]] = {}
    for name in rows.column_names:
        parts.setdefault(name.removeprefix(KEY_PREFIX), []).append(name)
    ordered = sorted(parts.values(), key=lambda part: rows[part[-1]].nbytes, reverse=True)
    return dict(enumerate(map(rows.select, ordered)))


def _parts(rows: pa.Table, groups: Groups) -> Iterator[tuple[pa.Table, Groups]]:
    """Yield the groups of long rows in parts of about PART_BYTES, so that only a part of the rows is copied at once.

    Groups of other rows are yielded as one part, whose columns are copied one after the other: this is faster.
    """
    if not _are_long(rows):
        yield rows, groups
        return
    groups = groups.compact()
    for first, last in ranges(np.add.reduceat(row_sizes(rows)[groups.order], groups.starts), PART_BYTES):
        start, end = groups.starts[first], groups.ends[last - 1]
        yield rows, Groups(groups.order[start:end], groups.starts[first:last] - start, groups.ends[first:last] - start)


def _put(store: RunStore, tables: Iterator[pa.Table], batch_bytes: int) -> StoredRun:
    first = next(tables)
    return store.put(first.schema, _batches(chain([first], tables), batch_bytes))


def _batches(tables: Iterable[pa.Table], batch_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of at most ``batch_bytes``; a larger row gets its own batch."""
    for table in tables:
        for part in cut(table, batch_bytes):
            yield from part.to_batches()
