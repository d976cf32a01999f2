"""External sort: sorts the rows of one bucket in bounded memory.

Rows are collected in a buffer up to ``write-buffer-size``, sorted and written to local disk as a sorted run. Then the
runs are merged. Memory: while rows are collected, about ``write-buffer-size`` and two batches; while runs are merged,
about 2 MiB per run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from paimon_core.arrow.byte_budget import BATCH_BYTES, cut, ranges, row_sizes, rows_for
from paimon_core.compact.sort_order import SortOrder, sorting, without_keys
from paimon_core.errors import StorageError
from paimon_core.lsm.gather import take_in_pieces
from paimon_core.metadata.context import TableContext
from paimon_core.write.spill import SpilledRun, SpillSpace

_LARGEST_BUFFER = 1 << 30
_BATCH_BYTES = 1 << 20
_PIECE_BYTES = 8 << 20
_WIDE_BYTES = 256
"""Rows with more bytes than this on average are taken from several tables.
To make each column contiguous first would copy more bytes.
"""
Sort = Callable[[Iterable[pa.Table]], Iterator[pa.Table]]
"""Yields all rows of the given tables in the sort order."""


def external_sort(context: TableContext, order: SortOrder) -> Sort:
    """Return a function that sorts the rows of this table, given as Arrow tables, by ``order``.

    The function raises StorageError when rows exceed the memory and the local disk is full or must not be used
    (``write-buffer-spillable``, ``write-buffer-spill.max-disk-size``).
    """
    most = min(context.options["write-buffer-size"], _LARGEST_BUFFER)

    def sort(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        space = SpillSpace.of(context.options)
        try:
            names: list[str] = []
            runs: list[SpilledRun] = []
            buffer = _Buffer()
            for rows in tables:
                keyed, names = order.with_keys(context, rows)
                buffer.add(keyed)
                if buffer.nbytes >= most:
                    runs.append(_spilled(context, space, buffer.sorted(names)))
            if buffer.nbytes and runs:
                runs.append(_spilled(context, space, buffer.sorted(names)))
            yield from map(without_keys, buffer.sorted(names))
            yield from map(without_keys, merged([run.batches() for run in runs], names))
        finally:
            if space is not None:
                space.close()

    return sort


def merged(runs: Sequence[Iterator[pa.RecordBatch]], names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of sorted runs in the order of the key columns ``names``.

    One or two batches of each run are loaded. The smallest of the last loaded rows of all runs is a bound: all rows up
    to the bound are loaded, because a row that is not loaded comes after the last loaded row of its run.
    """
    held: list[pa.Table | None] = [None] * len(runs)
    is_open = [True] * len(runs)
    while True:
        for at, run in enumerate(runs):
            rows = held[at]
            while is_open[at] and (rows is None or not len(rows)):
                batch = next(run, None)
                if batch is None:
                    is_open[at] = False
                else:
                    rows = pa.Table.from_batches([batch])
            held[at] = rows
        there = [(at, rows) for at, rows in enumerate(held) if rows is not None and len(rows)]
        if not there:
            return
        parts = [rows for _, rows in there]
        joined = pa.concat_tables(parts)
        order = np.asarray(sorting(names, joined))
        ends = np.cumsum([len(part) for part in parts])
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        last = [int(rank[end - 1]) for (at, _), end in zip(there, ends, strict=True) if is_open[at]]
        count = min(last, default=len(order) - 1) + 1
        yield joined.take(pa.array(order[:count]))
        taken = np.bincount(np.searchsorted(ends, order[:count], side="right"), minlength=len(parts))
        for (at, part), gone in zip(there, taken, strict=True):
            held[at] = part.slice(int(gone))


class _Buffer:
    """The rows to sort.

    The sorted rows are built in parts, so that the rows are never in memory twice as a whole.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._tables: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        self._tables.append(rows)
        self.nbytes += rows.nbytes

    def sorted(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows in the order of the key columns ``names``; afterwards the buffer is empty."""
        if not self._tables:
            return
        rows = pa.concat_tables(self._tables)
        order = sorting(names, rows)
        width = self.nbytes / len(rows)
        self._tables, self.nbytes = [], 0
        if width > _WIDE_BYTES:
            pieces, sizes, positions = list(_pieces(rows)), row_sizes(rows), np.asarray(order).astype(np.int64)
            del rows
            for start, end in ranges(sizes[positions], BATCH_BYTES):
                yield take_in_pieces(pieces, positions[start:end])
            return
        schema, columns = rows.schema, rows.columns
        del rows
        # One column after the other, because a column is in memory twice while it is copied.
        for at, column in enumerate(columns):
            columns[at] = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
            del column
        whole = pa.Table.from_arrays(columns, schema=schema)
        step = rows_for(BATCH_BYTES, width, len(whole))
        yield from (whole.take(order.slice(start, step)) for start in range(0, len(whole), step))


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows as tables of one chunk; small chunks are joined, so that rows are taken from few tables."""
    small: list[pa.RecordBatch] = []
    size = 0
    for batch in rows.to_batches():
        small.append(batch)
        size += batch.nbytes
        if size >= _PIECE_BYTES:
            yield pa.Table.from_batches(small).combine_chunks()
            small, size = [], 0
    if small:
        yield pa.Table.from_batches(small).combine_chunks()


def _spilled(context: TableContext, space: SpillSpace | None, rows: Iterator[pa.Table]) -> SpilledRun:
    if space is None or not space.has_room:
        rule = "write-buffer-spillable = false" if space is None else "write-buffer-spill.max-disk-size"
        raise StorageError(
            f"table {context.name}: a partition to sort exceeds write-buffer-size, and option {rule} does not let more "
            "rows go to local disk",
            table=context.name,
        )
    first = next(rows)
    batches = (
        batch for part in chain([first], rows) for piece in cut(part, _BATCH_BYTES) for batch in piece.to_batches()
    )
    return space.put(first.schema, batches)
