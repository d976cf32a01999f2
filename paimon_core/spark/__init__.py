"""Paimon tables in Spark: functions that read, write, compact and clean up a Table, and ``format("paimon")``."""

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
