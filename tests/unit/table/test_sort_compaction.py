"""Sort compaction: the order of the rows, the bound of memory, and commits that come in between."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.compact import compactor, external_sort
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import CommitConflict, InvalidRequest, SchemaMismatch, StorageError
from paimon_core.write.spill import SpillSpace

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("d", pa.float64()), ("v", pa.string())])
FAST = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "2 ms", "write-only": "true"}


def make(warehouse, *, primary_key=(), **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    return catalog.create_table(
        "db.t", SCHEMA, partition_by=["p"], primary_key=list(primary_key), options=FAST | options
    )


def rows(keys, p="a"):
    keys = list(keys)
    doubles = [float(k % 10) for k in keys]
    return pa.table({"p": [p] * len(keys), "k": keys, "d": doubles, "v": [f"v{k}" for k in keys]}, schema=SCHEMA)


def keys(table, **scan):
    return table.scan(**scan).to_arrow()["k"].to_pylist()


def shuffled(count):
    return np.random.default_rng(7).permutation(count).tolist()


@pytest.mark.parametrize("strategy", ["order", "zorder", "hilbert"])
def test_rows_of_each_partition_are_sorted_and_no_row_changes(warehouse, strategy):
    table = make(warehouse)
    table.write(rows(shuffled(1000)[:600]))
    table.write(rows(shuffled(1000)[600:]))
    table.write(rows([5, 3], p="b"))
    before = table.scan().to_arrow().sort_by([("p", "ascending"), ("k", "ascending")])
    done = table.sort_compact(["k", "d"], strategy, where=col("p") == "a").snapshot
    assert (done.commit_kind, done.id) == ("COMPACT", 4)
    assert keys(table, where=col("p") == "b") == [5, 3]
    sorted_keys = keys(table, where=col("p") == "a")
    assert (sorted_keys == sorted(sorted_keys)) == (strategy == "order")
    near = np.abs(np.diff(sorted_keys)).mean()
    assert near < 150 < np.abs(np.diff(shuffled(1000))).mean()
    assert table.scan().to_arrow().sort_by([("p", "ascending"), ("k", "ascending")]) == before
    assert not table.maintenance.check(deep=True).findings


def test_nulls_come_first_and_nan_last(warehouse):
    table = make(warehouse)
    values = [math.nan, 1.0, None, -0.0, -math.inf, math.inf, 0.0, -1.5]
    table.write(pa.table({"p": ["a"] * 8, "k": range(8), "d": values, "v": [None] * 8}, schema=SCHEMA))
    table.sort_compact(["d", "k"])
    assert keys(table) == [2, 4, 7, 3, 6, 1, 5, 0]


@pytest.mark.parametrize("strategy", ["order", "zorder"])
def test_more_rows_than_the_buffer_are_merged_from_disk(warehouse, monkeypatch, strategy):
    for name, size in (("_BATCH_BYTES", 4096), ("_PIECE_BYTES", 20_000), ("BATCH_BYTES", 30_000)):
        monkeypatch.setattr(external_sort, name, size)
    table = make(warehouse, **{"write-buffer-size": "100 kb", "target-file-size": "3 kb"})
    for start in range(0, 12000, 2000):
        table.write(rows(shuffled(12000)[start : start + 2000]))
    runs, put = [], SpillSpace.put
    monkeypatch.setattr(SpillSpace, "put", lambda *arguments: runs.append(put(*arguments)) or runs[-1])
    table.sort_compact(["k"], strategy)
    assert len(runs) >= 3
    assert keys(table) == list(range(12000))
    assert len(table.scan().plan.files) > 1


def test_more_rows_than_the_buffer_without_disk_are_refused(warehouse):
    table = make(warehouse, **{"write-buffer-size": "10 kb", "write-buffer-spillable": "false"})
    for _ in range(2):
        table.write(rows(range(2000)))
    files = table.inspect.files()
    with pytest.raises(StorageError, match="write-buffer-spillable = false"):
        table.sort_compact(["k"])
    assert table.inspect.files() == files


@pytest.mark.parametrize("vectors", ["false", "true"])
@pytest.mark.parametrize("rival", ["append", "delete", "compaction"])
def test_a_commit_in_between_is_neither_lost_nor_undone(warehouse, vectors, rival):
    table = make(warehouse, **{"deletion-vectors.enabled": vectors})
    for keys_of_file in ([3, 1], [2, 0]):
        table.write(rows(keys_of_file))
    table.write(rows([9, 8], p="b"))
    rivals = {
        "append": lambda: table.write(rows([7])),
        "delete": lambda: table.delete((col("k") == 3) & (col("p") == "a")),
        "compaction": lambda: table.compact(full=True),
    }

    def work(context, tasks):
        messages = compactor.run_tasks(context, [CompactionTask.from_bytes(t.to_bytes()) for t in tasks])
        rivals[rival]()
        return messages

    table.sort_compact(["k"], work=work)
    expected = {"append": [0, 1, 2, 3, 7], "delete": [0, 1, 2], "compaction": [0, 1, 2, 3]}[rival]
    found = keys(table, where=col("p") == "a")
    assert sorted(found) == expected
    assert ([k for k in found if k != 7] == [0, 1, 2, 3]) == (rival == "append")
    assert keys(table, where=col("p") == "b") == [8, 9]


def test_a_sort_of_files_that_another_commit_removed_is_a_conflict(warehouse):
    table = make(warehouse)
    table.write(rows([2, 1]))

    def work(context, tasks):
        messages = compactor.run_tasks(context, tasks)
        table.delete(col("k") == 1)
        return messages

    with pytest.raises(CommitConflict):
        table.sort_compact(["k"], work=work)
    assert keys(table) == [2]
    assert len(list(Path(warehouse).rglob("data-*"))) == 2  # the sorted file is deleted


def test_deleted_rows_stay_deleted_and_their_vectors_go(warehouse):
    table = make(warehouse, **{"deletion-vectors.enabled": "true"})
    table.write(rows([3, 1, 2]))
    table.delete(col("k") == 1)
    table.sort_compact(["k"])
    assert keys(table) == [2, 3]
    assert table.latest_snapshot().index_manifest is None


@pytest.mark.parametrize(
    ("columns", "strategy", "error", "rule"),
    [
        (["k"], "spiral", InvalidRequest, "not one of order, zorder, hilbert"),
        ([], "order", InvalidRequest, "at least one column"),
        ("k", "order", InvalidRequest, "a list of at least one column"),
        (["x"], "order", SchemaMismatch, "no column 'x'"),
        (["k", "k"], "order", InvalidRequest, "'k' of order_by occurs twice"),
        (["p"], "order", InvalidRequest, "'p' of order_by is a partition column"),
        (["k"], "hilbert", InvalidRequest, "at least two columns"),
    ],
)
def test_wrong_orders_are_refused(warehouse, columns, strategy, error, rule):
    table = make(warehouse)
    with pytest.raises(error, match=rule):
        table.sort_compact(columns, strategy)


@pytest.mark.parametrize("layout", [{"bucket": "2", "bucket-key": "k"}, {"bucket": "1", "primary_key": ["p", "k"]}])
def test_tables_with_an_order_of_their_own_are_refused(warehouse, layout):
    table = make(warehouse, **layout)
    table.write(rows([1]))
    with pytest.raises(InvalidRequest, match="only an append table without buckets can be sorted"):
        table.sort_compact(["k"])
