"""Numbers of buckets and bucketed append tables: both sides rescale, write, compact and read the same tables."""

from __future__ import annotations

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import InvalidRequest

FIELDS = [{"name": "p", "type": "INT NOT NULL"}, {"name": "k", "type": "STRING NOT NULL"}, {"name": "v", "type": "INT"}]
SCHEMA = pa.schema([pa.field("p", pa.int32(), False), pa.field("k", pa.string(), False), ("v", pa.int32())])
KEYS = [f"key-{n}" for n in range(30)]
VECTORS = {"deletion-vectors.enabled": "true"}
APPEND = {"bucket": "2", "bucket-key": "k"}
TABLES = {
    "keyed": ({"bucket": "2"}, True),
    "first": ({"bucket": "2", "merge-engine": "first-row"}, True),
    "vectors": ({"bucket": "2", **VECTORS}, True),
    "append": (APPEND, False),
    "append_vectors": (APPEND | VECTORS, False),
    "unordered": (APPEND | {"bucket-append-ordered": "false"}, False),
}


def created(name):
    options, keyed = TABLES[name]
    keys = {"primaryKeys": ["p", "k"] if keyed else [], "partitionKeys": ["p"]}
    return {"op": "create", "table": f"db.{name}", "fields": FIELDS, "options": options, **keys}


def written(name, rows, **more):
    return {"op": "write", "table": f"db.{name}", "rows": [["+I", *row] for row in rows], **more}


def bucket_set(name, count):
    change = {"change": "set", "key": "bucket", "value": str(count)}
    return {"op": "alter", "table": f"db.{name}", "changes": [change]}


def arrow(rows):
    return pa.table([list(c) for c in zip(*rows, strict=True)], schema=SCHEMA)


def ours(table, **scan):
    return sorted(tuple(r.values()) for r in table.scan(**scan).to_arrow().to_pylist())


def totals(table):
    entries = table.context.manifests.entries_of(table.latest_snapshot())
    return {(table.context.partition_path(e.partition), e.total_buckets) for e in entries}


def java(oracle, warehouse, names, **fields):
    """The rows of each table as Java reads them, all and those of one key, in one run."""
    one = [["k", "=", "key-7"]]
    steps = [{"op": "dump", "table": f"db.{n}", **f} for n in names for f in (fields, fields | {"filter": one})]
    found = [sorted(tuple(row[1:]) for row in step["rows"]) for step in oracle.run(warehouse, steps)]
    return dict(zip(names, zip(found[::2], found[1::2], strict=True), strict=True))


def agree(oracle, warehouse, tables, *, deep=False):
    seen = java(oracle, warehouse, list(tables))
    for name, table in tables.items():
        assert (ours(table), ours(table, where=col("k") == "key-7")) == seen[name], name
        assert len(seen[name][1]) >= 1
        assert not deep or not table.maintenance.check(deep=True).findings, name
    return {name: rows for name, (rows, _) in seen.items()}


def test_partitions_that_java_and_we_rescaled(oracle, warehouse):
    first = [(p, key, n) for p in (1, 2, 3) for n, key in enumerate(KEYS)]
    second = [(p, key, 100) for p in (1, 2, 3) for key in KEYS[::3]]
    replaced = [(2, key, 7) for key in KEYS]
    steps = []
    for name in TABLES:
        steps += [created(name), written(name, first), written(name, second), bucket_set(name, 5)]
        # Java overwrites an unordered table with another number of buckets only when it does not compact.
        alone = {"options": {"write-only": "true"}} if name == "unordered" else {}
        steps.append(written(name, replaced, overwrite={"p": "2"}, **alone))
    oracle.run(warehouse, steps)
    catalog = paimon.open_catalog(warehouse)
    tables = {name: catalog.table(f"db.{name}") for name in TABLES}
    counts = {("p=1", 2), ("p=2", 5), ("p=3", 2)}
    assert all(totals(table) == counts for table in tables.values())
    before = agree(oracle, warehouse, tables)

    # Neither side writes rows for another number (Java notices it in a bucket that has files). A compaction keeps it.
    rows = [(1, key, 1) for key in KEYS]
    refused = oracle.run(warehouse, [written(name, rows) for name in TABLES], allow_errors=True)
    assert [name for name, step in zip(TABLES, refused, strict=True) if "error" not in step] == []
    for table in tables.values():
        with pytest.raises(InvalidRequest, match="was written with 2 buckets"):
            table.write(arrow(rows))
        table.compact(full=True, where=col("p") == 3)
        table.rescale(5, where=col("p") == 1)
        assert totals(table) == {("p=1", 5), ("p=2", 5), ("p=3", 2)}
    assert agree(oracle, warehouse, tables) == before

    # Java compacts no partition with another number, so the last one is rescaled too. Then both sides go on.
    for table in tables.values():
        table.rescale()
    steps = [written(name, [(1, "key-7", 1), (1, "key-200", 1)]) for name in TABLES]
    oracle.run(warehouse, [*steps, *({"op": "compact", "table": f"db.{name}"} for name in TABLES)])
    for table in tables.values():
        table.write(arrow([(1, "key-8", 2), (2, "key-300", 2)]))
        table.compact(full=True)
    after = agree(oracle, warehouse, tables, deep=True)
    assert after["keyed"] == sorted(
        {
            (p, k): (p, k, v)
            for p, k, v in [*before["keyed"], (1, "key-7", 1), (1, "key-200", 1), (1, "key-8", 2), (2, "key-300", 2)]
        }.values()
    )
    assert len(after["append"]) == len(before["append"]) + 4


