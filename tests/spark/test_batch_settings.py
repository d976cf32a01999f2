"""The bounds of the Arrow batches of a write: off only where rows bound them, and only for the jobs of the write."""

import threading

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

import paimon_core as paimon
from paimon_core.spark import merge_spark, write_spark, write_stream_spark
from paimon_core.spark.reads.split_tasks import read_in_tasks
from paimon_core.spark.tasks import run_tasks
from paimon_core.spark.writes import batch_settings
from paimon_core.spark.writes.batch_settings import BYTES, RECORDS, batch_rows, large_batches, runs_python


def sent(df):
    """Return the largest batch and the rows that one task gets from ``df``."""

    def count(batches):
        sizes = [len(batch) for batch in batches]
        yield pa.record_batch([pa.array([max(sizes)]), pa.array([sum(sizes)])], names=["most", "rows"])

    found = df.coalesce(1).mapInArrow(count, "most bigint, rows bigint").collect()
    return found[0]["most"], found[0]["rows"]


def settings(spark):
    context = spark.sparkContext
    return [
        *(spark.conf.get(name, None) for name in (RECORDS, BYTES)),
        *(context.getLocalProperty(name) for name in (RECORDS, BYTES)),
    ]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("a bigint, b int, c date, d timestamp, e decimal(38, 9), f boolean", 50_000),
        ("a interval day to second, b interval year to month, c time(6), d timestamp_ntz, e void", 50_000),
        (", ".join(f"c{at} decimal(38, 0)" for at in range(1_000)), (64 << 20) // 17_000),
        ("a bigint, b string", None),
        ("a varchar(3)", None),
        ("a array<int>", None),
        ("a struct<x: int>", None),
        ("a bigint, b binary", None),
        ("a variant", None),
        ("a interval", None),
    ],
)
def test_the_rows_of_a_batch_follow_the_width_of_the_columns(spark, columns, rows):
    assert batch_rows(StructType.fromDDL(columns)) == rows


@pytest.fixture
def few_rows(monkeypatch):
    """Batches of the write have 1,024 rows of one BIGINT."""
    monkeypatch.setattr(batch_settings, "BATCH_BYTES", 9 * 1_024)


def test_the_bounds_hold_for_the_jobs_of_the_block_only(spark, few_rows, monkeypatch):
    some = spark.range(3_000)
    numbers, before = spark.range(60_000), settings(spark)
    with large_batches(some):
        with large_batches(numbers.select(F.col("id").cast("int"))):  # a block inside a block changes nothing
            assert sent(some) == (1_024, 3_000)
        assert settings(spark)[:2] == before[:2]
        others = []
        other = threading.Thread(target=lambda: others.append(sent(some)))
        other.start()
        other.join()
        assert others == [(3_000, 3_000)]
    assert settings(spark) == before
    monkeypatch.undo()
    with large_batches(numbers):
        assert sent(numbers) == (50_000, 60_000)
    assert sent(some) == (3_000, 3_000)
    with pytest.raises(ZeroDivisionError), large_batches(some):
        raise ZeroDivisionError
    assert settings(spark) == before


def test_binary_columns_and_python_in_the_query_keep_the_bound_in_bytes(spark):
    wide = spark.range(4_000).select(F.expr("cast(repeat('x', 1000) as binary)").alias("a"))
    texts = spark.range(4_000).select(F.repeat(F.lit("x"), 1000).alias("a"))
    numbers = spark.range(4_000)
    spark.conf.set(BYTES, "100000")
    try:
        bounded, _ = sent(wide)
        assert bounded < 400
        for df in (wide, texts, numbers.mapInArrow(lambda batches: batches, "a bigint"), numbers):
            with large_batches(df):  # the user's own bound is obeyed
                assert sent(wide)[0] == bounded
    finally:
        spark.conf.unset(BYTES)
    context = spark.sparkContext
    python = numbers.mapInArrow(lambda batches: batches, "a bigint")
    for df, off in ((wide, False), (texts, False), (python, False), (numbers, True)):
        with large_batches(df):
            assert (context.getLocalProperty(BYTES) is not None) is off


def test_python_in_a_query_is_found_also_in_caches_subqueries_and_aggregates(spark):
    @F.pandas_udf("bigint")
    def same(column: pd.Series) -> pd.Series:
        return column

    @F.pandas_udf("bigint")
    def largest(column: pd.Series) -> int:
        return column.max()

    numbers = spark.range(10)
    cached_numbers = numbers.where("id > 2").persist()
    cached = numbers.select(same("id").alias("id")).persist()
    numbers.select(same("id").alias("x")).createOrReplaceTempView("computed")
    try:
        for found in (
            numbers.select(same("id")),
            numbers.groupBy("id").agg(largest("id")),
            numbers.groupBy("id").applyInArrow(lambda rows: rows, "id bigint"),
            cached.where("id > 3"),
            spark.sql("select * from range(5) where id = (select max(x) from computed)"),
            numbers.rdd.toDF(),
        ):
            assert runs_python(found)
        splits = read_in_tasks(spark, [b""], lambda _: iter(()), StructType().add("a", "integer"), [1])
        parts = run_tasks(spark, [b""], lambda _: iter(()), "a int")
        for plain in (
            splits,
            parts,
            splits.join(parts, "a"),
            numbers,
            numbers.join(numbers, "id").groupBy("id").count(),
            cached_numbers,
        ):
            assert not runs_python(plain)
    finally:
        cached_numbers.unpersist()
        cached.unpersist()
        spark.catalog.dropTempView("computed")


