"""Incremental clustering: levels of append files, rows that stay, and files that filters skip afterwards."""

import numpy as np
import pyarrow as pa

import paimon_core as paimon
from paimon_core import col

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
    assert table.compact() is None  # two runs, and writes of such a table start no compaction
    assert levels(table) == [0, 0]
    table.write(rows(order[2000:]))
    assert table.compact().commit_kind == "COMPACT"
    assert levels(table) == [3]
    assert keys(table) == list(range(3000))
    # The large run stays when few rows follow.
    for k in (9002, 9001, 9000):
        table.write(rows([k]))
    table.compact()
    assert levels(table) == [2, 3]
    assert sorted(keys(table)) == [*range(3000), 9000, 9001, 9002]
    assert table.compact() is None
    table.compact(full=True)
    assert (levels(table), levels(table, "b")) == ([3], [3])
    assert keys(table) == [*range(3000), 9000, 9001, 9002]
    assert table.compact(full=True) is None
    assert not table.maintenance.check(deep=True).findings
