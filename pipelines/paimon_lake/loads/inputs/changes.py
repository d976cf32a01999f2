"""Changes of an input: the rows that changed since the last load, as a DataFrame with the column ``rowkind``.

For an input with a primary key, the DataFrame has one row for each changed key: its last version, ``+I`` or ``+U``, or
``-D`` when it was deleted. For an input without a key, the DataFrame has the added rows. Only a table with ``kinds``
gets rows ``-D``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StringType, StructField, StructType

from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.metadata.commit_message import Position, position_of
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.spark import read_spark
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import run_tasks
from paimon_core.spark.types import arrow_schema, spark_schema, to_spark
from paimon_core.table.view import TableView
from paimon_lake.protocol import PipelineError

ROWKIND, NUMBER = "rowkind", "__change_number"


def changed_rows(spark: SparkSession, table: TableView, after: Position | None, *, deletes: bool) -> DataFrame:
    """Return the changes of a pinned table after the position ``after``; when ``after`` is None, all rows as ``+I``.

    Raises PipelineError when the changes are not known: the snapshot of ``after`` has expired or was rolled back, an
    overwrite has no changes, or the table has no changelog although the written rows differ from the rows that a reader
    sees.
    """
    if after is None:
        return read_spark(spark, table).withColumn(ROWKIND, f.lit("+I"))
    until = table.latest_snapshot()
    assert until is not None
    try:
        _check(table, after, until)
    except (SnapshotNotFound, InvalidRequest) as error:
        raise PipelineError(
            f"the changes of {table.name} since snapshot {after[0]} cannot be read: {error}; load with reload"
        ) from None
    changes = _read(spark, table, after[0], until.id)
    if table.schema.primary_keys:
        newest = Window.partitionBy(*[f"`{key}`" for key in table.schema.primary_keys]).orderBy(f.col(NUMBER).desc())
        changes = changes.withColumn("__rank", f.row_number().over(newest)).where("__rank = 1").drop("__rank")
    kept = ("+I", "+U", "-D") if deletes else ("+I", "+U")
    return changes.where(f.col(ROWKIND).isin(*kept)).drop(NUMBER)


def _check(table: TableView, after: Position, until: Snapshot) -> None:
    """Raise SnapshotNotFound or InvalidRequest when the written rows are not the changes that a reader sees."""
    name, options, snapshots = table.name, table.options, table.context.snapshots
    if position_of(snapshots.read(after[0])) != tuple(after):
        raise InvalidRequest(f"snapshot {after[0]} was rolled back, or the table was re-created")
    if options["changelog-producer"] != "none":
        return
    if table.schema.primary_keys and (options["merge-engine"] != "deduplicate" or options["sequence.field"]):
        raise InvalidRequest(f"{name} merges the rows that are written; it needs the option changelog-producer")
    if table.context.is_postponed:
        raise InvalidRequest(
            f"{name} has bucket = -2: its rows change when a compaction spreads them; it needs the option "
            "changelog-producer"
        )
    for number in range(after[0] + 1, until.id + 1):
        if snapshots.read(number).commit_kind is CommitKind.OVERWRITE:
            raise InvalidRequest(f"snapshot {number} is an overwrite, which does not say what it replaced")


def _read(spark: SparkSession, table: TableView, after: int, until: int) -> DataFrame:
    """Read the changes in one Spark task, which numbers them in the order of commits (column ``NUMBER``)."""
    reference = TableReference.of(table.context)
    way = "delta" if table.options["changelog-producer"] == "none" else "changelog"
    fields = table.schema.fields
    arrow = arrow_schema(fields)
    more = [StructField(ROWKIND, StringType()), StructField(NUMBER, LongType())]
    schema = StructType([*spark_schema(fields).fields, *more])

    def work(_: bytes) -> Iterator[pa.RecordBatch]:
        read = 0
        for batch in TableView(reference.open()).changes(after, until, way=way).to_batches():
            numbers = pa.array(np.arange(read, read + len(batch), dtype=np.int64))
            read += len(batch)
            for rows in to_spark(pa.table(batch.drop_columns([ROWKIND])), arrow).to_batches():
                yield rows.append_column(ROWKIND, batch[ROWKIND]).append_column(NUMBER, numbers)

    return run_tasks(spark, [b""], work, schema)
