"""Merge engines, changelogs, nested columns and file formats in Spark: the same results as in the library."""

import datetime
import decimal
import shutil
from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core import col
from paimon_core.compact import compaction
from paimon_core.compact.recent_compactions import FULL_MARK
from paimon_core.errors import InvalidRequest
from paimon_core.spark import PaimonDataSource, compact_spark, read_spark, write_spark
from tests.support.long_cases import long_cases

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("w", pa.string())])
SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
TABLES = {
    "partial-update lookup": {"merge-engine": "partial-update", "changelog-producer": "lookup"},
    "aggregation full-compaction": SUM | {"changelog-producer": "full-compaction"},
}
MORE_TABLES = {
    "input": {"changelog-producer": "input"},
    "first-row lookup": {"merge-engine": "first-row", "changelog-producer": "lookup"},
}


def create(warehouse, schema=SCHEMA, *, primary_key=("k",), **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    if primary_key:
        options = {"bucket": "2"} | options
    return catalog.create_table("db.t", schema, primary_key=primary_key, options={"write-only": "true"} | options)


def copied(table, warehouse, to):
    shutil.copytree(warehouse, to)
    return paimon.open_catalog(str(to)).table(table.name)


def rows(start):
    keys = range(start, start + 6)
    return pa.table({"k": keys, "v": [k + start for k in keys], "w": [f"{k}" if k % 2 else None for k in keys]}, SCHEMA)


def content(frame_or_scan):
    found = frame_or_scan.toArrow() if hasattr(frame_or_scan, "toArrow") else frame_or_scan.to_arrow()
    return found.sort_by("k").to_pylist()


def told(table):
    return sorted(map(repr, table.changes().to_arrow().to_pylist()))


def history(table):
    names = ("commit_kind", "total_record_count", "delta_record_count", "changelog_record_count")
    return [tuple(s[name] for name in names) for s in table.inspect.snapshots().to_pylist()]


def levels(table):
    files = table.inspect.files()
    return sorted(zip(*(files[n].to_pylist() for n in ("bucket", "level", "record_count")), strict=True))


@pytest.mark.parametrize("name", [*TABLES, *long_cases(MORE_TABLES)])
def test_spark_writes_compacts_and_reads_as_the_library_does(spark, tmp_path, name):
    options = {**TABLES, **MORE_TABLES}[name]
    ours, sparks = create(str(tmp_path / "a"), **options), create(str(tmp_path / "b"), **options)
    for start in (0, 3):
        ours.write(rows(start))
        write_spark(spark.createDataFrame(rows(start).to_pylist(), "k bigint, v bigint, w string"), sparks)
    assert content(read_spark(spark, sparks)) == content(sparks.scan()) == content(ours.scan())
    ours.compact()
    compact_spark(spark, sparks)
    assert history(sparks) == history(ours)
    assert levels(sparks) == levels(ours)
    assert told(sparks) == told(ours)
    rowed = read_spark(spark, sparks, where=col("v") > 5)
    assert content(rowed) == content(ours.scan(where=col("v") > 5))
    assert content(read_spark(spark, sparks)) == content(ours.scan())
    assert sparks.scan().count() == 9


def test_a_compaction_in_spark_looks_keys_up_in_higher_files(spark, warehouse, tmp_path):
    table = create(warehouse, **{"merge-engine": "partial-update", "changelog-producer": "lookup"})
    table.write(pa.table({"k": range(10_000), "v": range(10_000)}))
    table.compact()
    table.write(rows(9_997))
    assert any(task.higher for task in table.plan_compaction())
    other = copied(table, warehouse, tmp_path / "other")
    compact_spark(spark, table)
    other.compact()
    assert told(table) == told(other)
    assert any("-U" in change for change in told(table))


def test_full_compactions_are_marked_and_done_again_above_the_stop_trigger(spark, warehouse, monkeypatch):
    table = create(warehouse, **{"full-compaction.delta-commits": "2"})
    table.write(rows(0))
    assert not compact_spark(spark, table)
    table.write(rows(3))
    plan, planned = compaction.plan, []

    def crowded(context, **asked):
        planned.append(asked["written"])
        tasks = plan(context, **asked)
        return [replace(task, unit=replace(task.unit, runs_left=99)) for task in tasks]

    monkeypatch.setattr(compaction, "plan", crowded)
    snapshot = compact_spark(spark, table, properties={"by": "spark"}).snapshot
    assert snapshot.properties == {"by": "spark", FULL_MARK[0]: FULL_MARK[1]}
    assert [written and {bucket for _, bucket in written} for written in planned] == [None, {0, 1}]
    with pytest.raises(InvalidRequest, match=r"is read-only: pass catalog\.table\('db\.t'\)"):
        compact_spark(spark, table.at(snapshot=1))


def test_writers_that_are_not_write_only_tell_changes_at_once(spark, warehouse):
    table = create(warehouse, **SUM, **{"changelog-producer": "lookup", "write-only": "false", "bucket": "1"})
    for start in (0, 3):
        write_spark(spark.createDataFrame(rows(start).to_pylist(), "k bigint, v bigint, w string"), table)
    assert [kind for kind, *_ in history(table)] == ["APPEND", "COMPACT"] * 2
    kinds = table.changes(start=2).to_arrow()["rowkind"].to_pylist()
    assert sorted(kinds) == ["+I"] * 3 + ["+U"] * 3 + ["-U"] * 3


def test_a_failing_task_deletes_its_changelog_files_too(spark, warehouse, tmp_path):
    options = {"changelog-producer": "input", "write-buffer-size": "256 kb", "write-buffer-spillable": "false"}
    table = create(warehouse, **options)
    many = spark.range(0, 60_000, 1, 1).select(F.col("id").alias("k"), F.col("id").alias("v"))
    with pytest.raises(Exception, match="NOT NULL"):
        write_spark(many.withColumn("k", F.expr("if(k = 59999, null, k)")), table, tasks=1)
    assert not list(tmp_path.rglob("*.parquet"))
    write_spark(many, table, tasks=1)
    assert table.inspect.files().num_rows > 4, "a writer that never flushes early would prove nothing"
    assert len(list(tmp_path.rglob("changelog-*.parquet"))) > 4


def test_an_overwrite_by_spark_is_told_without_a_changelog(spark, warehouse, tmp_path):
    table = create(warehouse, **{"changelog-producer": "input"})
    frame = spark.createDataFrame(rows(0).to_pylist(), "k bigint, v bigint, w string")
    write_spark(frame, table, overwrite="dynamic")
    assert table.latest_snapshot().changelog_manifest_list is None
    assert len(told(table)) == 6
    assert not list(tmp_path.rglob("changelog-*"))


def test_kinds_beside_a_kind_column_are_refused_before_a_job_starts(spark, warehouse):
    table = create(warehouse, **{"rowkind.field": "w"})
    frame = spark.createDataFrame([(1, 1, "+I")], "k bigint, v bigint, w string")
    with pytest.raises(paimon.InvalidRequest, match="from its column 'w'"):
        write_spark(frame, table, kinds="w")
    write_spark(frame, table)
    assert read_spark(spark, table).count() == 1


NESTED = pa.schema(
    [
        pa.field("k", pa.decimal128(9, 2), nullable=False),
        pa.field(
            "s",
            pa.struct(
                [
                    pa.field("at", pa.timestamp("us")),
                    pa.field("zoned", pa.timestamp("us", tz="UTC")),
                    pa.field("n", pa.int32(), nullable=False),
                ]
            ),
        ),
        pa.field("a", pa.list_(pa.decimal128(7, 3))),
        pa.field("m", pa.map_(pa.string(), pa.list_(pa.timestamp("ms")))),
        pa.field("r", pa.list_(pa.struct([("x", pa.int64()), ("y", pa.map_(pa.int32(), pa.string()))]))),
    ]
)
NESTED_SPARK = (
    "k decimal(9,2), s struct<at:timestamp_ntz,zoned:timestamp,n:int>, a array<decimal(7,3)>, "
    "m map<string,array<timestamp_ntz>>, r array<struct<x:bigint,y:map<int,string>>>"
)


def nested_rows(shift):
    at = datetime.datetime(2024, 7, 1, 12, 0, 0, 123456)
    zoned = (at + datetime.timedelta(hours=shift)).replace(tzinfo=datetime.UTC)
    whole = {
        "k": decimal.Decimal("1.50"),
        "s": {"at": at, "zoned": zoned, "n": shift},
        "a": [decimal.Decimal("1.125"), None],
        "m": {"é": [at.replace(microsecond=123000), None], "none": None},
        "r": [{"x": shift, "y": {1: "one"}}, None],
    }
    return [
        whole,
        {"k": decimal.Decimal("2.00"), "s": None, "a": None, "m": None, "r": None},
        {"k": decimal.Decimal("3.00"), "s": whole["s"], "a": [], "m": {}, "r": []},
    ]


def test_nested_columns_both_ways(spark, warehouse):
    """Also when Spark has another time zone: the bucket of this key type is computed in Python."""
    table = create(warehouse, NESTED, **{"merge-engine": "partial-update"})
    spark.dataSource.register(PaimonDataSource)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:

        def agrees(raw):
            assert {split.raw for split in table.scan().splits()} == raw
            found = read_spark(spark, table).toArrow().sort_by("k")
            assert found.to_pylist() == table.scan().to_arrow().sort_by("k").to_pylist()

        write_spark(spark.createDataFrame(nested_rows(1), NESTED_SPARK), table)
        agrees({True})
        first = table.scan(where=col("k") == decimal.Decimal("1.50")).to_arrow().to_pylist()[0]
        expected = nested_rows(1)[0]
        assert first | {"m": dict(first["m"])} == expected | {"r": [{"x": 1, "y": [(1, "one")]}, None]}
        door = spark.createDataFrame(nested_rows(5), NESTED_SPARK).write.format("paimon")
        door.option("warehouse", warehouse).mode("append").save("db.t")
        agrees({False})
        compact_spark(spark, table, full=True)
        agrees({True})
        loaded = spark.read.format("paimon").option("warehouse", warehouse).load("db.t").where("k = 3")
        assert loaded.collect()[0].s.n == 5
        assert read_spark(spark, table, ["k"], col("s").is_null()).count() == 1
        unknown = "if(k = 3, struct(s.at, s.zoned, int(null) as n), s)"
        wrong = spark.createDataFrame(nested_rows(1), NESTED_SPARK).withColumn("s", F.expr(unknown))
        with pytest.raises(Exception, match=r"'s\.n' is NOT NULL"):
            write_spark(wrong, table)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("file_format", ["orc", pytest.param("avro", marks=pytest.mark.long)])
def test_files_that_are_not_parquet_are_read_in_python(spark, warehouse, file_format):
    table = create(warehouse, **{"file.format.per.level": f"0:{file_format}"})
    table.write(rows(0))
    table.write(rows(0))
    compact_spark(spark, table, full=True)
    write_spark(spark.createDataFrame(rows(100).to_pylist(), "k bigint, v bigint, w string"), table)
    endings = {name.rsplit(".", 1)[1] for name in table.inspect.files()["file_name"].to_pylist()}
    assert endings == {"parquet", file_format}
    assert content(read_spark(spark, table)) == content(table.scan())
    assert table.scan().count() == 12
