"""Tasks: run a function for each payload in Spark tasks.

Each payload has its own task. If the caller gives the sizes of the payloads, small payloads share a task (``packing``).

``collect_tasks`` returns bytes to the driver. ``collect_tasks`` uses an RDD, because planning the first query of a
DataFrame in a JVM takes seconds. ``run_tasks`` returns a DataFrame of Arrow batches, for callers that process the rows
further in Spark. Both work with Spark Connect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import pyarrow as pa
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from paimon_core.spark.packing import UNKNOWN_CORES, packed

_NUMBER, _PAYLOAD, _ANSWER = "task_number", "payload", "answer"
_NUMBER_BYTES = 4
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The work of a task on the batches of its rows."""


def collect_tasks(
    spark: SparkSession,
    payloads: Sequence[bytes],
    work: Callable[[bytes], bytes],
    sizes: Sequence[int] | None = None,
) -> list[bytes]:
    """Return ``work(payload)`` of each payload, in the order of the payloads.

    ``sizes``: the bytes that each payload stands for; small payloads share a task. Raises PythonException when a task
    fails in all of its attempts.
    """
    if not payloads:
        return []
    context = spark_context(spark)
    if context is None:
        return _collect_rows(spark, payloads, work, sizes)
    groups = _groups(spark, payloads, sizes)
    tasks = [[payloads[at] for at in group] for group in groups]
    answers = context.parallelize(tasks, len(tasks)).map(lambda task: [work(payload) for payload in task]).collect()
    found = dict(zip(chain.from_iterable(groups), chain.from_iterable(answers), strict=True))
    return [found[at] for at in range(len(payloads))]


def run_tasks(
    spark: SparkSession,
    payloads: Sequence[bytes],
    work: Callable[[bytes], Iterator[pa.RecordBatch]],
    schema: StructType | str,
    sizes: Sequence[int] | None = None,
) -> DataFrame:
    """Return the batches of ``work(payload)`` for all payloads.

    ``sizes``: the bytes that each payload stands for; small payloads share a task. ``repartitionById`` assigns task n
    to partition n; hash or round-robin partitioning could put several tasks into one partition and no task into
    another.
    """
    groups = _groups(spark, payloads, sizes)
    rows = spark.createDataFrame(
        [(number, bytearray(payloads[at])) for number, group in enumerate(groups) for at in group],
        f"{_NUMBER} int, {_PAYLOAD} binary",
    )

    def paimon_payloads(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # a name in Spark's plans
        for batch in batches:
            for payload in batch.column(_PAYLOAD).to_pylist():
                yield from work(payload)

    return rows.repartitionById(len(groups), _NUMBER).mapInArrow(paimon_payloads, schema)


def map_batches(df: DataFrame, work: Work, schema: StructType | str) -> DataFrame:
    """Return ``df.mapInArrow(work, schema)`` for columns of any name.

    ``mapInArrow`` alone fails when a column's name is ``*`` or has a dot or a backtick, because Spark takes such a name
    for a path.
    """
    names = df.columns
    if not any("." in name or "`" in name or name == "*" for name in names):
        return df.mapInArrow(work, schema)

    def named(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return work(batch.rename_columns(names) for batch in batches)

    return df.toDF(*[f"c{at}" for at in range(len(names))]).mapInArrow(named, schema)


def spark_context(spark: SparkSession) -> SparkContext | None:
    """Return the Spark context of the session; None for a session of Spark Connect, which has none."""
    try:
        return spark.sparkContext
    except PySparkException:
        return None


def cores(spark: SparkSession) -> int:
    """Return the number of tasks that run at the same time.

    With Spark Connect, which does not report this number, return UNKNOWN_CORES.
    """
    context = spark_context(spark)
    return UNKNOWN_CORES if context is None else int(context.defaultParallelism)


def _groups(spark: SparkSession, payloads: Sequence[bytes], sizes: Sequence[int] | None) -> list[list[int]]:
    """Return the positions of the payloads of each task."""
    if sizes is None:
        return [[at] for at in range(len(payloads))]
    return packed(sizes, cores(spark))


def _collect_rows(
    spark: SparkSession, payloads: Sequence[bytes], work: Callable[[bytes], bytes], sizes: Sequence[int] | None
) -> list[bytes]:
    """Return the answers as ``collect_tasks`` does, but through a DataFrame.

    A DataFrame has no order, so each payload and its answer have a number, by which the answers are sorted.
    """

    def run(payload: bytes) -> Iterator[pa.RecordBatch]:
        answer = work(payload[_NUMBER_BYTES:])
        number = int.from_bytes(payload[:_NUMBER_BYTES], "big")
        yield pa.record_batch([pa.array([number], pa.int32()), pa.array([answer], pa.binary())], [_NUMBER, _ANSWER])

    numbered = [number.to_bytes(_NUMBER_BYTES, "big") + payload for number, payload in enumerate(payloads)]
    rows = run_tasks(spark, numbered, run, f"{_NUMBER} int, {_ANSWER} binary", sizes).collect()
    return [bytes(row[_ANSWER]) for row in sorted(rows, key=lambda row: row[_NUMBER])]
