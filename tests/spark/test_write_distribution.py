"""write_spark: the number of tasks follows the bytes and the buckets, and partitions do not lie in every task."""

import logging

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core.errors import InvalidRequest
from paimon_core.spark import read_spark, write_spark
from paimon_core.spark.writes import distribution
from paimon_core.spark.writes.routing import routed_rows

SCHEMA = pa.schema([pa.field("p", pa.int32(), False), pa.field("k", pa.int64(), False), ("v", pa.string())])


def create(warehouse, key, partitions, **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    return catalog.create_table("db.t", SCHEMA, primary_key=key, partition_by=partitions, options=options)


def frame(spark, count=1000):
    parts = spark.range(count, numPartitions=8)
    return parts.select((F.col("id") % 5).cast("int").alias("p"), F.col("id").alias("k"), F.lit("v").alias("v"))


def tasks_of(rows):
    """Return the rows of each task that got rows."""

    def count(batches):
        found = sum(len(batch) for batch in batches)
        yield pa.record_batch([pa.array([TaskContext.get().partitionId()]), pa.array([found])], names=["task", "rows"])

    return {row["task"]: row["rows"] for row in rows.mapInArrow(count, "task bigint, rows bigint").collect()}


def test_a_small_write_has_no_more_tasks_than_cores_or_buckets(spark, warehouse, monkeypatch):
    table = create(warehouse, ["k"], [], bucket="3")
    assert len(tasks_of(routed_rows(frame(spark), table)[0])) == 2
    monkeypatch.setattr(distribution, "ROUTE_BYTES", 100)
    assert len(tasks_of(routed_rows(frame(spark), table)[0])) == 3
    assert len(tasks_of(routed_rows(frame(spark), table, tasks=7)[0])) == 7


def test_a_write_of_unknown_bytes_has_a_few_tasks_for_each_core(spark, warehouse):
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    try:
        table = create(warehouse, ["k", "p"], ["p"], bucket="3")
        unknown = spark.createDataFrame([(1, 1, "a")], "p int, k bigint, v string")
        assert distribution.input_bytes(unknown) is None
        assert distribution.route_count(unknown, table.context) == 8
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "4")


def test_few_buckets_for_many_bytes_are_told(spark, warehouse, monkeypatch, caplog):
    monkeypatch.setattr(distribution, "_LARGE_BYTES", 100)
    with caplog.at_level(logging.WARNING):
        distribution.route_count(frame(spark), create(warehouse, ["k"], [], bucket="1").context)
    assert "table db.t has 1 buckets, so 1 tasks write" in caplog.text


def test_rows_of_a_partition_of_an_append_table_go_to_one_task(spark, warehouse):
    table = create(warehouse, [], ["p"])
    write_spark(frame(spark), table)
    assert table.scan().count() == 1000
    assert len(table.inspect.files().to_pylist()) == 5


@pytest.mark.parametrize("tasks", [None, 3])
def test_an_append_table_without_partitions_has_no_shuffle_unless_tasks_are_given(spark, warehouse, tasks):
    table = create(warehouse, [], [])
    found = tasks_of(routed_rows(frame(spark), table, tasks=tasks)[0])
    assert (len(found), sum(found.values())) == (tasks or 8, 1000)


@pytest.mark.spark
def test_missing_columns_of_the_route_are_null_and_names_may_have_dots_and_backticks(spark, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    columns = {"a.b": "INT", "c`d": "STRING", "p": "STRING"}
    for name, options in {"spread": {}, "bucketed": {"bucket": "2", "bucket-key": "c`d"}}.items():
        table = catalog.create_table(f"db.{name}", columns, partition_by=["p"], options=options)
        write_spark(spark.createDataFrame([(1, "x")], "`a.b` int, `c``d` string"), table)
        write_spark(spark.createDataFrame([(2,)], "`a.b` int"), table)
        rows = sorted(map(tuple, read_spark(spark, table).collect()))
        assert rows == [(1, "x", None), (2, None, None)], name


@pytest.mark.parametrize("tasks", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_of_tasks_is_refused(spark, warehouse, tasks):
    table = create(warehouse, ["k"], [], bucket="3")
    with pytest.raises(InvalidRequest, match=f"tasks must be a whole number of at least 1, not {tasks!r}"):
        write_spark(frame(spark), table, tasks=tasks)
    assert table.refresh().latest_snapshot() is None
