"""Reads by Spark: which files Spark's own reader reads, the size that Spark expects, and rows that scans select."""

from __future__ import annotations

import datetime
import time

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import UnsupportedFeature
from paimon_core.spark import PaimonDataSource, read_spark
from paimon_core.spark.reads import native

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.string())])


@pytest.fixture
def catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


@pytest.fixture
def keyed(catalog):
    """A table whose three commits wrote the same key in partition b and another key in partition a."""
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.k", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=options)
    for at in range(3):
        table.write([{"p": "a", "k": at, "v": f"v{at}"}, {"p": "b", "k": 0, "v": f"w{at}"}])
    return table


def check(spark, table, *arguments, relations=None, tasks=None):
    """Compare the rows with the rows of the library; ``relations``, ``tasks``: reads by Spark and in Python tasks."""
    frame = read_spark(spark, table, *arguments)
    found = frame.toArrow().to_pylist()
    expected = table.scan(*arguments).to_arrow().to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    if relations is not None:
        assert (plan.count("Relation ["), plan.count("MapInArrow")) == (relations, tasks)


def test_files_of_older_schemas_are_read_by_spark(spark, catalog):
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    table.write([{"p": "x", "k": 1, "v": "a"}])
    table = table.alter("SET ('snapshot.num-retained.min' = 3), ALTER COLUMN k COMMENT 'the key'")
    table.write([{"p": "x", "k": 2, "v": "b"}])
    check(spark, table, relations=1, tasks=0)
    table = table.alter("RENAME COLUMN v TO w, ADD COLUMN v INT")
    table.write([{"p": "y", "k": 3, "w": "c", "v": 7}])
    check(spark, table, None, "v is null and w = 'a' or v > 5", relations=2, tasks=0)
    check(spark, table, ["k"], relations=1, tasks=0)
    table = table.alter("ALTER COLUMN v TYPE BIGINT")
    table.write([{"p": "y", "k": 4, "w": "d", "v": 2**40}])
    check(spark, table, ["v", "w"], relations=2, tasks=1)


def test_files_without_deletion_vectors_are_read_by_spark(spark, catalog, monkeypatch):
    options = {"write-only": "true", "deletion-vectors.enabled": "true"}
    table = catalog.create_table("db.t", SCHEMA, options=options)
    for first in (0, 5):
        table.write([{"p": "x", "k": first + at, "v": str(at)} for at in range(5)])
    table.delete("k = 2")
    check(spark, table, ["k"], relations=1, tasks=1)
    monkeypatch.setattr(native, "_MOST_GROUPS", 1)
    table = table.alter("RENAME COLUMN v TO w")
    table.write([{"p": "x", "k": 10, "w": "1"}])
    check(spark, table, ["k", "w"], "w = '1'", relations=1, tasks=1)


def test_spark_knows_the_size_of_merged_rows_and_broadcasts_a_small_table(spark, keyed):
    size = sum(split.size_bytes for split in keyed.scan().splits())

    def expected(frame):
        return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))

    frame = read_spark(spark, keyed)
    assert size / 2 < expected(frame) <= size
    assert expected(read_spark(spark, keyed, ["k"])) < expected(frame)
    joined = spark.range(10).join(frame.withColumnRenamed("k", "id"), "id")
    assert "BroadcastHashJoin" in joined._jdf.queryExecution().sparkPlan().toString()


def test_a_read_of_many_local_files_starts_no_tasks_to_list_them(spark, catalog):
    table = catalog.create_table("db.t", SCHEMA, partition_by=["p"], options={"write-only": "true"})
    table.write([{"p": f"p{at}", "k": at, "v": "x"} for at in range(40)])
    name = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    before = spark.conf.get(name)
    spark.sparkContext.setJobGroup("listing", "")
    try:
        frame = read_spark(spark, table)
        assert not spark.sparkContext.statusTracker().getJobIdsForGroup("listing")
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert spark.conf.get(name) == before
    assert frame.count() == 40


@pytest.mark.spark
def test_a_read_of_all_columns_of_raw_files_is_one_step_for_spark(spark, catalog):
    table = catalog.create_table("db.t", SCHEMA)
    table.write([{"p": "a", "k": 1, "v": "x"}])
    for columns in (None, ["k", "p"], ["v"]):
        frame = read_spark(spark, table, columns)
        assert frame._jdf.logicalPlan().getClass().getSimpleName() == "LogicalRelation"
        assert frame.columns == (columns or SCHEMA.names)
    frame = read_spark(spark, table, ["v"], col("k") == 1)  # the column of the filter must be left out again
    assert (frame.columns, frame.collect()) == (["v"], [("x",)])


