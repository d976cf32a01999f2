"""Deletion vectors: Java writes them and we read, we write them and Java reads, before and after compactions."""

from __future__ import annotations

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from tests.interop.test_java_both_ways import agree

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string())])
FIELDS = [{"name": "k", "type": "INT"}, {"name": "v", "type": "STRING"}]
WIDE = {"deletion-vectors.bitmap64": "true"}


def catalog_in(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    return catalog


def rows(*keys, v="x"):
    return pa.table({"k": list(keys), "v": [f"{v}{k}" for k in keys]}, schema=SCHEMA)


def names(table):
    return [f["file_name"] for f in table.inspect.files().to_pylist()]


def index_bytes(table):
    directory = table.context.paths.index_directory
    return sorted(table.context.storage.read(f.path) for f in table.context.storage.list(directory))


@pytest.mark.parametrize(
    ("kind", "buckets"),
    [({}, {}), (WIDE, {"bucket": "2", "bucket-key": "k"})],
    ids=["no buckets", "two buckets, 64 bits"],
)
def test_deletes_of_both_sides_in_append_tables(oracle, warehouse, kind, buckets):
    options = {"deletion-vectors.enabled": "true", "compaction.min.file-num": "2", **kind, **buckets}
    catalog = catalog_in(warehouse)
    table = catalog.create_table("db.t", SCHEMA, options=options | {"write-only": "true"})
    # Values, runs and bits: each kind of container of a roaring bitmap.
    table.write(rows(*range(100_000)))
    table.write(rows(*range(100_000, 100_100)))
    many = [k for k in range(20_000, 60_000) if k % 3 == 0]
    table.delete((col("k") < 1000) | col("k").is_in(many) | (col("k") == 100_007))
    left = [k for k in range(100_100) if not (k < 1000 or (20_000 <= k < 60_000 and k % 3 == 0) or k == 100_007)]
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == left
    assert sorted(r[1] for r in oracle.dump(warehouse, "db.t", projection=["k"])) == left
    found = oracle.dump(warehouse, "db.t", filter=[["k", ">", 99_999]])
    assert sorted(r[1] for r in found) == list(range(100_000, 100_007)) + list(range(100_008, 100_100))

    last = names(table)[-1]
    oracle.run(warehouse, [{"op": "deleteRows", "table": "db.t", "files": {last: [0, 5]}}])
    java = sorted(r[1] for r in oracle.dump(warehouse, "db.t", projection=["k"]))
    table = catalog.table("db.t")
    assert len(java) == len(left) - 2
    assert sorted(table.scan(columns=["k"]).to_arrow()["k"].to_pylist()) == java
    assert table.scan().count() == len(java)
    assert not table.maintenance.check(deep=True).findings

    if not buckets:
        oracle.run(warehouse, [{"op": "pack", "table": "db.t"}])
        assert catalog.table("db.t").latest_snapshot().commit_kind == "COMPACT"
        assert sorted(catalog.table("db.t").scan().to_arrow()["k"].to_pylist()) == java
    catalog.table("db.t").compact(full=True)
    assert catalog.table("db.t").latest_snapshot().index_manifest is None or not buckets
    if not buckets:
        catalog.table("db.t").sort_compact(["k"], "zorder")
        assert catalog.table("db.t").scan().to_arrow()["k"].to_pylist() == java
    assert sorted(r[1] for r in oracle.dump(warehouse, "db.t", projection=["k"])) == java
    assert not catalog.table("db.t").maintenance.check(deep=True).findings


@pytest.mark.parametrize("kind", [{}, WIDE], ids=["32 bits", "64 bits"])
def test_index_files_have_the_bytes_of_java(oracle, warehouse, kind):
    catalog = catalog_in(warehouse)
    positions = [*range(1000), *range(70_000, 78_000, 2), *range(80_000, 140_000, 3), 199_999]
    for name in ("ours", "java"):
        options = {"deletion-vectors.enabled": "true", **kind}
        catalog.create_table(f"db.{name}", SCHEMA, options=options).write(rows(*range(200_000)))
    ours, java = catalog.table("db.ours"), catalog.table("db.java")
    ours.delete(col("k").is_in(positions))
    oracle.run(warehouse, [{"op": "deleteRows", "table": "db.java", "files": {names(java)[0]: positions}}])
    assert index_bytes(ours) == index_bytes(java)


@pytest.mark.parametrize("engine", ["deduplicate", "aggregation"])
def test_a_table_with_a_primary_key_that_java_wrote(oracle, warehouse, engine):
    catalog = catalog_in(warehouse)
    options = {"bucket": "2", "deletion-vectors.enabled": "true", "merge-engine": engine, "num-levels": "4"}
    if engine == "aggregation":
        options["fields.v.aggregate-function"] = "last_value"
    made = {"op": "create", "table": "db.t", "fields": FIELDS, "primaryKeys": ["k"], "partitionKeys": []}
    writes = [
        {"op": "write", "table": "db.t", "rows": [["+I", k, f"{n}-{k}"] for k in range(n * 10, 100, n + 1)]}
        for n in range(5)
    ]
    if engine == "deduplicate":
        writes.append({"op": "write", "table": "db.t", "rows": [["-D", 3, None], ["-D", 40, None]]})
    oracle.run(warehouse, [made | {"options": options}, *writes])
    table = catalog.table("db.t")
    scan = table.scan()
    assert scan.plan.splits
    assert any(s.vectors for s in scan.plan.splits)
    assert all(s.raw for s in scan.plan.splits)
    agree(oracle, warehouse, table, scan.to_arrow())
    filtered = table.scan(columns=["v"], where=col("k") > 50).to_arrow()["v"].to_pylist()
    assert sorted(filtered) == sorted(v for _, _, v in oracle.dump(warehouse, "db.t", filter=[["k", ">", 50]]))
    assert scan.count() == scan.to_arrow().num_rows

    # Level 0 is hidden until it is compacted, unless it is merged on read.
    level_0 = {"op": "write", "table": "db.t", "rows": [["+I", 1, "hidden"]], "options": {"write-only": "true"}}
    oracle.run(warehouse, [level_0])
    hidden = catalog.table("db.t")
    assert hidden.scan().plan.counts.awaiting_compaction == 1
    assert hidden.scan().to_arrow().sort_by("k") == scan.to_arrow().sort_by("k")
    assert not hidden.maintenance.check(deep=True).findings
    change = {"change": "set", "key": "deletion-vectors.merge-on-read", "value": "true"}
    oracle.run(warehouse, [{"op": "alter", "table": "db.t", "changes": [change]}])
    merged = dict(zip(*catalog.table("db.t").scan().to_arrow().to_pydict().values(), strict=True))
    assert merged == dict(zip(*scan.to_arrow().to_pydict().values(), strict=True)) | {1: "hidden"}


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "deduplicate", "changelog-producer": "lookup"},
        {"merge-engine": "deduplicate", "sequence.field": "n", "deletion-vectors.bitmap64": "true"},
        {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "changelog-producer": "lookup"},
        {"merge-engine": "partial-update", "fields.n.sequence-group": "v", "changelog-producer": "input"},
        {"merge-engine": "partial-update", "deletion-vectors.bitmap64": "true"},
    ],
    ids=["deduplicate", "sequence", "aggregation", "sequence group", "partial update"],
)
def test_commits_of_both_sides_in_a_table_with_a_primary_key(oracle, warehouse, options):
    schema = pa.schema([("k", pa.int32()), ("n", pa.int32()), ("v", pa.string())])
    options = options | {"bucket": "2", "deletion-vectors.enabled": "true", "num-levels": "4"}
    table = catalog_in(warehouse).create_table("db.t", schema, primary_key=["k"], options=options)
    with_vectors = 0
    for n in range(5):
        keys = list(range(n, 200, n + 2))
        table.write(pa.table({"k": keys, "n": [10 * n] * len(keys), "v": [f"ours {n}"] * len(keys)}, schema=schema))
        with_vectors += bool(table.latest_snapshot().index_manifest)
        agree(oracle, warehouse, table, table.scan().to_arrow())
        late = 20 if n % 2 else 0  # rows that are older by the sequence field or group
        java = [["+I", k, 10 * n + 5 - late, None if k % 5 == 0 else f"java {n}"] for k in range(3 * n, 200, 2 * n + 1)]
        if options["merge-engine"] == "deduplicate":
            java.append(["-D", 4 * n, 10 * n + 5, None])
        oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": java}])
        table = table.refresh()
        with_vectors += bool(table.latest_snapshot().index_manifest)
        agree(oracle, warehouse, table, table.scan().to_arrow())
        found = oracle.dump(warehouse, "db.t", filter=[["n", ">", 20]], projection=["v", "n"])
        ours = table.scan(columns=["v", "n"], where=col("n") > 20).to_arrow().to_pylist()
        # Java's filter selects files and row groups, not always rows.
        kept = [tuple(row[1:]) for row in found if row[2] > 20]
        assert sorted(kept, key=str) == sorted(((r["v"], r["n"]) for r in ours), key=str)
    assert with_vectors
    assert not table.maintenance.check(deep=True).findings
    before = table.scan().to_arrow()
    oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])
    table = table.refresh()
    agree(oracle, warehouse, table, before)
    table.write(pa.table({"k": [1, 2], "n": [99, 99], "v": ["last"] * 2}, schema=schema))
    before = table.scan().to_arrow()
    table.compact(full=True)  # Java's index files without vectors stay
    assert not any(split.vectors for split in table.scan().plan.splits)
    agree(oracle, warehouse, table, before)
    assert not table.maintenance.check(deep=True).findings


def test_a_table_that_is_switched_on_and_off_between_commits_of_java(oracle, warehouse):
    options = {"bucket": "1", "num-levels": "4", "deletion-vectors.modifiable": "true"}
    table = catalog_in(warehouse).create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    table.write(rows(*range(3000)))
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 3, "java"], ["-D", 4, None]]}])
    table.compact(full=True)
    table = table.alter("SET ('deletion-vectors.enabled' = 'true')")
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 5, "marked"], ["-D", 6, None]]}])
    assert any(split.vectors for split in table.scan().plan.splits)
    left = [k for k in range(3000) if k not in (4, 6)]
    found = table.scan().to_arrow()
    assert sorted(found["k"].to_pylist()) == left
    agree(oracle, warehouse, table, found)
    oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])
    table = table.alter("SET ('deletion-vectors.enabled' = 'false')")
    agree(oracle, warehouse, table, found)
    table.write(rows(1, 2, v="last"))
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 7, "java"]]}])
    agree(oracle, warehouse, table, table.scan().to_arrow())
    assert not table.maintenance.check(deep=True).findings
