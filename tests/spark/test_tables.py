"""Spark writes, reads and compacts tables; the library sees the same rows."""

import datetime
import decimal

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import CommitConflict, PaimonError, SchemaMismatch
from paimon_core.spark import PaimonDataSource, compact_spark, read_spark, sort_compact_spark, write_spark
from paimon_core.spark.writes import placement

SCHEMA = pa.schema(
    [("p", pa.string()), ("k", pa.int64()), ("v", pa.float64()), ("d", pa.decimal128(9, 2)), ("t", pa.timestamp("us"))]
)


def catalog_in(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


def keyed(warehouse, **options):
    return catalog_in(warehouse).create_table(
        "db.t",
        SCHEMA,
        primary_key=["p", "k"],
        partition_by=["p"],
        options={"bucket": "2", "write-only": "true"} | options,
    )


def frame(spark, keys, value, kind=None):
    rows = spark.createDataFrame([(f"p{k % 2}", k) for k in keys], "p string, k bigint")
    rows = rows.withColumn("v", F.col("k") + F.lit(float(value))).withColumn("d", F.lit("1.5").cast("decimal(9,2)"))
    rows = rows.withColumn("t", F.lit("2024-01-15 10:30:00.123456").cast("timestamp_ntz"))
    return rows if kind is None else rows.withColumn("kind", F.lit(kind))


def same_rows(left: pa.Table, right: pa.Table):
    assert (
        left.select(right.column_names).sort_by([("p", "ascending"), ("k", "ascending")]).to_pylist()
        == right.sort_by([("p", "ascending"), ("k", "ascending")]).to_pylist()
    )


def test_reads_obey_stored_scan_options_and_dynamic_options(spark, warehouse):
    table = keyed(warehouse)
    table.write([{"p": "a", "k": 1, "v": 1.0, "d": None, "t": None}])
    table = table.alter("ADD COLUMN note STRING, SET ('scan.snapshot-id' = 1)")
    table.write([{"p": "a", "k": 2, "v": 2.0, "d": None, "t": None, "note": "new"}])
    table.compact(full=True)
    assert read_spark(spark, table).toArrow().to_pylist() == table.scan().to_arrow().to_pylist()
    assert read_spark(spark, table).columns == SCHEMA.names
    latest = table.with_options({"scan.mode": "latest"})
    assert sorted(row.k for row in read_spark(spark, latest, ["k", "note"]).collect()) == [1, 2]


def test_write_merge_compact_and_read(spark, warehouse):
    table = keyed(warehouse)
    write_spark(frame(spark, range(100), 0), table)
    write_spark(frame(spark, range(50, 150), 1000), table)
    write_spark(frame(spark, range(0, 150, 10), 0, "-D"), table, kinds="kind")
    assert table.latest_snapshot().id == 3
    rows = table.scan().to_arrow()
    assert len(rows) == 135
    first = table.scan(where=col("k") == 51).to_arrow().to_pylist()
    assert first == [
        {
            "p": "p1",
            "k": 51,
            "v": 1051.0,
            "d": decimal.Decimal("1.50"),
            "t": datetime.datetime(2024, 1, 15, 10, 30, 0, 123456),
        }
    ]
    same_rows(read_spark(spark, table).toArrow(), rows)
    snapshot = compact_spark(spark, table, full=True).snapshot
    assert snapshot.commit_kind == "COMPACT"
    assert set(table.inspect.files()["level"].to_pylist()) == {5}
    same_rows(table.scan().to_arrow(), rows)
    same_rows(read_spark(spark, table).toArrow(), rows)
    write_spark(frame(spark, [1, 3], 7), table)  # now some buckets are raw and some must be merged
    splits = table.scan().splits()
    assert {s.raw for s in splits} == {True, False}
    same_rows(read_spark(spark, table).toArrow(), table.scan().to_arrow())
    assert read_spark(spark, table, ["v"], col("k") == 3).collect()[0].v == 10.0
    assert read_spark(spark, table, ["k"], (col("p") == "p1") & (col("v") > 1000)).count() == len(
        table.scan(["k"], (col("p") == "p1") & (col("v") > 1000)).to_arrow()
    )
    same_rows(read_spark(spark, table.at(snapshot=3)).toArrow(), rows)
    assert not compact_spark(spark, table.refresh(), where=col("p") == "p0")


def test_each_bucket_is_written_by_one_task(spark, warehouse):
    table = keyed(warehouse)
    write_spark(frame(spark, range(1000), 0).repartition(4), table)
    files = table.inspect.files()
    assert files.num_rows == 4
    assert len(set(zip(files["partition"].to_pylist(), files["bucket"].to_pylist(), strict=True))) == 4


def test_rows_of_one_key_apply_in_the_order_asked(spark, warehouse):
    table = keyed(warehouse)
    rows = spark.createDataFrame(
        [("p", 1, n, "+U" if n < 99 else "-D") for n in range(99, -1, -1)], "p string, k int, n int, kind string"
    )
    rows = rows.withColumn("v", F.col("n").cast("double")).repartition(4)
    write_spark(rows, table, kinds="kind", order_by=["n"])
    assert table.scan().count() == 0
    write_spark(rows.where("n < 99"), table, kinds="kind", order_by=["n"])
    assert table.scan(["v"]).to_arrow()["v"].to_pylist() == [98.0]


def test_a_repeated_identifier_adds_nothing_and_calls_back_again(spark, warehouse):
    table = catalog_in(warehouse).create_table("db.a", pa.schema([("n", pa.int64())]), options={"write-only": "true"})
    called = []
    with_callback = table.with_callbacks(lambda table, snapshot: called.append(snapshot.id))
    for _ in range(2):
        write_spark(spark.range(10).withColumnRenamed("id", "n"), with_callback, user="job", identifier=7)
    assert called == [1, 1]
    assert table.latest_snapshot().id == 1
    assert table.scan().count() == 10


def test_overwrites(spark, warehouse):
    table = keyed(warehouse)
    write_spark(frame(spark, range(10), 0), table)
    write_spark(frame(spark, [2], 5), table, overwrite="dynamic")
    assert sorted(table.scan(where=col("p") == "p0").to_arrow()["k"].to_pylist()) == [2]
    assert table.scan(where=col("p") == "p1").count() == 5
    write_spark(frame(spark, [3], 5), table, overwrite=col("p") == "p1")
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [2, 3]


@pytest.mark.long
def test_dynamic_buckets_have_one_assigner_a_job(spark, warehouse, tmp_path, monkeypatch):
    table = keyed(warehouse, **{"bucket": "-1", "dynamic-bucket.target-row-num": "20"})
    write_spark(frame(spark, range(100), 0), table)
    table.write(table.scan(where=col("k") < 10).to_arrow())
    write_spark(frame(spark, range(50, 150), 1000), table)
    write_spark(frame(spark, range(0, 150, 10), 0, "-D"), table, kinds="kind")
    assert table.scan().count() == 135
    assert len(table.inspect.buckets()) == 8
    write_spark(frame(spark, range(1, 60, 2), 7), table, overwrite="dynamic")
    assert sorted(b["bucket"] for b in table.inspect.buckets().to_pylist() if b["partition"] == "{p1}") == [0, 1]
    assert table.scan(where=col("p") == "p1").count() == 30
    assert not table.maintenance.check(deep=True).findings
    complete = type(table).complete

    def late(self, *given, **named):
        monkeypatch.undo()
        table.write(frame(spark, [901, 902], 0).toArrow())
        return complete(self, *given, **named)

    monkeypatch.setattr(type(table), "complete", late)
    with pytest.raises(CommitConflict, match="changed the hash indexes"):
        write_spark(frame(spark, range(900, 910), 0), table)
    assert table.scan(where=col("k") >= 900).count() == 2
    before = sorted(tmp_path.rglob("index-*"))
    with pytest.raises(Exception, match="NOT NULL"):
        write_spark(frame(spark, range(500, 520), 0).withColumn("k", F.expr("if(k = 505, null, k)")), table, tasks=1)
    assert sorted(tmp_path.rglob("index-*")) == before


@pytest.mark.parametrize(
    ("name", "options", "primary_key"),
    [
        ("fixed", {"bucket": "-2", "postpone.target-row-num-per-bucket": "20"}, ["p", "k"]),
        ("waiting", {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}, ["p", "k"]),
        ("cross", {"bucket": "-1", "dynamic-bucket.target-row-num": "20"}, ["k"]),
    ],
)
def test_rows_are_staged_where_their_places_depend_on_all_of_them(
    spark, warehouse, tmp_path, monkeypatch, name, options, primary_key
):
    monkeypatch.setattr(placement, "GROUP_BYTES", 1)
    table = catalog_in(warehouse).create_table(
        "db.t", SCHEMA, primary_key=primary_key, partition_by=["p"], options={"write-only": "true"} | options
    )
    rows = (
        frame(spark, range(100), 0).union(frame(spark, range(50, 150), 1000)).withColumn("at", F.col("v") - F.col("k"))
    )
    moved = rows.withColumn("p", F.expr("if(at = 0, 'old', 'new')"))
    write_spark(moved if name == "cross" else rows, table, order_by=["at"])
    if name == "waiting":
        assert table.scan().count() == 0
        assert compact_spark(spark, table).snapshot.commit_kind == "COMPACT"
    found = table.scan().to_arrow()
    assert len(found) == 150
    values = dict(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True))
    assert values == {k: k + 1000.0 if k >= 50 else float(k) for k in range(150)}
    if name == "cross":
        assert set(table.scan(where=col("k") >= 50).to_arrow()["p"].to_pylist()) == {"new"}
    assert table.maintenance.check(deep=True).findings == ()
    assert bool(list(tmp_path.rglob("bucket-postpone/*.*"))) == (name == "waiting")