@pytest.mark.parametrize("length", [0, 200])
def test_a_plan_that_spark_cuts_may_run_python(spark, length):
    df = spark.range(3).mapInArrow(lambda batches: batches, "a bigint").distinct().where("a > 1").distinct()
    spark.conf.set("spark.sql.maxPlanStringLength", str(length))
    try:
        assert runs_python(df)
    finally:
        spark.conf.unset("spark.sql.maxPlanStringLength")
    assert not runs_python(spark.range(3).distinct())


def test_settings_of_the_user_are_obeyed_and_kept(spark):
    some = spark.range(3_000)
    spark.conf.set(RECORDS, "70")
    try:
        with large_batches(some):
            assert sent(some) == (70, 3_000)
            assert spark.sparkContext.getLocalProperty(BYTES) is None
        assert spark.conf.get(RECORDS) == "70"
    finally:
        spark.conf.unset(RECORDS)


def test_settings_of_a_session_are_restored_after_the_last_of_several_threads(spark, few_rows, monkeypatch):
    monkeypatch.setattr(batch_settings, "_has_pinned_threads", lambda spark: False)
    numbers = spark.range(10)
    binary = spark.range(10).select(F.expr("cast('x' as binary)").alias("a"))
    before, failed = settings(spark), []

    def hold(df, entered, leave):
        try:
            with large_batches(df):
                entered.set()
                assert leave.wait(20)
                raise ZeroDivisionError
        except ZeroDivisionError:
            failed.append(df)

    events = [(threading.Event(), threading.Event()) for _ in range(3)]
    threads = [
        threading.Thread(target=hold, args=(df, *pair))
        for df, pair in zip((numbers, spark.range(10).select(F.lit(1)), binary), events, strict=True)
    ]
    seen = []
    for thread, (entered, _) in zip(threads, events, strict=True):
        thread.start()
        assert entered.wait(20)
        seen.append((spark.conf.get(RECORDS, None), spark.conf.get(BYTES, None)))
    for thread, (_, leave) in reversed(list(zip(threads, events, strict=True))):
        leave.set()
        thread.join()
        seen.append((spark.conf.get(RECORDS, None), spark.conf.get(BYTES, None)))
    few, off = "1024", str(2**31 - 1)
    assert seen == [(few, off), (few, off), ("50000", None), (few, off), (few, off), (None, None)]
    assert (settings(spark), len(failed)) == (before, 3)


def test_a_setting_that_the_user_makes_during_a_write_stays(spark, monkeypatch):
    monkeypatch.setattr(batch_settings, "_has_pinned_threads", lambda spark: False)
    try:
        with large_batches(spark.range(10)):
            spark.conf.set(RECORDS, "77")
        assert settings(spark)[:2] == ["77", None]
    finally:
        spark.conf.unset(RECORDS)
    with large_batches(spark.range(10)):
        assert spark.conf.get(BYTES) == str(2**31 - 1)
    assert settings(spark)[:2] == [None, None]


@pytest.mark.long
def test_writes_of_texts_in_two_threads_are_whole(spark, warehouse):
    catalog, before = paimon.open_catalog(warehouse), settings(spark)
    catalog.create_database("db")
    columns = {"k": "BIGINT", "v": "STRING", "p": "INT"}
    keyed = catalog.create_table("db.keyed", columns, primary_key=["k"], options={"bucket": "2"})
    spread = catalog.create_table("db.spread", columns)
    frame = spark.range(2_500, numPartitions=2).select(
        F.col("id").alias("k"), F.repeat(F.col("id").cast("string"), 500).alias("v"), F.lit(1).alias("p")
    )
    threads = [threading.Thread(target=write_spark, args=(frame, table)) for table in (keyed, spread)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for table in (keyed, spread):
        found = table.refresh().scan().to_arrow().sort_by("k")
        assert found["k"].to_pylist() == list(range(2_500))
        assert found["v"].to_pylist() == [str(at) * 500 for at in range(2_500)]
    assert settings(spark) == before
    with pytest.raises((PySparkException, paimon.errors.PaimonError)):
        write_spark(frame.withColumn("k", F.when(F.col("k") < 2_000, F.col("k"))), keyed.refresh())
    assert settings(spark) == before


@pytest.mark.long
def test_batches_of_a_stream_have_the_bounds_of_the_query(spark, warehouse, tmp_path, monkeypatch):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    spark.range(10).select(F.col("id").alias("v")).write.json(str(tmp_path / "landing"))
    stream = spark.readStream.schema("v bigint").json(str(tmp_path / "landing"))
    found, real = [], batch_settings._wanted
    monkeypatch.setattr(batch_settings, "_wanted", lambda most: found.append(most) or real(most))
    for name, query in {"plain": stream, "python": stream.mapInArrow(lambda b: b, "v bigint")}.items():
        table = catalog.create_table(f"db.{name}", {"v": "BIGINT"})
        writer = write_stream_spark(query, table, checkpoint=str(tmp_path / name))
        writer.trigger(availableNow=True).start().awaitTermination()
        assert table.refresh().scan().count() == 10
    assert list(dict.fromkeys(found)) == [50_000, None]


@pytest.mark.long
def test_a_merge_by_key_sends_its_rows_without_a_bound_in_bytes(spark, warehouse, monkeypatch):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", {"k": "BIGINT", "v": "INT"}, primary_key=["k"], options={"bucket": "2"})
    rows = spark.range(5).select(F.col("id").alias("k"), F.lit(1).alias("v"))
    write_spark(rows, table)
    found, real = [], batch_settings._wanted
    monkeypatch.setattr(batch_settings, "_wanted", lambda most: found.append(most) or real(most))
    source = spark.range(3, 8).select(F.col("id").alias("k"), F.lit(2).alias("v"))
    merge_spark(spark, table.refresh(), source, "k")
    assert set(found) == {None, 50_000}  # the rows that are written have a text
    assert sorted(row["v"] for row in table.refresh().scan().to_arrow().to_pylist()) == [1] * 3 + [2] * 5
