"""Changes of an input: the rows that changed since the last load, as a DataFrame with the column ``rowkind``.

Of an input with a primary key, each changed key has one row: its last version, ``+I`` or ``+U``, or ``-D`` when it was
deleted. Of an input without a key, the rows that were added. Only a table with ``kinds`` sees deleted rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StringType, StructField, StructType

from paimon_core.errors import SnapshotNotFound
from paimon_core.spark import read_spark
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import run_tasks
from paimon_core.spark.types import arrow_schema, spark_schema, to_spark
from paimon_core.table.table import Table
from pipelines.protocol import PipelineError

ROWKIND, NUMBER = "rowkind", "__change_number"


def changed_rows(spark: SparkSession, table: Table, after: int | None, *, deletes: bool) -> DataFrame:
    """Return the changes of a table, pinned to a snapshot, after snapshot ``after``; None: all its rows as ``+I``.

    Raises PipelineError when snapshots after ``after`` have expired.
    """
    if after is None:
        return read_spark(spark, table).withColumn(ROWKIND, f.lit("+I"))
    until = table.latest_snapshot()
    assert until is not None
    try:
        table.changes(after, until.id)
    except SnapshotNotFound as error:
        raise PipelineError(
            f"the changes of {table.name} since snapshot {after} cannot be read: {error}; load everything with reload"
        ) from None
    changes = _read(spark, table, after, until.id)
    if table.schema.primary_keys:
        newest = Window.partitionBy(*[f"`{key}`" for key in table.schema.primary_keys]).orderBy(f.col(NUMBER).desc())
        changes = changes.withColumn("__rank", f.row_number().over(newest)).where("__rank = 1").drop("__rank")
    kept = ("+I", "+U", "-D") if deletes else ("+I", "+U")
    return changes.where(f.col(ROWKIND).isin(*kept)).drop(NUMBER)


def _read(spark: SparkSession, table: Table, after: int, until: int) -> DataFrame:
    """Read the changes in one task, which numbers them in their order."""
    reference = TableReference.of(table.context)
    fields = table.schema.fields
    arrow = arrow_schema(fields)
    more = [StructField(ROWKIND, StringType()), StructField(NUMBER, LongType())]
    schema = StructType([*spark_schema(fields).fields, *more])

    def work(_: bytes) -> Iterator[pa.RecordBatch]:
        read = 0
        for batch in Table(reference.open()).changes(after, until):
            numbers = pa.array(np.arange(read, read + len(batch), dtype=np.int64))
            read += len(batch)
            for rows in to_spark(pa.table(batch.drop_columns([ROWKIND])), arrow).to_batches():
                yield rows.append_column(ROWKIND, batch[ROWKIND]).append_column(NUMBER, numbers)

    return run_tasks(spark, [b""], work, schema)
