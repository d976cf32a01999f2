"""Joins of tables with equal buckets: the rows are right, and Spark shuffles both sides (docs/spark.md)."""

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceReader

import paimon_core as paimon
from paimon_core.spark import PaimonDataSource, read_spark

ROWS = 2000


@pytest.fixture
def tables(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": "4"}
    made = [
        catalog.create_table(f"db.{name}", {"k": "BIGINT", name: "BIGINT"}, primary_key=["k"], options=options)
        for name in "ab"
    ]
    for table in made:
        table.write(pa.table({"k": range(ROWS), table.schema.names[1]: range(ROWS)}))
        table.compact(full=True)
    return made


@pytest.fixture
def without_broadcast(spark):
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.sources.v2.bucketing.enabled", "true")
    yield
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.unset("spark.sql.sources.v2.bucketing.enabled")


def exchanges(frame):
    return frame._jdf.queryExecution().executedPlan().toString().count("Exchange hashpartitioning")


@pytest.mark.parametrize("reader", ["read_spark", "format"])
def test_both_sides_are_shuffled(spark, tables, warehouse, without_broadcast, reader):
    if reader == "format":
        spark.dataSource.register(PaimonDataSource)
        source = spark.read.format("paimon").option("warehouse", warehouse)
        left, right = (source.load(table.name) for table in tables)
    else:
        left, right = (read_spark(spark, table) for table in tables)
    joined = left.join(right, "k")
    assert exchanges(joined) == 2, "Spark can join without a shuffle now: use it, and change docs/spark.md"
    assert joined.where("a = b").count() == ROWS


def test_a_python_data_source_cannot_report_how_its_partitions_are_made():
    assert not [name for name in dir(DataSourceReader) if "partitioning" in name.lower()]