@pytest.mark.long
def test_key_types_without_sql_are_bucketed_in_python(spark, warehouse):
    table = catalog_in(warehouse).create_table(
        "db.o", SCHEMA, primary_key=["d", "t", "v"], options={"bucket": "3", "write-only": "true"}
    )
    rows = frame(spark, range(30), 0).withColumn("d", (F.col("k") / 2).cast("decimal(9,2)"))
    rows = rows.withColumn("t", F.expr("timestamp_ntz'2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, k)"))
    write_spark(rows, table)
    table.write(table.scan().to_arrow())
    assert table.scan().count() == 30


def test_wrong_frames_are_refused_before_a_job_starts(spark, warehouse):
    table = keyed(warehouse)
    with pytest.raises(paimon.SchemaMismatch, match="'x'"):
        write_spark(frame(spark, [1], 0).withColumn("x", F.lit(1)), table)
    with pytest.raises(paimon.SchemaMismatch, match="'k'"):
        write_spark(frame(spark, [1], 0).drop("k"), table)
    with pytest.raises(paimon.SchemaMismatch, match="'op'"):
        write_spark(frame(spark, [1], 0), table, kinds="op")
    with pytest.raises(paimon.InvalidRequest, match="overwrite"):
        write_spark(frame(spark, [1], 0), table, overwrite="all")
    assert table.latest_snapshot() is None


