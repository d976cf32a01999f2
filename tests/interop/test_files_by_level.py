"""Files whose compression goes by level: Java reads ours and we read Java's, whichever codec a level has."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from tests.interop.test_java_both_ways import agree

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string())])
CODECS = {"zstd": "ZSTD", "snappy": "SNAPPY", "gzip": "GZIP", "lz4": "LZ4", "none": "UNCOMPRESSED"}


def codecs(table, warehouse):
    """The codec of the files of each level."""
    files = table.inspect.files()
    found = {}
    for level, name in zip(files["level"].to_pylist(), files["file_name"].to_pylist(), strict=True):
        metadata = pq.ParquetFile(f"{warehouse}/db.db/t/bucket-0/{name}").metadata
        found.setdefault(level, set()).add(metadata.row_group(0).column(0).compression)
    return found


@pytest.mark.parametrize(("fresh", "compacted"), [("lz4", "gzip"), ("none", "snappy"), ("snappy", "none")])
def test_levels_have_codecs_of_their_own(oracle, warehouse, fresh, compacted):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true", "file.compression.per.level": f"0:{fresh},5:{compacted}"}
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    rows = pa.table([range(3000), [f"text {n % 7}" for n in range(3000)]], schema=SCHEMA)
    table.write(rows)
    table.write(rows.slice(0, 10))
    assert codecs(table, warehouse) == {0: {CODECS[fresh]}}
    agree(oracle, warehouse, table, rows)
    table.compact(full=True)
    assert codecs(table, warehouse) == {5: {CODECS[compacted]}}
    agree(oracle, warehouse, table, rows)
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 1, "text 1"], ["+I", 3, "text 3"]]}])
    # Java's lz4 is Hadoop's framing of it, which has no name in pyarrow, but is read
    assert codecs(table, warehouse) == {0: {"UNKNOWN" if fresh == "lz4" else CODECS[fresh]}, 5: {CODECS[compacted]}}
    agree(oracle, warehouse, table, rows)
    oracle.run(warehouse, [{"op": "compact", "table": "db.t"}])
    assert codecs(table, warehouse) == {5: {CODECS[compacted]}}
    agree(oracle, warehouse, table, rows)
