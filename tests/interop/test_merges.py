"""Merges: Java reads the tables that they change, and changes them further."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core import Delete, Insert, Update, col
from tests.interop.test_deletion_vectors import SCHEMA, WIDE, catalog_in, rows

VECTORS = {"deletion-vectors.enabled": "true"}
TABLES = {
    "rewriting": {},
    "vectors": VECTORS,
    "wide": VECTORS | WIDE,
    "buckets": VECTORS | {"bucket": "2", "bucket-key": "k"},
    "keyed": {"bucket": "2", "primary_key": ["k"]},
    "dynamic": {"bucket": "-1", "primary_key": ["k"]},
}


def test_java_reads_what_merges_change(oracle, warehouse):
    catalog = catalog_in(warehouse)
    tables = {}
    for name, options in TABLES.items():
        options = dict(options)
        key = options.pop("primary_key", [])
        table = tables[name] = catalog.create_table(f"db.{name}", SCHEMA, primary_key=key, options=options)
        table.write(rows(*range(1000)))
        table.write(rows(*range(1000, 1010)))
        table.merge(rows(*range(500, 1005, 5), 2000, v="y"), ["k"])
        table.merge(
            rows(*range(490, 520), 3000, 3001, v="z"),
            ["k"],
            when_matched=[
                Delete(where=col("v").startswith("y")),
                Update({"v": lambda old, new: pc.binary_join_element_wise(old["v"], new["v"], "-")}, col("k") < 505),
            ],
            when_not_matched=Insert(source_where=col("k") > 3000),
        )
    expected = {k: f"x{k}" for k in range(1010)} | {k: f"y{k}" for k in [*range(500, 1005, 5), 2000]}
    expected = {k: v for k, v in expected.items() if k not in (500, 505, 510, 515)}
    expected |= {k: f"x{k}-z{k}" for k in range(490, 505) if k != 500} | {3001: "z3001"}
    found = oracle.run(warehouse, [{"op": "dump", "table": t.name} for t in tables.values()])
    for table, java in zip(tables.values(), found, strict=True):
        assert {k: v for _, k, v in java["rows"]} == expected, table.name
        assert java["count"] == len(expected), table.name
        assert table.scan().to_arrow().sort_by("k")["k"].to_pylist() == sorted(expected), table.name

    names = ["vectors", "wide"]
    oracle.run(warehouse, [{"op": "pack", "table": f"db.{name}"} for name in names])
    for name in names:
        table = catalog.table(f"db.{name}")
        table.merge(pa.table({"k": [3001, 3002]}), ["k"], when_matched=Update({"v": "last"}))
        expected |= {3001: "last", 3002: None}
        assert dict(zip(*(c.to_pylist() for c in table.scan().to_arrow().columns), strict=True)) == expected
        assert not table.maintenance.check(deep=True).findings
    for java in oracle.run(warehouse, [{"op": "dump", "table": f"db.{name}"} for name in names]):
        assert {k: v for _, k, v in java["rows"]} == expected
