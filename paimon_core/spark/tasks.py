"""Tasks: runs an Arrow function for each payload in a Spark task; uses only DataFrames, so Spark Connect works too."""

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
    """Return the batches of ``work(payload)`` for all payloads, with exactly one task per payload.

    ``repartitionById`` assigns payload n to partition n; hash or round-robin partitioning could put several payloads
    into one task and none into another.
    """
    rows = spark.createDataFrame(
        [(number, bytearray(payload)) for number, payload in enumerate(payloads)], f"{_NUMBER} int, {_PAYLOAD} binary"
    )

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(_PAYLOAD).to_pylist():
                yield from work(payload)

    return rows.repartitionById(len(payloads), _NUMBER).mapInArrow(run, schema)
