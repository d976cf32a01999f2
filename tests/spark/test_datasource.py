"""``format("paimon")``, and the bug of Spark 4.3.0 because of which it does not push filters down."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, InputPartition

import paimon_core as paimon
from paimon_core.spark import PaimonDataSource, read_spark, write_spark


@pytest.fixture
def table(spark, warehouse):
    spark.dataSource.register(PaimonDataSource)
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog.create_table(
        "db.t",
        pa.schema([("k", pa.int64()), ("v", pa.string())]),
        primary_key=["k"],
        options={"bucket": "2", "write-only": "true"},
    )


def load(spark, warehouse, **options):
    return spark.read.format("paimon").option("warehouse", warehouse).options(**options).load("db.t")


def test_write_and_read(spark, warehouse, table):
    frame = spark.createDataFrame([(k, f"v{k}") for k in range(10)], "k bigint, v string")
    writer = frame.write.format("paimon").option("warehouse", warehouse)
    writer.mode("append").save("db.t")
    assert load(spark, warehouse).count() == 10
    frame.where("k < 3").write.format("paimon").option("warehouse", warehouse).mode("overwrite").save("db.t")
    assert sorted(r.v for r in load(spark, warehouse).collect()) == ["v0", "v1", "v2"]
    assert load(spark, warehouse, snapshot="1").count() == 10
    assert load(spark, warehouse, columns="v").columns == ["v"]
    whole = load(spark, warehouse)
    assert whole.where("k = 1").unionAll(whole).count() == 4
    assert load(spark, warehouse).where("v = 'v2'").collect()[0].k == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dynamic", {"bucket": "-1", "dynamic-bucket.target-row-num": "10"}),
        pytest.param("cross", {"bucket": "-1"}, marks=pytest.mark.long),
        pytest.param("fixed", {"bucket": "-2"}, marks=pytest.mark.long),
        ("waiting", {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}),
    ],
)
def test_every_bucket_mode(spark, warehouse, tmp_path, name, options):
    spark.dataSource.register(PaimonDataSource)
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    schema = pa.schema([("p", pa.int64()), ("k", pa.int64()), ("v", pa.string())])
    key = ["k"] if name == "cross" else ["p", "k"]
    table = catalog.create_table("db.t", schema, primary_key=key, partition_by=["p"], options=options)

    def save(first, last, value, mode="append"):
        frame = spark.range(first, last, 1, 3).selectExpr("id % 2 p", "id k", f"'{value}' v")
        frame.write.format("paimon").option("warehouse", warehouse).mode(mode).save("db.t")

    save(0, 60, "a")
    save(30, 90, "b")
    if name == "waiting":
        assert table.scan().count() == 0
        table.compact()
    assert sorted(r["v"] for r in table.scan(["k", "v"]).to_arrow().to_pylist()) == ["a"] * 30 + ["b"] * 60
    if name in ("dynamic", "fixed"):
        save(0, 10, "c", mode="overwrite")
        assert table.scan().count() == 10
        assert not list(tmp_path.rglob("bucket-postpone/*.*"))
    assert table.maintenance.check(deep=True).findings == ()


@pytest.mark.long
def test_a_write_merges_the_columns_of_its_data(spark, warehouse, table):
    def write(sql, **options):
        frame = spark.sql(sql)
        frame.write.format("paimon").option("warehouse", warehouse).options(**options).mode("append").save("db.t")

    write("SELECT 1L k, 'a' v, named_struct('x', 1) r, '+I' op", mergeSchema="true", kinds="op")
    merge = {"write.merge-schema": "true"}
    widen = merge | {"write.merge-schema.type-widening": "true"}
    write("SELECT 2L k, named_struct('x', 5000000000L, 'y', true) r", **widen)
    with pytest.raises(Exception, match="old values could lose information"):
        write("SELECT 3L k, named_struct('x', 'text') r", **widen)
    write("SELECT 3L k, named_struct('x', 'text') r", **widen, **{"write.merge-schema.explicit-cast": "true"})
    assert [f.type.sql for f in table.refresh().schema.fields] == [
        "BIGINT NOT NULL",
        "STRING",
        "ROW<x STRING, y BOOLEAN>",
    ]
    found = load(spark, warehouse).orderBy("k").selectExpr("k", "v", "r.x", "r.y").collect()
    assert [tuple(r) for r in found] == [(1, "a", "1", None), (2, None, "5000000000", True), (3, None, "text", None)]
    with pytest.raises(Exception, match="no column 'more'"):
        write("SELECT 3L k, 1 more", mergeSchema="false")
    with pytest.raises(Exception, match="has no effect without"):
        write("SELECT 3L k", **{"write.merge-schema.explicit-cast": "true"})
    with pytest.raises(Exception, match="contradict"):
        write("SELECT 3L k", mergeSchema="false", **merge)


@pytest.mark.long
def test_system_tables(spark, warehouse, table):
    for n in range(2):
        table.write([{"k": k, "v": f"v{n}"} for k in range(10)])
    table.compact(full=True)
    table.write(pa.table({"k": [3], "v": [None]}, schema=table.arrow_schema), kinds=pa.array(["-D"]))
    ids = paimon.open_catalog(warehouse).create_table("db.r", "x INT", options={"row-tracking.enabled": "true"})
    ids.write([{"x": 7}])

    def read(path, **options):
        return spark.read.format("paimon").option("warehouse", warehouse).options(**options).load(path)

    columns = ("file_name", "level", "creation_time", "write_cols")
    files = table.system("files", columns).to_arrow().to_pylist()
    found = read("db.t$files", columns=",".join(columns)).collect()
    assert sorted(map(tuple, found)) == sorted(tuple(row.values()) for row in files)
    assert read("db.t$snapshots", columns="snapshot_id").count() == 4
    assert sorted(r.k for r in read("db.t$audit_log").where("rowkind = '-D'").collect()) == [3]
    assert {(r.rowkind, tuple(r.v)) for r in read("db.t$binlog").where("array_contains(k, 1)").collect()} == {
        ("+I", ("v1",))
    }
    assert sorted(r.k for r in read("db.t$ro").collect()) == list(range(10))
    assert read("db.t$ro", snapshot="2").count() == 0
    assert [tuple(r) for r in read("db.r$row_tracking").collect()] == [(7, 0, 1)]
    assert sorted(r.table_name for r in read("sys.tables").collect()) == ["r", "t"]
    assert read("db.t$tags").count() == 0
    with pytest.raises(Exception, match="no system table 'nosuch'; its system tables are aggregation_fields"):
        read("db.t$nosuch").count()
    with pytest.raises(Exception, match="'snapshot' is not supported"):
        read("sys.tables", snapshot="2").count()
    with pytest.raises(Exception, match="'timestampsinmicros' is not supported"):
        read("db.t$audit_log", timestampsInMicros="true").count()
    writer = spark.createDataFrame([(1,)], "k bigint").write.format("paimon").option("warehouse", warehouse)
    with pytest.raises(Exception, match="can only be read"):
        writer.mode("append").save("db.t$files")


@pytest.mark.long
def test_changes_between_versions(spark, warehouse, table):
    table.write([{"k": k, "v": "a"} for k in range(3)])
    table.write(pa.table({"k": [1, 2], "v": ["b", None]}, schema=table.arrow_schema), kinds=pa.array(["+I", "-D"]))

    def rows(path="db.t", **options):
        reader = spark.read.format("paimon").option("warehouse", warehouse).options(**options)
        return sorted(tuple(row) for row in reader.load(path).collect())

    logged, range_ = {"read.changelog": "true"}, {"incremental-between": "1,2"}
    written = [("+I", 1, "b"), ("-D", 2, None)]
    assert rows(**logged, **range_) == rows("db.t$audit_log", **range_) == written
    difference = [("+U", 1, "b"), ("-D", 2, "a"), ("-U", 1, "a")]
    assert rows(**logged, **range_, **{"incremental-between-scan-mode": "diff"}) == difference
    assert rows("db.t$binlog", **range_, **{"incremental-between-scan-mode": "diff"}) == [
        ("+U", [1, 1], ["a", "b"]),
        ("-D", [2], ["a"]),
    ]
    assert rows(**logged) == [("+I", 0, "a"), *written]
    assert rows(**logged, columns="k") == [("+I", 0), ("+I", 1), ("-D", 2)]
    with pytest.raises(Exception, match=r"options incremental-\* need read\.changelog = true"):
        rows(**range_)


def test_options_of_the_table_count_in_spark(spark, warehouse, table):
    spark.dataSource.register(PaimonDataSource)
    schema = {"p": "STRING", "k": "BIGINT"}
    options = {"scan.ignore-lost-files": "true", "end-input.watermark": "77", "read.allow.fullScan": "false"}
    parted = paimon.open_catalog(warehouse).create_table("db.o", schema, partition_by=["p"], options=options)
    write_spark(spark.createDataFrame([("a", 1), ("b", 2), ("b", 3)], "p string, k bigint"), parted)
    assert parted.latest_snapshot().watermark == 77
    with pytest.raises(paimon.InvalidRequest, match=r"read\.allow\.fullScan = false"):
        read_spark(spark, parted)
    assert sorted(row.k for row in read_spark(spark, parted, where=paimon.col("p") == "b").collect()) == [2, 3]
    everything = parted.with_options({"read.allow.fullScan": True})
    for file in Path(parted.context.paths.root, "p=a").rglob("data-*"):
        file.unlink()
    assert sorted(row.k for row in read_spark(spark, everything).collect()) == [2, 3]
    parted.alter("RESET ('read.allow.fullScan')")
    found = spark.read.format("paimon").option("warehouse", warehouse).load("db.o").collect()
    assert sorted(row.k for row in found) == [2, 3]


@pytest.mark.parametrize(
    ("options", "word"),
    [({"mergeschema": "true"}, "mergeschema"), ({"snapshot": "x"}, "snapshot"), ({"tag": "no"}, "tag")],
)
def test_options_that_are_not_obeyed_are_refused(spark, warehouse, table, options, word):
    with pytest.raises(Exception, match=word):
        load(spark, warehouse, **options).count()


def test_a_missing_warehouse_option_is_named(spark, table):
    with pytest.raises(Exception, match="option warehouse"):
        spark.read.format("paimon").load("db.t").count()


class PushingReader(DataSourceReader):
    """A reader that applies pushed filters, as Spark's documentation suggests."""

    def __init__(self):
        self.wanted = None

    def pushFilters(self, filters):
        for f in filters:
            if isinstance(f, EqualTo):
                self.wanted = f.value
            yield f

    def partitions(self):
        return [InputPartition(0)]

    def read(self, partition):
        keys = range(10) if self.wanted is None else [self.wanted]
        yield pa.record_batch({"id": pa.array(keys, pa.int32())})


class PushingSource(DataSource):
    @classmethod
    def name(cls):
        return "pushing"

    def schema(self):
        return "id int"

    def reader(self, schema):
        return PushingReader()


@pytest.mark.long
def test_pushed_filters_leak_into_other_reads_in_this_spark(spark):
    """When this test fails, Spark has fixed the bug: ``spark/datasource.py`` may then use ``pushFilters``."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        spark.dataSource.register(PushingSource)
        frame = spark.read.format("pushing").load()
        assert frame.where("id = 3").count() == 1
        assert frame.count() == 1, "ten rows would be right"
        assert not hasattr(PaimonDataSource, "pushFilters")
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
