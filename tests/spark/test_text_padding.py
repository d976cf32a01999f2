"""Texts of any length are bounded by rows: long ones are followed by padding, which is in no table and no batch."""

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

import paimon_core as paimon
from paimon_core.errors import SchemaMismatch
from paimon_core.spark import write_spark
from paimon_core.spark.writes import batch_settings, text_padding
from paimon_core.spark.writes.batch_settings import BYTES, RECORDS, large_batches
from paimon_core.spark.writes.text_padding import PADDING, is_worth_padding, padded, padded_rows, real_rows

WIDTH = 70_000
"""The bytes of a batch in these tests: shares of 70 bytes in batches of 1,000 rows."""


@pytest.fixture
def short(monkeypatch):
    """Batches have 1,000 rows and 70,000 bytes, and small writes are padded, too."""
    monkeypatch.setattr(text_padding, "MOST_ROWS", 1_000)
    monkeypatch.setattr(text_padding, "BATCH_BYTES", WIDTH)
    monkeypatch.setattr(text_padding, "LEAST_BYTES", 0)


def texts(spark, count=3_000, parts=2):
    """Return rows of a number, a text of up to 700 bytes in clusters of long texts, and binary values with nulls."""
    numbers = spark.range(0, count, 1, parts)
    length = "cast(if(id % 500 < 40, 700 - id % 7, id % 5) as int)"
    return numbers.selectExpr(
        "id", f"repeat('ü', {length} div 2) as v", "if(id % 3 = 0, null, cast(repeat('b', id % 400) as binary)) as b"
    )


def batches_of(rows):
    """Return for each batch that tasks get: its rows, its bytes of texts, and those of its longest row."""

    def sizes(batches):
        for batch in batches:
            length = pc.add(pc.binary_length(batch["v"]), pc.fill_null(pc.binary_length(batch["b"]), 0))
            largest = pc.max(length).as_py() if len(batch) else 0
            row = [len(batch), pc.sum(length).as_py() or 0, largest]
            yield pa.record_batch([pa.array([n]) for n in row], names=["n", "bytes", "largest"])

    return [tuple(row) for row in rows.mapInArrow(sizes, "n bigint, bytes bigint, largest bigint").collect()]


@pytest.mark.long
def test_any_batch_has_at_most_its_bytes_and_those_of_one_row_more(spark, short):
    df = texts(spark)
    keyed = padded(df).repartitionById(2, F.expr("cast(id % 2 as int)"))
    for name, rows in {"unmoved": padded(df), "shuffled": keyed}.items():
        spark.conf.set(RECORDS, "1000")
        spark.conf.set(BYTES, str(2**31 - 1))
        try:
            found, plain = batches_of(rows), batches_of(df)
        finally:
            spark.conf.unset(RECORDS)
            spark.conf.unset(BYTES)
        assert max(n for n, _, _ in found) == 1_000, name
        assert all(size <= WIDTH + largest for _, size, largest in found), name
        assert any(size > 2 * WIDTH for _, size, _ in plain)  # without padding the bound does not hold


def test_a_row_longer_than_a_batch_has_padding_for_one_batch_only(spark, short):
    rows = spark.range(1).select("id", F.repeat(F.lit("x"), 500_000).alias("v"))
    found = padded(rows).groupBy(PADDING).count().collect()
    assert {row[0]: row[1] for row in found} == {False: 1, True: 1_000}


def test_the_rows_without_padding_are_the_rows(spark, short):
    df = texts(spark, 400)
    real = pa.Table.from_batches([*real_rows(padded(df).toArrow().to_batches())])
    assert real.sort_by("id").equals(df.toArrow().sort_by("id"))
    assert not real.schema.field("id").nullable
    assert real.num_rows < padded(df).count()


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("a bigint, b string", 4_096),
        ("a binary, b decimal(38, 2)", 4_096),
        (", ".join(f"c{at} string" for at in range(24)), 4_096),
        (", ".join(f"c{at} string" for at in range(25)), None),
        ("a string, b array<int>", None),
        ("a string, b varchar(3)", None),
        ("a string, b variant", None),
        (f"a string, {PADDING} boolean", None),
    ],
)
def test_texts_and_columns_of_fixed_width_can_be_padded(spark, columns, rows):
    assert padded_rows(StructType.fromDDL(columns)) == rows


@pytest.mark.long
def test_small_inputs_and_those_of_unknown_size_are_not_padded(spark, tmp_path, monkeypatch):
    rows = spark.range(5_000).select(F.repeat(F.lit("x"), 30).alias("v"))
    rows.write.parquet(str(tmp_path / "rows"))
    small, unknown = spark.read.parquet(str(tmp_path / "rows")), spark.createDataFrame([("x",)], "v string")
    assert not is_worth_padding(small)
    monkeypatch.setattr(text_padding, "LEAST_BYTES", 100)
    assert is_worth_padding(small)
    assert not is_worth_padding(unknown)


