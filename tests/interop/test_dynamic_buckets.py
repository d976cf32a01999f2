"""Dynamic buckets: Java and we write to the same tables, and each key keeps its bucket."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.table_indexes.hash_file import read_hashes
from tests.support.long_cases import long_cases

FIELDS = [
    {"name": "p", "type": "INT NOT NULL"},
    {"name": "k", "type": "STRING NOT NULL"},
    {"name": "v", "type": "INT"},
]
SCHEMA = pa.schema([pa.field("p", pa.int32(), False), pa.field("k", pa.string(), False), ("v", pa.int32())])
KEYED = {"primaryKeys": ["p", "k"], "partitionKeys": ["p"]}


def table_in(warehouse, oracle, **options):
    create = {"op": "create", "table": "db.t", "fields": FIELDS, **KEYED, "options": {"bucket": "-1", **options}}
    oracle.run(warehouse, [create])
    return paimon.open_catalog(warehouse).table("db.t")


def arrow(rows):
    return pa.table([list(c) for c in zip(*rows, strict=True)], schema=SCHEMA)


def places(table):
    """The bucket of every key, from the data files: a key in two buckets fails."""
    found = {}
    for split in table.scan().plan.splits:
        for batch in read_split(table.context, split, ReadRequest(["p", "k"])):
            for row in batch.to_pylist():
                assert found.setdefault((row["p"], row["k"]), split.bucket) == split.bucket
    return found


def indexes(table):
    """The hashes of each (partition, bucket)."""
    manifest = table.context.snapshots.latest().index_manifest
    entries = table.context.manifests.read_indexes(manifest)
    assert len({(e.partition, e.bucket) for e in entries}) == len(entries)
    return {(e.partition, e.bucket): read_hashes(table.context, e.file).tolist() for e in entries}


@pytest.mark.parametrize(
    ("options", "assigners"),
    [
        ({"dynamic-bucket.target-row-num": "20"}, 1),
        ({"dynamic-bucket.target-row-num": "7", "dynamic-bucket.max-buckets": "3"}, 1),
        ({"dynamic-bucket.target-row-num": "9", "dynamic-bucket.initial-buckets": "3"}, 3),
    ],
    ids=["target", "maximum", "initial"],
)
def test_both_sides_write_in_turn_and_each_key_keeps_its_bucket(oracle, warehouse, options, assigners):
    table = table_in(warehouse, oracle, **options)
    chance, model, before = random.Random(assigners), {}, {}
    for commit in range(10):
        rows = [(chance.randrange(2), f"key-{chance.randrange(90)}", commit) for _ in range(25)]
        if commit % 2:
            table.write(arrow(rows))
        else:
            written = [["+I", *row] for row in rows]
            oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": written, "assigners": assigners}])
        model |= {(p, k): v for p, k, v in rows}
        if commit == 5:
            table.delete(col("v") == 1)
            model = {key: v for key, v in model.items() if v != 1}
            oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])
        if commit == 7:
            table.compact(full=True)
        now = places(table)
        assert {key: now[key] for key in before.keys() & now.keys()} == {
            k: before[k] for k in before.keys() & now.keys()
        }
        before |= now
    expected = sorted((p, k, v) for (p, k), v in model.items())
    assert sorted(tuple(r.values()) for r in table.scan().to_arrow().to_pylist()) == expected
    assert sorted(tuple(r[1:]) for r in oracle.dump(warehouse, "db.t")) == expected
    one = [r for r in expected if r[1] == "key-7"]
    assert sorted(tuple(r.values()) for r in table.scan(where=col("k") == "key-7").to_arrow().to_pylist()) == one
    assert sorted(tuple(r[1:]) for r in oracle.dump(warehouse, "db.t", filter=[["k", "=", "key-7"]])) == one
    assert not table.maintenance.check(deep=True).findings


@pytest.mark.parametrize(("groups", "overwrite"), [(4, False), (1, True), *long_cases([(1, False), (4, True)])])
def test_the_same_rows_get_the_same_buckets_and_hashes_as_in_java(oracle, warehouse, groups, overwrite):
    options = {"dynamic-bucket.target-row-num": "10", "dynamic-bucket.initial-buckets": str(groups)}
    table = table_in(warehouse, oracle, **options)
    rows = [(p, f"k{n}", n) for p in (3, -8) for n in np.random.default_rng(5).permutation(100).tolist()]
    batches = [rows[:50], rows[20:]]
    for batch in batches:
        table.overwrite(arrow(batch)) if overwrite else table.write(arrow(batch))
    ours, hashes = places(table), indexes(table)
    oracle.run(warehouse, [{"op": "dropTable", "table": "db.t"}])
    table = table_in(warehouse, oracle, **options)
    for batch in batches:
        step = {"op": "write", "table": "db.t", "rows": [["+I", *row] for row in batch], "assigners": groups}
        oracle.run(warehouse, [step | ({"overwrite": {}} if overwrite else {})])
    assert (places(table), indexes(table)) == (ours, hashes)
    assert len({bucket for _, bucket in hashes}) > 5
