"""Paimon tables in Spark: functions that read, write, compact and clean up a Table, and ``format("paimon")``.

Core types and functions:

- ``PaimonDataSource``: the data source ``paimon`` of Spark
- ``KeyAssignment``: the dynamic buckets of all keys of a job
- ``TableReference``: the values with which a task opens a table
- ``SparkExecutor``: runs the steps of a clean-up as Spark tasks
- ``write_spark``: writes a DataFrame
- ``read_spark``: reads a table as a DataFrame
"""

from paimon_core.spark.changes import changes_spark
from paimon_core.spark.compactor import compact_spark, sort_compact_spark
from paimon_core.spark.datasource import PaimonDataSource
from paimon_core.spark.reader import read_spark
from paimon_core.spark.removal import apply_spark, plan_orphan_removal_spark
from paimon_core.spark.writer import write_spark

__all__ = [
    "PaimonDataSource",
    "apply_spark",
    "changes_spark",
    "compact_spark",
    "plan_orphan_removal_spark",
    "read_spark",
    "sort_compact_spark",
    "write_spark",
]
