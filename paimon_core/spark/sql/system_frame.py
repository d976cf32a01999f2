"""System frame: a system table as a DataFrame; tasks read system tables with rows of the table (``$audit_log``)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from paimon_core.read.kept_deletes import ROW_KIND
from paimon_core.spark.reads.system_reader import Part, SystemReader
from paimon_core.spark.sql.times import session_zone
from paimon_core.spark.tasks import run_tasks
from paimon_core.spark.types import spark_schema
from paimon_core.table.system.source import times_in
from paimon_core.table.system.system_table import SystemTable

KIND = ROW_KIND
"""The column with the row kind in the tables of changes."""


def system_frame(spark: SparkSession, table: SystemTable) -> DataFrame:
    """Return the rows of a system table at the time of the call; the metadata pass through the driver.

    Times without zone, such as ``commit_time``, are in the time zone of the session.
    """
    names = table.arrow_schema.names
    schema = spark_schema(table.scan(names).fields)
    with times_in(session_zone(spark)):
        reader = SystemReader(table, names)
    parts = [p.data for p in reader.partitions() if isinstance(p, Part) and p.data is not None]
    if not parts:
        return spark.createDataFrame([], schema)

    def work(payload: bytes) -> Iterator[pa.RecordBatch]:
        yield from reader.read(Part(payload))

    return run_tasks(spark, parts, work, schema)