def test_a_failing_task_leaves_no_file(spark, warehouse, tmp_path):
    table = keyed(warehouse)
    with pytest.raises(Exception, match="NOT NULL"):
        write_spark(frame(spark, range(10), 0).withColumn("k", F.expr("if(k = 5, null, k)")), table, tasks=1)
    assert table.latest_snapshot() is None
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.long
def test_a_warehouse_with_odd_characters_and_a_filter_on_time(spark, tmp_path):
    """Spark reads paths as glob patterns; a filter on TIME is evaluated in Python."""
    catalog = catalog_in(str(tmp_path / "l[1] {a}*?"))
    table = catalog.create_table(
        "db.t",
        pa.schema([("p", pa.string()), ("k", pa.int64()), ("at", pa.time32("ms"))]),
        partition_by=["p"],
        options={"write-only": "true"},
    )
    clock = pa.array([0, 1000, 2000], pa.int32()).cast(pa.time32("ms"))
    table.write(pa.table({"p": ["a b", "c:d=e/f%", None], "k": [1, 2, 3], "at": clock}))
    assert sorted(r.k for r in read_spark(spark, table, ["k"]).collect()) == [1, 2, 3]
    assert [r.k for r in read_spark(spark, table, ["k"], col("p") == "c:d=e/f%").collect()] == [2]
    assert [r.k for r in read_spark(spark, table, ["k"], col("at") > "00:00:01").collect()] == [3]


@pytest.mark.long
def test_times(spark, warehouse):
    """TIME of every precision, nested and in a key, through both ways to Spark; more digits are refused."""
    columns = "p TIME(0), k TIME(3) NOT NULL, s TIME(6), n ARRAY<ROW<t TIME(3)>>, m MAP<TIME(3), TIME(0)>"
    table = catalog_in(warehouse).create_table("db.t", columns, primary_key=["p", "k"], options={"bucket": "3"})
    clock = datetime.time
    last = (clock(10), clock(23, 59, 59, 999000), clock(0, 0, 0, 1000), [(clock(1, 2, 3),)], {clock(1): clock(2)})
    given = [(clock(10), clock(0), None, None, None), last]
    rows = spark.createDataFrame(given, read_spark(spark, table).schema)
    write_spark(rows, table)
    write_spark(rows, table)
    found = read_spark(spark, table)
    copy = catalog_in(warehouse + "2").create_table("db.copy", found.schema)
    assert copy.schema.fields == table.schema.fields
    assert [tuple(r) for r in found.orderBy("k").collect()] == given
    spark.dataSource.register(PaimonDataSource)
    source = spark.read.format("paimon").option("warehouse", warehouse).load("db.t")
    assert [tuple(r) for r in source.orderBy("k").collect()] == given
    assert table.scan(["s"], col("k") > "12:00:00").to_arrow()["s"].to_pylist() == [clock(0, 0, 0, 1000)]
    with pytest.raises(Exception, match=r"column 's'.*would lose data"):
        write_spark(rows.withColumn("s", F.expr("time'00:00:00.0001'")), table)


