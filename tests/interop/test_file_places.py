"""Data files in a directory of their own, and without key columns: both sides write, compact, read and clean up."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from tests.interop.test_java_both_ways import agree

PLACED = {"data-file.path-directory": "files/data", "data-file.prefix": "part-"}
THIN = {"data-file.thin-mode": "true", "changelog-producer": "lookup"}
FIELDS = [
    {"name": "p", "type": "INT NOT NULL"},
    {"name": "v", "type": "STRING"},
    {"name": "k", "type": "STRING NOT NULL"},
]


@pytest.mark.parametrize(
    "options",
    [PLACED, THIN, {**PLACED, **THIN, "file.format": "orc"}, {**THIN, "file.format": "avro"}],
    ids=["placed", "thin", "both in orc", "thin in avro"],
)
def test_both_sides_write_compact_and_clean_up(oracle, warehouse, options):
    catalog = paimon.open_catalog(warehouse)
    create = {"op": "create", "table": "db.t", "fields": FIELDS, "primaryKeys": ["p", "k"], "partitionKeys": ["p"]}
    rows = [["+I", n % 2, f"java {n}", f"{n:03}"] for n in range(60)]
    steps = [
        {**create, "options": {"bucket": "1", **options}},
        {"op": "write", "table": "db.t", "rows": rows},
        {"op": "compact", "table": "db.t"},
    ]
    oracle.run(warehouse, steps)
    table = catalog.table("db.t")
    expected = {(n % 2, f"{n:03}"): f"java {n}" for n in range(60)}
    for start in (10, 30):
        ours = {(n % 2, f"{n:03}"): f"ours {n}" for n in range(start, start + 40)}
        expected |= ours
        table.write([{"p": p, "k": k, "v": v} for (p, k), v in ours.items()])
        agree(oracle, warehouse, table, as_table(table, expected))
    found = table.scan(where=(paimon.col("k") == "065") & (paimon.col("v") == "ours 65")).to_arrow()
    assert found.num_rows == 1
    table.compact(full=True)
    agree(oracle, warehouse, table, as_table(table, expected))
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["-D", 0, "x", "000"]]}])
    del expected[0, "000"]
    agree(oracle, warehouse, table, as_table(table, expected))
    assert table.maintenance.check(deep=True).errors == ()
    root = Path(warehouse) / "db.db" / "t"
    data = root / options.get("data-file.path-directory", "")
    files = [path for path in data.glob("p=*/bucket-0/*") if path.suffix == f".{options.get('file.format', 'parquet')}"]
    assert {path.relative_to(data).parts[0] for path in files} == {"p=0", "p=1"}
    if options is THIN:
        assert {tuple(pq.read_schema(path).names) for path in files} == {
            ("_SEQUENCE_NUMBER", "_VALUE_KIND", "p", "v", "k")
        }
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta(0))
    orphan = files[0].with_name("part-00000000-0000-4000-8000-000000000000-0.orc")
    if options.keys() >= PLACED.keys():
        orphan.write_bytes(b"x")
        os.utime(orphan, (1, 1))
        (step,) = oracle.run(warehouse, [{"op": "orphans", "table": "db.t"}])
        assert [path for path in step["paths"] if path.endswith(orphan.name)]
    plan = table.maintenance.plan_orphan_removal()
    assert [f.path for f in plan.files] == ([str(orphan)] if orphan.exists() else [])
    table.maintenance.apply(plan)
    assert not orphan.exists()
    agree(oracle, warehouse, table, as_table(table, expected))


def as_table(table, expected):
    columns = [[p for p, _ in expected], list(expected.values()), [k for _, k in expected]]
    return pa.table(columns, schema=table.schema.arrow)