@pytest.mark.long
def test_metadata_columns_members_and_row_ids(spark, catalog, keyed):
    check(spark, keyed, ["v", "__paimon_bucket", "__paimon_partition"], "__paimon_bucket = 0")
    check(spark, keyed, ["_SEQUENCE_NUMBER", "k"])
    with pytest.raises(Exception, match=r"'__paimon_file_path': rows of bucket 0 of db\.k are merged"):
        read_spark(spark, keyed, ["__paimon_file_path"]).collect()
    rows = pa.table({"k": [5, 6], "r": [{"x": 1, "y": "a"}, None]})
    table = catalog.create_table("db.r", rows.schema, options={"row-tracking.enabled": "true"})
    table.write(rows)
    check(spark, table, ["_ROW_ID", "k", "r.y"], relations=0, tasks=1)
    check(spark, table, ["_ROW_ID"], relations=0, tasks=1)
    check(spark, table, ["__paimon_file_path", "__paimon_row_index"])
    with pytest.raises(UnsupportedFeature, match=r"table db\.r has no partition columns"):
        read_spark(spark, table, ["__paimon_partition"])


@pytest.mark.long
def test_rows_that_options_select(spark, keyed):
    check(spark, keyed.with_options({"incremental-between": "1,3"}))
    check(spark, keyed.with_options({"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}))
    check(spark, keyed.with_options({"scan.mode": "latest-delta"}), ["v"])
    check(spark, keyed.at(snapshot=2))
    start = int(time.time() * 1000) + 1
    time.sleep(0.01)
    keyed.write([{"p": "a", "k": 9, "v": "late"}])
    check(spark, keyed.with_options({"scan.file-creation-time-millis": str(start)}))
    keyed.branches.create("dev")
    keyed.branch("dev").write([{"p": "z", "k": 1, "v": "branch"}])
    both = keyed.with_options({"scan.fallback-branch": "dev"})
    check(spark, both)
    check(spark, both, ["v"], "p = 'z'")


@pytest.mark.long
def test_rows_committed_after_the_call_are_not_read(spark, keyed):
    frame = read_spark(spark, keyed)
    expected = keyed.scan().count()
    keyed.write([{"p": "a", "k": 77, "v": "later"}])
    keyed.compact(full=True)
    assert frame.count() == expected
    assert read_spark(spark, keyed).count() == expected + 1


@pytest.mark.long
def test_options_of_the_data_source_select_columns_and_rows(spark, warehouse, keyed):
    spark.dataSource.register(PaimonDataSource)

    def load(**options):
        return spark.read.format("paimon").option("warehouse", warehouse).options(**options).load("db.k")

    found = load(where="v like 'v%' and k > 0", columns="k, __paimon_bucket").collect()
    assert sorted(map(tuple, found)) == [(1, 0), (2, 0)]
    with pytest.raises(Exception, match="column 'v' is STRING and does not accept the int 5"):
        load(where="v = 5").collect()


@pytest.mark.long
def test_columns_that_do_not_fit_are_refused_before_tasks_start(spark, warehouse, keyed):
    spark.dataSource.register(PaimonDataSource)
    rows = spark.sql("SELECT 'a' p, 1L k, 'x' v, 1 extra")
    writer = rows.write.format("paimon").option("warehouse", warehouse).mode("append")
    with pytest.raises(AnalysisException, match="the table has no column 'extra'; the columns are k, p, v"):
        writer.save("db.k")  # an error in a task would be a PythonException
    assert keyed.latest_snapshot().id == 3


@pytest.mark.long
def test_spark_still_plans_a_view_once(spark, warehouse, keyed):
    """When this test fails, Spark plans views of Python data sources anew: docs/spark.md may then say so."""
    spark.dataSource.register(PaimonDataSource)
    create = f"CREATE OR REPLACE TEMP VIEW k USING paimon OPTIONS (warehouse '{warehouse}', path 'db.k')"
    spark.sql(create)
    before = spark.table("k").count()
    spark.sql("INSERT INTO k VALUES ('c', 1, 'new')")
    assert spark.table("k").count() == before
    spark.sql(create)
    assert spark.table("k").count() == before + 1
    with pytest.raises(Exception, match='Please use either the "Append" or "Overwrite" mode'):
        spark.table("k").write.format("paimon").option("warehouse", warehouse).save("db.k")


@pytest.mark.spark
def test_filters_of_spark_find_nan_and_old_dates(spark, warehouse):
    """Spark pushes its filters to the statistics of Parquet, which leave out NaN; Java's calendar changes dates."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    columns = {"i": "INT", "d": "DOUBLE", "r": "ROW<f FLOAT>", "n": "TIMESTAMP", "day": "DATE"}
    table = catalog.create_table("db.nan", columns)
    old, nan = datetime.datetime(1500, 1, 1), float("nan")
    table.write([{"i": 1, "d": nan, "r": {"f": nan}, "n": old, "day": old.date()}, {"i": 2, "d": 1.0, "r": {"f": 1.0}}])
    for where in ("d > 5", "NOT d < 5", "r.f > 5", "d = double('nan')"):
        assert [row.i for row in read_spark(spark, table).where(where).collect()] == [1], where
    for predicate in (col("n") == old, col("day") == old.date(), col("day").is_in([old.date()])):
        assert [row.i for row in read_spark(spark, table, ["i"], predicate).collect()] == [1], str(predicate)