@pytest.mark.long
def test_nanoseconds_are_cut_on_request_only(spark, warehouse):
    table = catalog_in(warehouse).create_table("db.t", "k INT, t TIMESTAMP(9), n ARRAY<TIMESTAMP(9)>")
    table.write([{"k": 1, "t": "2024-01-01T00:00:00.000001001", "n": ["2024-01-01T00:00:00.000000999"]}])
    with pytest.raises(Exception, match="Spark stores timestamps in microseconds"):
        read_spark(spark, table).collect()
    spark.dataSource.register(PaimonDataSource)
    source = spark.read.format("paimon").option("warehouse", warehouse).option("timestampsInMicros", "true")
    first = datetime.datetime(2024, 1, 1)
    for found in (read_spark(spark, table, timestamps_in_micros=True), source.load("db.t")):
        assert [tuple(r) for r in found.collect()] == [(1, first.replace(microsecond=1), [first])]


@pytest.mark.long
@pytest.mark.parametrize("keyed", [True, False])
def test_variants_multisets_and_rows_with_not_null_members(spark, warehouse, keyed):
    """Spark's own Parquet reader and tasks in Python return the same values."""
    columns = (
        "k INT, v VARIANT, m MULTISET<STRING>, n ARRAY<VARIANT NOT NULL>, r ROW<a INT NOT NULL>, c CHAR(3) COMMENT 'x'"
    )
    key = {"primary_key": ["k"], "options": {"bucket": "1", "write-only": "true"}} if keyed else {}
    table = catalog_in(warehouse).create_table("db.v", columns, **key)
    rows = spark.sql(
        "SELECT 1 k, parse_json('{\"a\":[1,\"x\"]}') v, map('a', 2) m, array(parse_json('5')) n, "
        "named_struct('a', 1) r, 'abc' c UNION ALL SELECT 2, null, null, null, null, null"
    )
    write_spark(rows, table)
    if keyed:
        write_spark(rows, table)
    assert {s.raw for s in table.scan().splits()} == {not keyed}
    found = read_spark(spark, table).orderBy("k").selectExpr("k", "to_json(v)", "m", "to_json(n[0])", "r.a", "c")
    assert [tuple(r) for r in found.collect()] == [
        (1, '{"a":[1,"x"]}', {"a": 2}, "5", 1, "abc"),
        (2, None, None, None, None, None),
    ]
    copy = catalog_in(warehouse + "2").create_table("db.copy", read_spark(spark, table).schema)
    # Spark's reader of files makes every column nullable.
    found, expected = ([f.type.with_nullable(True) for f in t.schema.fields] for t in (copy, table))
    assert found == expected
    assert copy.schema.by_name["c"].description == "x"
    with pytest.raises(Exception, match="NOT NULL"):
        write_spark(rows.withColumn("m", F.expr("map('a', cast(null AS INT))")), table)


def test_a_write_merges_the_columns_of_its_frame(spark, warehouse):
    table = keyed(warehouse)
    rows = frame(spark, [1, 2], 0, "+I").withColumn("n", F.lit(1)).withColumn("at", F.lit(1))
    write_spark(rows, table, kinds="kind", order_by=["at"], merge_schema=True)
    found = table.refresh()
    assert found.schema.names == [*table.schema.names, "n"]
    assert found.scan(["n"]).to_arrow()["n"].to_pylist() == [1, 1]
    write_spark(rows.drop("kind", "at"), table.alter("DROP COLUMN n"), merge_schema=True)  # of a dropped column
    assert found.refresh().scan(["k", "n"]).to_arrow()["n"].to_pylist() == [1, 1]
    assert found.refresh().schema.by_name["n"].id > found.schema.by_name["n"].id


@pytest.mark.long
def test_a_column_that_is_both_kind_and_order(spark, warehouse):
    table = keyed(warehouse)
    rows = (
        frame(spark, [1], 0, "+I")
        .withColumn("n", F.lit(1))
        .unionByName(frame(spark, [1], 0, "-D").withColumn("n", F.lit(2)))
    )
    write_spark(rows, table, kinds="kind", order_by=["n", "kind"])
    assert table.scan().count() == 0


