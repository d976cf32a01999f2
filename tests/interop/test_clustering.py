"""Incremental clustering: Java and we cluster one table in turns, pick the same files and read the same rows."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int32()), ("d", pa.int32()), ("v", pa.string())])
OPTIONS = {"clustering.incremental": "true", "num-sorted-run.compaction-trigger": "3", "num-levels": "4"}


def picks(tasks):
    return sorted((t.unit.output_level, [f.file_name for f in t.unit.files]) for t in tasks)


def rows(chance, count):
    found = [("ab"[chance.random() < 0.3], chance.randrange(1000), chance.randrange(1000)) for _ in range(count)]
    return pa.table({"p": [p for p, _, _ in found], "k": [k for _, k, _ in found], "d": [d for *_, d in found],
                     "v": [f"{k}-{d}" for _, k, d in found]}, schema=SCHEMA)  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ("k", {"clustering.incremental.mode": "local-sort"}),
        ("k,d", {"deletion-vectors.enabled": "true"}),
        ("d,k", {"clustering.strategy": "hilbert", "bucket": "2", "bucket-key": "k", "bucket-append-ordered": "false"}),
    ],
    ids=["order", "z-order with vectors", "Hilbert with buckets"],
)
def test_both_sides_cluster_a_table_in_turns(oracle, warehouse, columns, options):
    chance = random.Random(columns)
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    made = {**OPTIONS, **options, "clustering.columns": columns, "write-only": "true"}
    table = catalog.create_table("db.t", SCHEMA, partition_by=["p"], options=made)
    levels: set[int] = set()
    compacted = {True: 0, False: 0}
    for turn in range(10):
        full = turn in (4, 7)
        new = rows(chance, chance.choice([5, 50, 1000]))
        if turn % 2:
            table.write(new)
        else:
            values = [["+I", *r.values()] for r in new.to_pylist()]
            oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": values}])
        if turn in (3, 6) and "deletion-vectors.enabled" in options:
            table.refresh().delete(col("d") == chance.randrange(1000))
        table = table.refresh()
        before = table.scan().to_arrow()
        ours, by_java = picks(table.plan_compaction(full=full)), turn % 4 < 2
        if "bucket" not in options:
            step = {"op": "cluster", "table": "db.t", "full": full, "picksOnly": not by_java}
            (answer,) = oracle.run(warehouse, [step])
            assert sorted((p["level"], p["files"]) for p in answer["picks"]) == ours
        elif by_java:
            oracle.run(warehouse, [{"op": "compact", "table": "db.t", "full": full}])
        if not by_java:
            table.compact(full=full)
        table = table.refresh()
        compacted[by_java] += table.latest_snapshot().commit_kind == "COMPACT"
        levels |= {f.level for f in table.scan().plan.files}
        order = [(name, "ascending") for name in SCHEMA.names]
        assert table.scan().to_arrow().sort_by(order) == before.sort_by(order)
        low = chance.randrange(1000)
        java = oracle.dump(warehouse, "db.t", filter=[["k", "<", low]], projection=["k", "v"])
        expected = table.scan(["k", "v"], col("k") < low).to_arrow()
        kept = sorted(tuple(r[1:]) for r in java if r[1] < low)
        assert kept == sorted(zip(*expected.to_pydict().values(), strict=True))
    assert {0, 3} < levels
    assert min(compacted.values()) >= 2
    assert not table.maintenance.check(deep=True).findings
