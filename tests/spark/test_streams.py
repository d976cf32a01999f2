"""``format("paimon")`` as source and sink of Structured Streaming: restarts, limits and repeated batches."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles
from pyspark.sql.types import StructType

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import InvalidOption, InvalidRequest, ReadOutdated, SchemaMismatch, UnsupportedFeature
from paimon_core.spark import PaimonDataSource, changes_spark
from paimon_core.spark.streams.sink import PaimonStreamWriter, query_user
from paimon_core.spark.streams.source import Limits, PaimonStreamReader

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


@pytest.fixture
def catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


def create(catalog, name, **options):
    texts = {"bucket": "2", "write-only": "true"} | {key.replace("_", "-"): value for key, value in options.items()}
    return catalog.create_table(f"db.{name}", SCHEMA, primary_key=["k"], options=texts)


def write(table, *keys, value="a"):
    table.write([{"k": k, "v": value} for k in keys])


def pairs(table):
    return sorted((r["k"], r["v"]) for r in table.scan().to_arrow().to_pylist())


def test_from_table_to_table_with_restarts(spark, warehouse, catalog, tmp_path):
    """A query that stops and starts again returns each change once, and a repeated batch is committed once."""
    spark.dataSource.register(PaimonDataSource)
    source, sink = create(catalog, "s", changelog_producer="input"), create(catalog, "t")
    place = str(tmp_path / "checkpoint")

    def run():
        options = {"warehouse": warehouse, "read.changelog": "true", "consumer-id": "job"}
        rows = spark.readStream.format("paimon").options(**options).load("db.s")
        writer = rows.writeStream.format("paimon").option("warehouse", warehouse).option("kinds", "rowkind")
        query = writer.option("checkpointLocation", place).trigger(availableNow=True).start("db.t")
        query.awaitTermination()

    write(source, 1, 2, 3)
    run()
    assert pairs(sink) == [(1, "a"), (2, "a"), (3, "a")]
    assert [c.next_snapshot for c in source.maintenance.consumers()] == [2]
    for name in ("0", ".0.crc"):  # as if the query had ended between the commit of its batch and this note of it
        (tmp_path / "checkpoint" / "commits" / name).unlink()
    write(source, 1, value="b")
    deleted = pa.table({"k": [2], "v": [None], "kind": ["-D"]}, pa.schema([*SCHEMA, ("kind", pa.string())]))
    source.write(deleted, kinds="kind")
    run()
    assert pairs(sink) == pairs(source) == [(1, "b"), (3, "a")]
    committed = [s.commit_identifier for s in map(sink.context.snapshots.read, sink.context.snapshots.ids())]
    assert committed == [0, 1]
    assert [c.next_snapshot for c in source.maintenance.consumers()] == [4]
    changes = changes_spark(spark, source, 1, columns=["k"])
    assert sorted(map(tuple, changes.collect())) == [(2, "+I", 1), (3, "-D", 2)]
    assert changes_spark(spark, source, 3).columns == ["_snapshot_id", "rowkind", "k", "v"]


def walk(reader, start, limit):
    """The ends of the batches, and the number of partitions of each."""
    found = []
    while (end := reader.latestOffset(start, limit)) != start:
        end = json.loads(json.dumps(end))
        found.append((end["next_snapshot"], end.get("index", 0), len(reader.partitions(start, end))))
        start = end
    return found


def test_offsets_limits_and_replays(catalog):
    table = create(catalog, "s")
    write(table, *range(8))
    columns = ["k", "v"]
    reader = PaimonStreamReader(table, columns, Limits(files=1), kinds=False)
    start = reader.initialOffset()
    write(table, *range(8, 16))
    table.compact(full=True)
    write(table, *range(16, 20))
    assert walk(reader, start, ReadAllAvailable()) == [(5, 0, 5)]
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxFiles(1)
    ends = walk(reader, start, limit)
    assert ends == [(1, 1, 1), (2, 0, 1), (2, 1, 1), (4, 0, 1), (5, 0, 1)]
    rows = PaimonStreamReader(table, columns, Limits(rows=8), kinds=False)
    assert [count for _, _, count in walk(rows, start, rows.getDefaultReadLimit())] == [2, 2, 1]
    half, end = reader.latestOffset(start, limit), reader.latestOffset(start, ReadAllAvailable())
    again = PaimonStreamReader(table, columns, Limits(), kinds=False)
    assert [p.unit for p in again.partitions(start, end)] == [
        *(p.unit for p in reader.partitions(start, half)),
        *(p.unit for p in reader.partitions(half, end)),
    ]
    total = sum(len(batch) for part in again.partitions(start, end) for batch in again.read(part))
    assert total == 20
    bounded = PaimonStreamReader(table, columns, Limits(), kinds=False)
    bounded.prepareForTriggerAvailableNow()
    write(table, 99)
    assert bounded.latestOffset(start, ReadAllAvailable())["next_snapshot"] == 5
    table.rollback(snapshot=2)
    write(table, 50)
    write(table, 51)
    with pytest.raises(ReadOutdated):
        PaimonStreamReader(table, columns, Limits(), kinds=False).partitions(start, end)


def test_an_available_batch_after_a_rollback_is_refused_and_is_not_empty(catalog):
    """With the trigger availableNow, a table that has fewer snapshots than the query has read is an error, too."""
    table = create(catalog, "s")
    for key in range(4):
        write(table, key)
    end = PaimonStreamReader(table, ["k"], Limits(), kinds=False).initialOffset()
    start = PaimonStreamReader(table, ["k"], Limits(), kinds=False).latestOffset(end, ReadAllAvailable())
    table.rollback(snapshot=2)
    reader = PaimonStreamReader(table, ["k"], Limits(), kinds=False)
    reader.prepareForTriggerAvailableNow()
    with pytest.raises(ReadOutdated, match=r"table db\.s was rolled back: snapshot 4"):
        reader.latestOffset(start, ReadAllAvailable())


def test_an_overwrite_is_told_by_place(spark, warehouse, catalog):
    """Each changed bucket is a partition; tasks compare its files before and after the overwrite."""
    table = create(catalog, "s", changelog_producer="input")
    write(table, *range(8))
    reader = PaimonStreamReader(table, ["k", "v"], Limits(files=1), kinds=True)
    start = reader.initialOffset()
    start = reader.latestOffset(start, ReadAllAvailable())
    table.overwrite([{"k": k, "v": "b" if k == 1 else "a"} for k in range(1, 8)])
    assert [count for _, _, count in walk(reader, start, reader.getDefaultReadLimit())] == [1, 1]
    end = reader.latestOffset(start, ReadAllAvailable())
    batches = [b for part in reader.partitions(start, end) for b in reader.read(part)]
    rows = sorted(tuple(r.values()) for b in batches for r in b.to_pylist())
    assert rows == [("+U", 1, "b"), ("-D", 0, "a"), ("-U", 1, "a")]
    told = changes_spark(spark, table, 1, where=col("v") == "a")
    assert sorted(map(tuple, told.collect())) == [(2, "-D", 0, "a"), (2, "-U", 1, "a")]


def test_rows_to_remove_need_the_column_of_kinds(catalog):
    table = create(catalog, "s")
    reader = PaimonStreamReader(table, ["k"], Limits(), kinds=False)
    start = reader.initialOffset()
    table.write(pa.table({"k": [1], "v": ["a"], "kind": ["-D"]}), kinds="kind")
    parts = reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))
    with pytest.raises(UnsupportedFeature, match=r"rows of kind -D.*read\.changelog"):
        list(reader.read(parts[0]))


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_batch_is_committed_once(catalog, tmp_path, overwrite):
    table = create(catalog, "t")

    def batch(number, key):
        writer = PaimonStreamWriter(table, None, "query", overwrite=overwrite)
        messages = [writer.write(iter([pa.record_batch({"k": [key], "v": ["a"]})])), None]
        writer.commit(messages, number)
        writer.abort(messages, number)

    for number, key in ((0, 1), (0, 1), (1, 2), (1, 2)):
        batch(number, key)
    assert pairs(table) == ([(2, "a")] if overwrite else [(1, "a"), (2, "a")])
    assert table.context.snapshots.ids() == [1, 2]
    assert len(list(tmp_path.rglob("bucket-*/data-*"))) == 2
    assert table.maintenance.check(deep=True).findings == ()


def test_the_user_of_a_query(tmp_path):
    with pytest.raises(InvalidOption, match=r"commit\.user"):
        query_user({}, "db.t")
    with pytest.raises(InvalidOption, match=r"commit\.user"):
        query_user({"checkpointLocation": str(tmp_path)}, "db.t")
    (tmp_path / "metadata").write_text('{"id": "abc"}')
    assert query_user({"checkpointLocation": f"file:{tmp_path}"}, "db.t") == "spark-abc"
    assert query_user({"commit.user": "me", "checkpointLocation": "s3://x"}, "db.t") == "me"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"read.stream.maxFilesPerTrigger": "0"}, InvalidOption),
        ({"read.stream.minRowsPerTrigger": "5"}, InvalidOption),
        ({"snapshot": "1"}, InvalidOption),
        ({"read.changelog": "maybe"}, Exception),
        ({"on.overwrite": "added"}, UnsupportedFeature),
        ({"columns": "k, k"}, InvalidRequest),
        ({"columns": ""}, SchemaMismatch),
    ],
)
def test_options_that_are_refused(warehouse, catalog, options, error):
    create(catalog, "s")
    source = PaimonDataSource({"warehouse": warehouse, "path": "db.s", **options})
    with pytest.raises(error):
        source.streamReader(None)
    with pytest.raises(SchemaMismatch, match="no column 'kind' in the data"):
        PaimonDataSource({"warehouse": warehouse, "path": "db.s", "kinds": "kind", "commit.user": "u"}).streamWriter(
            StructType().add("k", "long"), False
        )
    with pytest.raises(InvalidOption):
        PaimonDataSource({"warehouse": warehouse, "path": "db.s", "mergeSchema": "true"}).streamWriter(None, False)


@pytest.mark.parametrize("bucket", ["-1", "-2"])
def test_batches_go_to_dynamic_and_postponed_buckets_once(spark, catalog, bucket):
    """The driver places the rows of a batch; a repeated batch adds nothing and leaves no file."""
    table = create(catalog, "t", bucket=bucket)
    writer = PaimonStreamWriter(table, None, "query", overwrite=False)

    def batch(number, *keys):
        rows = pa.RecordBatch.from_pylist([{"k": k, "v": f"b{number}"} for k in keys], SCHEMA)
        messages = [writer.write(iter([rows.slice(n, 1)])) for n in range(len(rows))]
        writer.commit(messages, number)

    batch(0, 1, 2, 3)
    batch(1, 3, 4)
    files = sorted(map(str, Path(table.context.paths.root).rglob("bucket-*/*")))
    batch(1, 3, 4)
    assert pairs(table) == [(1, "b0"), (2, "b0"), (3, "b1"), (4, "b1")]
    assert sorted(map(str, Path(table.context.paths.root).rglob("bucket-*/*"))) == files
