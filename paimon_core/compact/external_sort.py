"""External sort: orders the rows of one bucket in bounded memory.

Rows are collected up to ``write-buffer-size``, sorted and written to local disk as a sorted run; the runs are then
merged. Memory: about twice that size while rows are collected, about 2 MiB per run while runs are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_core.compact.sort_order import SortOrder, sorting, without_keys
from paimon_core.errors import StorageError
from paimon_core.metadata.context import TableContext
from paimon_core.write.spill import SpilledRun, SpillSpace

_LARGEST_BUFFER = 1 << 30
_BATCH_BYTES = 1 << 20
Sort = Callable[[Iterable[pa.Table]], Iterator[pa.Table]]
"""Yields the rows of some tables in an order."""


def external_sort(context: TableContext, order: SortOrder) -> Sort:
    """Return the function that sorts tables of rows of this table.

    It raises StorageError when rows exceed the memory and local disk is full or may not be used
    (``write-buffer-spillable``, ``write-buffer-spill.max-disk-size``).
    """
    most = min(context.options["write-buffer-size"], _LARGEST_BUFFER)

    def sort(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        space = SpillSpace.of(context.options)
        try:
            names: list[str] = []
            runs: list[SpilledRun] = []
            buffer: list[pa.Table] = []
            size = 0
            for rows in tables:
                keyed, names = order.with_keys(context, rows)
                buffer.append(keyed)
                size += keyed.nbytes
                if size >= most:
                    runs.append(_spilled(context, space, _sorted(names, buffer)))
                    buffer, size = [], 0
            if buffer and runs:
                runs.append(_spilled(context, space, _sorted(names, buffer)))
            elif buffer:
                yield without_keys(_sorted(names, buffer))
            buffer = []
            yield from map(without_keys, merged([run.batches() for run in runs], names))
        finally:
            if space is not None:
                space.close()

    return sort


def merged(runs: Sequence[Iterator[pa.RecordBatch]], names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of sorted runs in the order of the key columns ``names``.

    Of each run one or two batches are loaded. The rows up to the first of their last rows are complete, because a row
    that is not loaded comes after the last loaded row of its run.
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


def _sorted(names: Sequence[str], buffer: Sequence[pa.Table]) -> pa.Table:
    rows = pa.concat_tables(buffer)
    return rows.take(sorting(names, rows))


def _spilled(context: TableContext, space: SpillSpace | None, rows: pa.Table) -> SpilledRun:
    if space is None or not space.has_room:
        rule = "write-buffer-spillable = false" if space is None else "write-buffer-spill.max-disk-size"
        raise StorageError(
            f"table {context.name}: a partition to sort exceeds write-buffer-size, and option {rule} does not let more "
            "rows go to local disk",
            table=context.name,
        )
    batch_rows = max(1, len(rows) * _BATCH_BYTES // max(rows.nbytes, 1))
    return space.put(rows.schema, iter(rows.to_batches(max_chunksize=batch_rows)))
