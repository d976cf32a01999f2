"""write_stream_spark: batches in mode append and update reach buckets of every mode exactly once."""

import json

import pytest
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.spark import write_stream_spark
from paimon_core.spark.streams import upserts

COLUMNS = {"k": "BIGINT", "n": "BIGINT"}


@pytest.fixture
def catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


@pytest.fixture
def landing(spark, tmp_path):
    """A function that adds a file of keys, and one that returns the stream of all files."""
    folder = tmp_path / "landing"
    folder.mkdir()

    def add(name, *keys):
        (folder / name).write_text("".join(json.dumps({"k": k}) + "\n" for k in keys))

    return add, lambda: spark.readStream.schema("k bigint").option("maxFilesPerTrigger", 1).json(str(folder))


def played(frame, table, place, **options):
    writer = write_stream_spark(frame, table, checkpoint=str(place), **options)
    writer.trigger(availableNow=True).start().awaitTermination()


def pairs(table):
    return sorted((r["k"], r["n"]) for r in table.refresh().scan().to_arrow().to_pylist())


def identifiers(table):
    found = [table.context.snapshots.read(at) for at in table.context.snapshots.ids()]
    return [(s.commit_user, s.commit_identifier) for s in found if s.commit_kind != "COMPACT"]


@pytest.mark.long
@pytest.mark.parametrize("bucket", ["2", "-1", "-2"])
def test_counts_are_updated_exactly_once_over_restarts(spark, catalog, landing, tmp_path, bucket):
    add, stream = landing
    table = catalog.create_table("db.t", COLUMNS, primary_key=["k"], options={"bucket": bucket, "write-only": "true"})

    def run():
        played(stream().groupBy("k").agg(F.count("*").alias("n")), table.refresh(), tmp_path / "place", mode="update")

    add("1", 1, 2, 2)
    add("2", 2, 3)
    run()
    assert pairs(table) == [(1, 1), (2, 3), (3, 1)]
    first = identifiers(table)
    assert [number for _, number in first] == [0, 1]
    for name in ("1", ".1.crc"):  # as if the driver had ended between the commit of a batch and the note of it
        (tmp_path / "place" / "commits" / name).unlink()
    add("3", 1)
    run()
    assert pairs(table) == [(1, 2), (2, 3), (3, 1)]
    assert identifiers(table) == [*first, (first[0][0], 2)]
    assert not table.maintenance.check(deep=True).findings


def test_a_batch_that_failed_after_its_commit_is_not_repeated(spark, catalog, landing, tmp_path, monkeypatch):
    add, stream = landing
    table = catalog.create_table("db.t", COLUMNS)
    written = upserts.write_spark

    def then_fail(*arguments, **options):
        written(*arguments, **options)
        raise RuntimeError("the driver ends")

    add("1", 1, 2)
    rows = stream().selectExpr("k", "k * 2 AS n")
    monkeypatch.setattr(upserts, "write_spark", then_fail)
    with pytest.raises(Exception, match="the driver ends"):
        played(rows, table, tmp_path / "place", user="me")
    monkeypatch.undo()
    played(rows, table, tmp_path / "place", user="me")
    assert pairs(table) == [(1, 2), (2, 4)]
    assert identifiers(table) == [("me", 0)]


def test_what_is_refused(spark, catalog, landing, tmp_path):
    _, stream = landing
    rows, place = stream().selectExpr("k", "k AS n"), str(tmp_path / "place")
    summed = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
    append = catalog.create_table("db.append", COLUMNS)
    keyed = catalog.create_table("db.keyed", COLUMNS, primary_key=["k"])
    summing = catalog.create_table("db.summing", COLUMNS, primary_key=["k"], options=summed)
    for table, frame, options, kind, message in (
        (append, rows, {"mode": "update"}, InvalidRequest, "table db.append has no primary key"),
        (summing, rows, {"mode": "update"}, InvalidRequest, "merge-engine = aggregation"),
        (keyed, rows, {"mode": "complete"}, InvalidRequest, "one of append, update, not 'complete'; format"),
        (keyed, spark.range(1), {}, InvalidRequest, "takes a streaming DataFrame: use write_spark"),
        (keyed, rows.withColumn("x", F.lit(1)), {}, SchemaMismatch, "x"),
        (keyed, rows, {"checkpoint": ""}, InvalidRequest, "checkpoint is the directory"),
        (keyed, rows, {"user": ""}, InvalidRequest, "a commit user must be text that is not blank"),
        (keyed, rows, {"user": "a/b"}, InvalidRequest, "must not contain '/'"),
        (keyed, rows, {"kinds": "kind"}, SchemaMismatch, "no column 'kind' in the data; its columns are k, n"),
    ):
        with pytest.raises(kind, match=message):
            write_stream_spark(frame, table, **{"checkpoint": place} | options)