def test_names_that_spark_does_not_distinguish_cannot_be_padded():
    for names in (("a", "A"), ("a", "a")):
        assert padded_rows(StructType([StructField(name, StringType()) for name in names])) is None


def made(warehouse, columns, **arguments):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    return catalog.create_table(f"db.t{len(catalog.list_tables('db'))}", columns, **arguments)


COLUMNS = {"id": "BIGINT", "v": "STRING", "b": "BYTES"}
TABLES = {
    "append": ({}, {}, True),
    "key": ({"primary_key": ["id"]}, {"bucket": "2"}, True),
    "text key": ({"primary_key": ["v", "id"]}, {"bucket": "3"}, True),
    "partitions": ({"partition_by": ["p"]}, {}, True),
    "dynamic buckets": ({"primary_key": ["id"]}, {"bucket": "-1", "dynamic-bucket.target-row-num": "500"}, True),
    "text key, dynamic buckets": ({"primary_key": ["v", "id"]}, {"bucket": "-1"}, False),
    "postponed": ({"primary_key": ["id"]}, {"bucket": "-2"}, True),
    "bucket of Python": ({"primary_key": ["id"]}, {"bucket": "2", "bucket-function.type": "mod"}, True),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.long
def test_all_kinds_of_tables_get_the_rows_without_padding(spark, warehouse, short, monkeypatch, name):
    arguments, options, pads = TABLES[name]
    columns = {"p": "INT", **COLUMNS} if name == "partitions" else COLUMNS
    table = made(warehouse, columns, options=options, **arguments)
    df = texts(spark, 1_500)
    df = df.withColumn("p", F.expr("cast(id % 3 as int)")) if name == "partitions" else df
    wanted, real = [], batch_settings._wanted
    monkeypatch.setattr(batch_settings, "_wanted", lambda most: wanted.append(most) or real(most))
    write_spark(df, table)
    if name == "postponed":
        table.refresh().compact()
    assert (1_000 in wanted) is pads
    expected = df.select(*columns).toArrow().sort_by("id")
    found = table.refresh().scan([*columns]).to_arrow().sort_by("id")
    assert found.to_pylist() == expected.to_pylist()


@pytest.mark.long
def test_rows_sorted_by_a_text_are_padded_after_the_sort(spark, warehouse, short):
    table = made(warehouse, COLUMNS, primary_key=["id"], options={"bucket": "2"})
    chance = random.Random(5)
    rows = [(at % 50, f"{chance.randrange(10**6):06}" + "x" * (at % 300), None) for at in range(2_000)]
    folder = f"{warehouse}/rows"
    spark.createDataFrame(rows, "id bigint, v string, b binary").write.parquet(folder)
    df = spark.read.parquet(folder).withColumn("b", F.col("b").cast("binary"))
    write_spark(df, table, order_by=["v"])
    found = table.refresh().scan().to_arrow().sort_by("id")["v"].to_pylist()
    assert found == [max(v for at, v, _ in rows if at == key) for key in range(50)]


def test_errors_of_rows_are_those_without_padding(spark, warehouse, short):
    table = made(warehouse, COLUMNS, primary_key=["id"], options={"bucket": "2"})
    df = texts(spark, 100, 1).selectExpr("if(id = 70, null, id) as id", "v", "b")
    with pytest.raises(SchemaMismatch, match="column 'id' is NOT NULL but 1 values are null"):
        write_spark(df, table)
    with pytest.raises(SchemaMismatch, match=PADDING):
        write_spark(texts(spark, 10).withColumn(PADDING, F.lit(True)), table)


def test_rows_are_padded_only_where_the_bound_in_bytes_is_off(spark, short, monkeypatch):
    df, python = texts(spark, 10), texts(spark, 10).mapInArrow(lambda batches: batches, "id bigint, v string, b binary")

    def pads(df):
        with large_batches(df, padded=lambda: padded_rows(df.schema)) as found:
            off = spark.sparkContext.getLocalProperty(BYTES) is not None
            with large_batches(df, padded=lambda: padded_rows(df.schema)) as inner:
                assert not inner
        assert found is off
        return found

    assert pads(df)
    assert not pads(python)
    spark.conf.set(RECORDS, "500")
    try:
        assert not pads(df)
    finally:
        spark.conf.unset(RECORDS)
    monkeypatch.setattr(batch_settings, "_has_pinned_threads", lambda spark: False)
    assert not pads(df)