def test_a_partition_of_a_postponed_table_that_we_rescaled(oracle, warehouse):
    options = {"bucket": "-2", "postpone.default-bucket-num": "2", "postpone.batch-write-fixed-bucket": "false"}
    create = {"op": "create", "table": "db.t", "fields": FIELDS, "options": options}
    rows = [(1, key, n) for n, key in enumerate(KEYS)]
    oracle.run(warehouse, [create | {"primaryKeys": ["p", "k"], "partitionKeys": ["p"]}, written("t", rows)])
    table = paimon.open_catalog(warehouse).table("db.t")
    table.compact()
    oracle.run(warehouse, [written("t", [(1, "key-7", 99), (1, "later", 1)])])
    table.rescale(5)
    assert agree(oracle, warehouse, {"t": table})["t"] == sorted(rows)
    table.compact()
    assert totals(table) == {("p=1", 5)}
    expected = [row for row in rows if row[1] != "key-7"] + [(1, "key-7", 99), (1, "later", 1)]
    assert agree(oracle, warehouse, {"t": table}, deep=True)["t"] == sorted(expected)


ORDERS = {
    "ordered": {},
    "ordered_write_only": {"write-only": "true"},
    "unordered": {"bucket-append-ordered": "false"},
    "unordered_write_only": {"bucket-append-ordered": "false", "write-only": "true"},
    "with_vectors": VECTORS,
}


def in_order(table):
    """The values of v in each bucket, in the order of reading."""
    scan = table.scan(columns=["v"])
    found = {}
    for split in scan.plan.splits:
        values = found.setdefault((split.partition, split.bucket), [])
        values += [v for batch in scan.read(split) for v in batch["v"].to_pylist()]
    return list(found.values())


def test_both_sides_append_to_buckets_and_compact_in_turns(oracle, warehouse):
    options = APPEND | {"compaction.min.file-num": "3"}
    made = [created("append") | {"table": f"db.{name}", "options": options | more} for name, more in ORDERS.items()]
    oracle.run(warehouse, made)
    catalog = paimon.open_catalog(warehouse)
    tables = {name: catalog.table(f"db.{name}") for name in ORDERS}
    model = []
    for commit in range(10):
        rows = [(p, key, commit) for p in (1, 2) for key in KEYS[commit % 3 :: 2]]
        model += rows
        if commit % 2:
            for table in tables.values():
                table.write(arrow(rows))
        else:
            oracle.run(warehouse, [written(name, rows) for name in ORDERS])
        if commit == 4:
            oracle.run(warehouse, [{"op": "compact", "table": f"db.{name}"} for name in ORDERS])
        if commit == 7:
            for table in tables.values():
                table.compact(full=True)
    seen = agree(oracle, warehouse, tables, deep=True)
    assert all(rows == sorted(model) for rows in seen.values())
    plans = oracle.run(warehouse, [{"op": "plan", "table": f"db.{name}"} for name in ORDERS])
    for (name, table), java_plan in zip(tables.items(), plans, strict=True):
        mine = {(s.bucket, tuple(f.file_name for f in s.files)) for s in table.scan().plan.splits}
        theirs = {(s["bucket"], tuple(f["name"] for f in s["files"])) for s in java_plan["splits"]}
        assert mine == theirs, name
        assert [s["commit_kind"] for s in table.inspect.snapshots().to_pylist()].count("COMPACT") >= 2, name
        if name != "unordered_write_only":
            assert in_order(table) == [sorted(values) for values in in_order(table)], name
