"""Incremental clustering: levels of append files, rows that stay, and files that filters skip afterwards."""

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.compact import compactor
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import CommitConflict, InvalidRequest

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("d", pa.int64())])
OPTIONS = {
    "clustering.incremental": "true",
    "clustering.columns": "k",
    "num-sorted-run.compaction-trigger": "3",
    "commit.min-retry-wait": "1 ms",
    "commit.max-retry-wait": "2 ms",
}


def make(warehouse, **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    return catalog.create_table("db.t", SCHEMA, partition_by=["p"], options=OPTIONS | options)


def rows(keys, p="a"):
    keys = list(keys)
    return pa.table({"p": [p] * len(keys), "k": keys, "d": [pow(k, 7, 2**61 - 1) for k in keys]}, schema=SCHEMA)


def shuffled(count):
    return np.random.default_rng(7).permutation(count).tolist()


def keys(table, p="a"):
    return table.scan(where=col("p") == p).to_arrow()["k"].to_pylist()


def levels(table, p="a"):
    return sorted(f.level for f in table.scan(where=col("p") == p).plan.files)


def test_compactions_sort_the_runs_that_they_pick(warehouse):
    table = make(warehouse)
    order = shuffled(3000)
    for start in (0, 1000):
        table.write(rows(order[start : start + 1000]))
    table.write(rows([7], p="b"))
    assert not table.compact()  # two runs, and writes of such a table start no compaction
    assert levels(table) == [0, 0]
    table.write(rows(order[2000:]))
    assert table.compact().snapshot.commit_kind == "COMPACT"
    assert levels(table) == [3]
    assert keys(table) == list(range(3000))
    # The large run stays when few rows follow.
    for k in (9002, 9001, 9000):
        table.write(rows([k]))
    table.compact()
    assert levels(table) == [2, 3]
    assert sorted(keys(table)) == [*range(3000), 9000, 9001, 9002]
    assert not table.compact()
    table.compact(full=True)
    assert (levels(table), levels(table, "b")) == ([3], [3])
    assert keys(table) == [*range(3000), 9000, 9001, 9002]
    assert not table.compact(full=True)
    assert not table.maintenance.check(deep=True).findings


@pytest.mark.parametrize("mode", ["global-sort", "local-sort"])
def test_files_have_ranges_of_their_own_after_a_full_sort(warehouse, mode):
    small = {"target-file-size": "4 kb", "source.split.target-size": "16 kb", "source.split.open-file-cost": "1 kb"}
    table = make(warehouse, **{"clustering.incremental.mode": mode}, **small)
    order = shuffled(6000)
    for start in range(0, 6000, 1500):
        table.write(rows(order[start : start + 1500]))
    table.compact(full=True)
    files = table.scan().plan.files
    paths = {path.name: path for path in Path(warehouse).rglob("data-*")}
    found = [pq.ParquetFile(paths[f.file_name]).read(["k"])["k"].to_pylist() for f in files]
    assert len(files) > 4
    assert all(part == sorted(part) for part in found)
    ranges = sorted((min(part), max(part)) for part in found)
    apart = all(left[1] < right[0] for left, right in itertools.pairwise(ranges))
    assert apart == (mode == "global-sort")
    opened = len(table.scan(where=col("k") == 3000).plan.files)
    assert opened == 1 if apart else opened > 1
    assert sorted(keys(table)) == list(range(6000))


@pytest.mark.parametrize("vectors", ["false", "true"])
@pytest.mark.parametrize("rival", ["append", "delete", "clustering"])
def test_a_commit_in_between_is_neither_lost_nor_undone(warehouse, vectors, rival):
    table = make(warehouse, **{"deletion-vectors.enabled": vectors})
    for some in ([3, 1], [2, 0], [5, 4]):
        table.write(rows(some))
    rivals = {
        "append": lambda: table.write(rows([7])),
        "delete": lambda: table.delete(col("k") == 3),
        "clustering": lambda: table.compact(full=True),
    }

    def work(context, tasks):
        messages = compactor.run_tasks(context, [CompactionTask.from_bytes(t.to_bytes()) for t in tasks])
        rivals[rival]()
        return messages

    if rival == "append":
        table.compact(work=work)
    else:
        with pytest.raises(CommitConflict):
            table.compact(work=work)
    expected = {"append": [0, 1, 2, 3, 4, 5, 7], "delete": [0, 1, 2, 4, 5], "clustering": [0, 1, 2, 3, 4, 5]}[rival]
    assert sorted(keys(table)) == expected
    rewritten = rival == "clustering" or (rival == "delete" and vectors == "false")
    assert len(list(Path(warehouse).rglob("data-*"))) == (5 if rival == "append" else 3 + rewritten)
    table.compact(full=True)
    assert keys(table) == expected
    assert table.latest_snapshot().index_manifest is None
    assert not table.maintenance.check(deep=True).findings


def test_files_are_sorted_again_when_the_columns_change_or_rows_are_deleted(warehouse):
    table = make(warehouse, **{"deletion-vectors.enabled": "true"})
    table.write(rows([3, 1, 2]))
    table.compact(full=True)
    assert not table.compact(full=True)
    table.delete(col("k") == 2)
    table.compact(full=True)
    assert (keys(table), levels(table)) == ([1, 3], [3])
    assert table.latest_snapshot().index_manifest is None
    table = table.alter("SET ('clustering.columns' = 'd')", "RENAME COLUMN d TO e")
    assert table.context.options["clustering.columns"] == ("e",)
    assert table.compact(full=True).snapshot.commit_kind == "COMPACT"
    assert not table.compact(full=True)


def test_another_sort_of_a_clustered_table_is_refused(warehouse):
    table = make(warehouse)
    table.write(rows([1]))
    with pytest.raises(InvalidRequest, match=r"option clustering\.incremental: its compaction sorts rows"):
        table.sort_compact(["d"])


def test_writes_cluster_the_bucket_to_which_they_wrote(warehouse):
    table = make(warehouse, **{"bucket": "1", "bucket-key": "k", "bucket-append-ordered": "false"})
    for some in ([3, 1], [2, 0], [5, 4]):
        table.write(rows(some))
    assert (keys(table), levels(table)) == ([0, 1, 2, 3, 4, 5], [3])
    assert not table.maintenance.check(deep=True).findings
