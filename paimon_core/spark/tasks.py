"""Run one Arrow function per payload as Spark tasks, through DataFrames only, so that Spark Connect works too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

_NUMBER, _PAYLOAD = "task_number", "payload"


def run_tasks(
    spark: SparkSession,
    payloads: Sequence[bytes],
    work: Callable[[bytes], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """The batches of ``work(payload)`` for every payload: exactly one task each.

    ``repartitionById`` places task n in partition n; a hash or a round robin would leave tasks empty and double others.
    """
    rows = spark.createDataFrame(
        [(number, bytearray(payload)) for number, payload in enumerate(payloads)], f"{_NUMBER} int, {_PAYLOAD} binary"
    )

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(_PAYLOAD).to_pylist():
                yield from work(payload)

    return rows.repartitionById(len(payloads), _NUMBER).mapInArrow(run, schema)
