"""Task rows: the rows that the tasks of a write get, whose long texts are padded where this is worth it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_core.arrow import gather
from paimon_core.spark.writes.batch_settings import large_batches
from paimon_core.spark.writes.key_assignment import KeyAssignment
from paimon_core.spark.writes.routing import FIRST, place_of_padding, routed_rows
from paimon_core.spark.writes.text_padding import padded, real_rows, worthwhile_rows
from paimon_core.table.table import Table


@dataclass(frozen=True)
class TaskRows:
    """What a task leaves out of the batches that it gets."""

    dropped: tuple[str, ...]
    """Columns that are not written."""
    is_padded: bool
    """Whether rows of padding follow the rows with long texts."""

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the rows to write, in larger tables."""
        for rows in gather(real_rows(batches) if self.is_padded else batches):
            yield rows.drop_columns(list(self.dropped))


@contextmanager
def task_rows(
    df: DataFrame,
    table: Table,
    *,
    kinds: str | None,
    order_by: Sequence[str],
    tasks: int | None = None,
    keys: KeyAssignment | None = None,
    direct: int | None = None,
) -> Iterator[tuple[DataFrame, TaskRows]]:
    """Yield what the tasks get, and how they take the rows out of it; the jobs start inside of the block.

    ``df`` must satisfy ``routed_rows``. A task gets the rows of its buckets; with ``direct`` tasks, it gets consecutive
    rows of ``df``.
    """
    padding = FIRST if direct else place_of_padding(df, table.context, order_by, keys)
    with large_batches(df, padded=lambda: None if padding is None else worthwhile_rows(df)) as pads:
        if direct:
            rows, dropped = (padded(df) if pads else df).coalesce(direct), list[str]()
        else:
            rows, dropped = routed_rows(
                df, table, kinds=kinds, order_by=order_by, tasks=tasks, keys=keys, padding=padding if pads else None
            )
        yield rows, TaskRows(tuple(dropped), pads)
