"""Results: the DataFrames that statements other than queries return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_core.metadata.snapshot import Snapshot

_COMMITTED = "snapshot_id BIGINT, delta_record_count BIGINT, total_record_count BIGINT"


def rows(spark: SparkSession, columns: str, values: Sequence[Sequence[Any]]) -> DataFrame:
    """Return rows with the columns of a DDL text."""
    return spark.createDataFrame([tuple(row) for row in values], columns)


def done(spark: SparkSession, text: str) -> DataFrame:
    """Return one row with a text that describes the result."""
    return rows(spark, "result STRING", [(text,)])


def committed(spark: SparkSession, snapshot: Snapshot | None) -> DataFrame:
    """Return the snapshot of a change, with its records; nulls and 0 when there was nothing to commit.

    ``delta_record_count`` is the number of records that the commit added to the data files, as in ``$snapshots``. In a
    table with a primary key, an update or a deletion adds a record, until a compaction merges it.
    """
    if snapshot is None:
        return rows(spark, _COMMITTED, [(None, 0, None)])
    return rows(spark, _COMMITTED, [(snapshot.id, snapshot.delta_record_count, snapshot.total_record_count)])
