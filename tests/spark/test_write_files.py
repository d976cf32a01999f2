"""write_files_spark: rows of files are written once, in the order of the files, on all kinds of buckets."""

import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.spark import message_tasks, write_files_spark
from paimon_core.spark.writes import file_writer

SCHEMA = pa.schema([pa.field("p", pa.int32(), False), pa.field("k", pa.int64(), False), ("v", pa.string())])


def create(warehouse, name="t", keyed=True, **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    texts = {key.replace("_", "-"): value for key, value in options.items()}
    key = ["p", "k"] if keyed else []
    return catalog.create_table(f"db.{name}", SCHEMA, primary_key=key, partition_by=["p"], options=texts)


def rows(keys, value):
    return pa.table({"p": [k % 3 for k in keys], "k": list(keys), "v": [value] * len(keys)}, SCHEMA)


@pytest.fixture
def folder(tmp_path):
    """Three files; the keys 5 to 9 are in the first and the second file."""
    (tmp_path / "in").mkdir()
    for name, table in {"a": rows(range(10), "a"), "b": rows(range(5, 15), "b"), "c": rows(range(20, 25), "c")}.items():
        pq.write_table(table, tmp_path / "in" / f"{name}.parquet")
    return str(tmp_path / "in")


EXPECTED = sorted([(k, "a") for k in range(5)] + [(k, "b") for k in range(5, 15)] + [(k, "c") for k in range(20, 25)])


def pairs(table):
    return sorted((row["k"], row["v"]) for row in table.scan().to_arrow().to_pylist())


def data_files(table):
    return sorted(str(path) for path in Path(table.context.paths.root).rglob("bucket-*/*"))


@pytest.mark.parametrize("bucket", ["2", "-1", "-2"])
def test_of_equal_keys_the_row_of_the_later_file_is_the_newest(spark, warehouse, folder, bucket):
    table = create(warehouse, bucket=bucket)
    snapshot = write_files_spark(spark, table, folder, "parquet", user="load", identifier=3, tasks=3)
    assert pairs(table) == EXPECTED
    again = write_files_spark(spark, table, folder, "parquet", user="load", identifier=3)
    assert (again.id, table.latest_snapshot().id) == (snapshot.id, snapshot.id)
    assert snapshot.commit_kind.name == "APPEND"


def test_an_overwrite_replaces_the_partitions_of_the_rows(spark, warehouse, folder):
    table = create(warehouse, keyed=False)
    table.write(rows([1, 2, 3], "old"))
    write_files_spark(
        spark, table, f"{folder}/c.parquet", "parquet", columns=["p", "k"], where="p > 1", overwrite="dynamic"
    )
    assert pairs(table) == [(1, "old"), (3, "old"), (20, None), (23, None)]


@pytest.mark.parametrize("bucket", ["2", "-1"])
def test_a_wrong_row_refuses_the_whole_write(spark, warehouse, folder, bucket):
    table = create(warehouse, bucket=bucket)
    Path(folder, "d.csv").write_text("p,k,v\n1,1,x\n1,y,x\n")
    pyarrow.csv.write_csv(rows(range(100), "x"), f"{folder}/e.csv")
    with pytest.raises(SchemaMismatch, match=r"d\.csv, line 3: .*'y'"):
        write_files_spark(spark, table, [f"{folder}/e.csv", f"{folder}/d.csv"], "csv", tasks=2)
    assert table.latest_snapshot() is None
    assert data_files(table) == []


def test_wrong_requests_start_no_job(spark, warehouse, folder, monkeypatch):
    monkeypatch.setattr(file_writer, "collect_tasks", None)
    table = create(warehouse, bucket="2")
    for arguments, message in [
        ({"format": "xml"}, "'xml' is not one of"),
        ({"columns": ["p", "k", "q"]}, "has no column 'q'"),
        ({"columns": ["p"]}, "'k' is NOT NULL"),
        ({"where": "q = 1"}, "'q'"),
        ({"tasks": 0}, "at least 1"),
        ({"overwrite": "all"}, "dynamic"),
        ({"identifier": 1}, "user"),
        ({"options": {"header": True}}, "not an option of parquet"),
        ({"storage": {"s3.region": "x"}}, "not supported for file"),
    ]:
        with pytest.raises(InvalidRequest, match=message):
            write_files_spark(spark, table, folder, **{"format": "parquet"} | arguments)


def test_a_commit_in_between_keeps_its_rows(spark, warehouse, folder, monkeypatch):
    """Rows that are committed after the tasks have read the table's state stay, and are older than the files' rows."""
    table = create(warehouse, bucket="2")
    collect = file_writer.collect_tasks

    def late(*arguments):
        answers = collect(*arguments)
        table.write(rows([5, 77], "between"))
        return answers

    monkeypatch.setattr(file_writer, "collect_tasks", late)
    write_files_spark(spark, table, folder, "parquet", tasks=2)
    assert pairs(table) == [*EXPECTED, (77, "between")]


def test_spark_tasks_compact_after_the_write_and_their_failure_is_logged(spark, warehouse, folder, monkeypatch, caplog):
    table = create(warehouse, bucket="1")
    table = table.with_options({"num-sorted-run.compaction-trigger": "2"})
    used = []
    collect = message_tasks.collect_tasks

    def counted(session, payloads, *rest):
        used.append(len(payloads))
        return collect(session, payloads, *rest)

    monkeypatch.setattr(message_tasks, "collect_tasks", counted)
    for _ in range(2):
        write_files_spark(spark, table, f"{folder}/a.parquet", "parquet")
    assert used == [3]
    assert table.latest_snapshot().commit_kind.name == "COMPACT"

    def broken(session, payloads, *rest):
        return collect(session, payloads, lambda payload: 1 / 0, *rest[1:])

    monkeypatch.setattr(message_tasks, "collect_tasks", broken)
    with caplog.at_level(logging.WARNING):
        snapshot = write_files_spark(spark, table, f"{folder}/b.parquet", "parquet")
    assert snapshot.id == table.latest_snapshot().id
    assert snapshot.commit_kind.name == "APPEND"
    assert "failed in Spark" in caplog.text
    assert pairs(table) == [p for p in EXPECTED if p[1] != "c"]
