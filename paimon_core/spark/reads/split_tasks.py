"""Split tasks: a DataFrame whose rows are read by Python tasks, with an estimated size for Spark's optimizer.

Spark assumes that Python tasks return as many bytes as it estimates for their input. A DataFrame made from a Python
list has no known size: Spark assumes 2^63-1 bytes and never broadcasts it. So the input is a range of numbers with a
wide column of nulls, and the range is so long that its estimated bytes are the wanted bytes. A filter keeps one number
for each task, from which the task finds its payloads. The other numbers cost about 5 ns for each KB of estimated bytes.
There is no shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from paimon_core.spark.packing import packed
from paimon_core.spark.tasks import cores

_FIRST_OF_TASK = f"monotonically_increasing_id() & {(1 << 33) - 1} = 0"
"""Whether a number is the first number of its task."""
_WIDE = f"CAST(NULL AS STRUCT<{', '.join(f'c{at}: BINARY' for at in range(10))}>) AS width"
_NUMBER_BYTES = 508
"""The bytes that Spark estimates for one row of two columns, the number and the column of nulls: 8 * (16 + 10 * 100) /
16.
"""
_PAYLOAD_BYTES = 32 << 20
"""The maximum bytes of payloads that are sent with one function: every task of the function gets all of them."""
_BATCH_ROWS = 1 << 16
_BATCH_BYTES = 8 << 20


def read_in_tasks(
    spark: SparkSession,
    payloads: Sequence[bytes],
    work: Callable[[Sequence[bytes]], Iterator[pa.Table]],
    schema: StructType,
    sizes: Sequence[int],
    share: float = 1.0,
) -> DataFrame:
    """Return the rows of ``work`` for all payloads, of which there must be at least one.

    A task calls ``work`` once, with all its payloads. ``sizes``: for each payload, the bytes of the files that it
    names; small payloads share a task. ``share``: the part of these bytes that the columns of the rows take, which is
    the size that Spark's optimizer expects. Works with Spark Connect. A task joins small tables of rows to batches of
    at most 65,536 rows and about 8 MiB; a larger table is sent unchanged.
    """
    groups = packed(sizes, cores(spark))
    frames = []
    for some in _within_bytes(groups, payloads):
        tasks = [[payloads[at] for at in group] for group in some]
        frames.append(_frame(spark, tasks, work, schema, int(share * sum(sizes[at] for group in some for at in group))))
    return reduce(DataFrame.unionAll, frames)


def _within_bytes(groups: Sequence[list[int]], payloads: Sequence[bytes]) -> Iterator[list[list[int]]]:
    """Yield lists of groups with at most ``_PAYLOAD_BYTES`` of payloads; a larger group is a list of its own."""
    held: list[list[int]] = []
    taken = 0
    for group in groups:
        size = sum(len(payloads[at]) for at in group)
        if held and taken + size > _PAYLOAD_BYTES:
            yield held
            held, taken = [], 0
        held.append(group)
        taken += size
    yield held


def _frame(
    spark: SparkSession,
    tasks: Sequence[list[bytes]],
    work: Callable[[Sequence[bytes]], Iterator[pa.Table]],
    schema: StructType,
    expected_bytes: int,
) -> DataFrame:
    count = max(expected_bytes // _NUMBER_BYTES, len(tasks))
    task_of = {at * count // len(tasks): at for at in range(len(tasks))}  # the rule by which Spark divides a range

    def paimon_splits(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # a name in Spark's plans
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from joined(work(tasks[task_of[number]]))

    numbers = spark.range(0, count, 1, len(tasks)).where(_FIRST_OF_TASK).selectExpr("id", _WIDE)
    return numbers.mapInArrow(paimon_splits, schema)


def joined(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of tables in fewer batches: each batch costs time in the worker and in the JVM."""
    held: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        if held and (rows + len(table) > _BATCH_ROWS or size + table.nbytes > _BATCH_BYTES):
            yield from _one_batch(held)
            held, rows, size = [], 0, 0
        held.append(table)
        rows += len(table)
        size += table.nbytes
    if held:
        yield from _one_batch(held)


def _one_batch(tables: Sequence[pa.Table]) -> list[pa.RecordBatch]:
    if len(tables) == 1:
        return tables[0].to_batches()  # type: ignore[no-any-return]
    return pa.concat_tables(tables).combine_chunks().to_batches()  # type: ignore[no-any-return]