def test_a_table_that_is_not_write_only_is_compacted_by_its_writers(spark, warehouse):
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "2"}
    table = catalog_in(warehouse).create_table("db.c", SCHEMA, primary_key=["k"], options=options)
    for n in range(3):
        write_spark(frame(spark, range(10), n), table)
    assert max(table.inspect.buckets()["sorted_runs"].to_pylist()) <= 2
    assert "COMPACT" in table.inspect.snapshots()["commit_kind"].to_pylist()
    assert table.scan().count() == 10


def test_spark_reads_files_of_several_schemas(spark, warehouse):
    """Spark's own reader takes the new files, Python tasks the old ones; a task of an old handle loses no column."""
    table = catalog_in(warehouse).create_table(
        "db.e", pa.schema([("k", pa.int64()), ("v", pa.int32())]), options={"write-only": "true"}
    )
    table.write([{"k": 1, "v": 7}])
    altered = table.alter("RENAME COLUMN v TO w, ALTER COLUMN w TYPE STRING, ADD COLUMN v INT DEFAULT 5")
    altered.write([{"k": 2, "w": "x"}])
    expected = [(1, "7", None), (2, "x", 5)]
    assert sorted(tuple(row) for row in read_spark(spark, altered).collect()) == expected
    compact_spark(spark, table, full=True)
    assert {f.schema_id for f in altered.scan().plan.files} == {1}
    assert sorted(tuple(row) for row in read_spark(spark, altered).collect()) == expected


@pytest.mark.long
@pytest.mark.parametrize("key", [[], ["p", "k"]], ids=["append", "keyed"])
def test_deletion_vectors(spark, warehouse, key):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    schema = pa.schema([("p", pa.string()), ("k", pa.int64())])
    options = {"deletion-vectors.enabled": "true", **({"bucket": "1"} if key else {})}
    table = catalog.create_table("db.t", schema, primary_key=key, options=options)
    table.write(pa.table({"p": ["a"] * 3000, "k": range(3000)}, schema=schema))
    table.delete(col("k") < 7)
    assert any(s.vectors for s in table.scan().splits())
    assert read_spark(spark, table).count() == 2993
    compact_spark(spark, table, full=True)
    assert not any(s.vectors for s in table.scan().splits())
    assert sorted(r.k for r in read_spark(spark, table).select("k").collect()) == list(range(7, 3000))


@pytest.mark.long
def test_append_tables_are_sorted_in_tasks(spark, warehouse):
    table = catalog_in(warehouse).create_table("db.t", SCHEMA, partition_by=["p"], options={"write-only": "true"})
    write_spark(frame(spark, [5, 3, 1, 4, 2, 0], 0).repartition(2), table)
    assert sort_compact_spark(spark, table, ["k"], where=col("p") == "p1").snapshot.commit_kind == "COMPACT"
    assert table.scan(where=col("p") == "p1").to_arrow()["k"].to_pylist() == [1, 3, 5]
    assert not sort_compact_spark(spark, table, ["k", "v"], "zorder", where=col("p") == "none")


@pytest.mark.long
def test_a_value_that_does_not_fit_is_an_error_of_this_library(spark, warehouse):
    table = keyed(warehouse)
    rows = frame(spark, range(3), 0)
    with pytest.raises(SchemaMismatch, match="column 'k' is NOT NULL but"):
        write_spark(rows.withColumn("k", F.lit(None).cast("bigint")), table)
    assert table.latest_snapshot() is None


@pytest.mark.long
def test_partitions_with_another_number_of_buckets(spark, warehouse):
    table = keyed(warehouse)
    write_spark(frame(spark, range(40), 0), table)
    write_spark(frame(spark, range(20), 1), table)
    table = table.alter("SET ('bucket' = '3')")
    with pytest.raises(PaimonError, match="was written with 2 buckets: rescale or overwrite"):
        write_spark(frame(spark, range(40, 60), 0), table)
    compact_spark(spark, table, full=True)
    write_spark(frame(spark, range(0, 40, 2), 5), table, overwrite="dynamic")
    before = table.scan().to_arrow()
    table.rescale(where=col("p") == "p1")
    write_spark(frame(spark, [1, 41], 7), table)
    counts = {e.total_buckets for e in table.context.manifests.entries_of(table.latest_snapshot())}
    assert (counts, table.scan().count()) == ({3}, len(before) + 1)
    assert [row.k for row in read_spark(spark, table).filter("k = 5").collect()] == [5]
    same_rows(read_spark(spark, table).toArrow(), table.scan().to_arrow())
