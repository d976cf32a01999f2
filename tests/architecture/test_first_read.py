"""What a new interpreter imports to read one row: each module costs about half a millisecond."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa

import paimon_core

READ = """
import sys, paimon_core
paimon_core.open_catalog(sys.argv[1]).table("db.t").scan(limit=1).to_arrow()
print(*sys.modules)
"""
NOT_NEEDED = (
    "fsck",
    "health.check",
    "health.page",
    "health.rules",
    "spark",
    "cli",
    "query.row_explanation",
    "table.upkeep.maintenance",
)
MOST_MODULES = 590
OTHERS = ("fsspec", "asyncio", "numpy.random", "pandas", "polars", "duckdb", "pyspark")
"""Modules of other libraries that a read of the local disk does not need."""


def test_a_read_imports_nothing_that_only_maintenance_needs(tmp_path):
    catalog = paimon_core.open_catalog(str(tmp_path))
    catalog.create_database("db")
    catalog.create_table("db.t", pa.schema([("id", pa.int64())])).write([{"id": 1}])
    command = [sys.executable, "-c", READ, str(tmp_path)]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in OTHERS if name in names] == []
    names = [name for name in names if name.startswith("paimon_core")]
    parts = tuple(f"paimon_core.{part}" for part in NOT_NEEDED)
    assert [name for name in names if name in parts or name.startswith(tuple(f"{part}." for part in parts))] == []
    assert len(names) <= MOST_MODULES
