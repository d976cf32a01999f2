"""Java reads, compacts and filters files in which some columns are compressed and others are not."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from paimon_core.datafile.parquet import shrinking
from tests.interop.test_java_both_ways import agree

pytestmark = pytest.mark.java
COUNT = 2000


def codecs(warehouse):
    """The columns by codec of the only data file."""
    (path,) = Path(warehouse).rglob("data-*.parquet")
    group = pq.read_metadata(path).row_group(0)
    found: dict[str, set[str]] = {}
    for at in range(group.num_columns):
        found.setdefault(group.column(at).compression, set()).add(group.column(at).path_in_schema)
    return found


def test_java_reads_and_compacts_them(oracle, warehouse, monkeypatch):
    monkeypatch.setattr(shrinking, "LEAST_ROWS", 1000)
    monkeypatch.setattr(shrinking, "_SLICE_ROWS", 500)
    random = np.random.default_rng(7).integers(2**60, 2**62, COUNT)
    rows = pa.table(
        {
            "id": np.arange(COUNT),
            "n": random,
            "f": random.view(np.float64),
            "step": np.arange(COUNT) * 0.5,
            "name": [f"name {n}" for n in range(COUNT)],
            "parts": pa.array([[f"part {n % 3}"] for n in range(COUNT)]),
        }
    )
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.t", rows.schema, primary_key=["id"], options=options)
    table.write(rows)
    found = codecs(warehouse)
    assert found["UNCOMPRESSED"] == {"n", "f"}
    assert found["ZSTD"] >= {"_KEY_id", "id", "step", "name", "parts.list.element"}
    agree(oracle, warehouse, table, rows)
    table.write(rows.slice(0, 5))
    oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])
    agree(oracle, warehouse, table, rows)
