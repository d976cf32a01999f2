"""Java's partitions, directories, buckets and manifests, byte for byte as the codecs have them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_core.codec.avro.container import read_avro, write_avro
from paimon_core.codec.binary_row.bucket_hash import bucket_of, hash_rows
from paimon_core.codec.binary_row.rows import decode_row, encode_row, encode_rows, to_array
from paimon_core.codec.partition_text import partition_values
from paimon_core.storage.paths import partition_path
from paimon_core.types import parse_type

VALUES = {
    "BOOLEAN": [True, False],
    "TINYINT": [-7, 127],
    "SMALLINT": [-300],
    "INT": [-5, 2**31 - 1],
    "BIGINT": [-(2**63), 1234567890123],
    "FLOAT": [0.1, 1e10, -0.0, 16777216.0, 1.4e-45, "NaN", "-Infinity"],
    "DOUBLE": [0.1, 1e10, 9999999.999, 0.001, 0.00099, 4.9e-324, "Infinity"],
    "DECIMAL(10, 2)": ["12.30", "-0.05", "0.00"],
    "DECIMAL(30, 10)": ["12345678901234567890.0123456789", "-0.0000000001"],
    "CHAR(6)": ["ab", " "],
    "STRING": ["", "  ", "a b:c=d/e%f", "\u3000", "\u00a0", "中文, longer than seven", "\u001f"],
    "DATE": ["2024-01-15", "1969-12-31", "0001-01-01", "9999-12-31"],
    "TIME(0)": ["03:25:45"],
    "TIME(2)": ["03:25:45.05", "03:25:45.60"],
    "TIME(3)": ["03:25:45.678", "03:25:45.005", "00:00:00"],
    "TIMESTAMP(0)": ["2024-01-15T10:30:00", "2024-01-15T10:30:05"],
    "TIMESTAMP(3)": ["2024-01-15T10:30:00.123", "2024-01-15T10:30:00", "1969-12-31T23:59:59.999"],
    "TIMESTAMP(6)": ["2024-01-15T10:30:00.123456", "2024-01-15T10:30:00.1", "1969-12-31T23:59:59.999999"],
    "TIMESTAMP(9)": ["2024-01-15T10:30:00.123456789", "1960-01-15T10:30:00.000000001"],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": ["2024-01-15T10:30:00.123456Z"],
}
BINARIES = {"BINARY(4)": ["61626364"], "BYTES": ["6162636465666768", ""]}
DEFAULT = "__DEFAULT_PARTITION__"


def entries(table: Path) -> Iterator[dict]:
    """The entries of the table's first commit."""
    snapshot = json.loads((table / "snapshot/snapshot-1").read_text())
    for listed in read_avro((table / "manifest" / snapshot["deltaManifestList"]).read_bytes(), "list"):
        yield from read_avro((table / "manifest" / listed["_FILE_NAME"]).read_bytes(), "manifest")


def create(table: str, kind: str, options: dict[str, str], key: str = "INT") -> dict:
    fields = [{"name": "p", "type": key}, {"name": "v", "type": kind}]
    return {"op": "create", "table": table, "fields": fields, "partitionKeys": ["p"], "options": options}


@pytest.mark.parametrize("legacy", [True, False])
def test_partitions_lie_where_java_puts_them(oracle, tmp_path, legacy):
    kinds = VALUES if legacy else VALUES | BINARIES
    steps: list[dict] = []
    for number, (kind, values) in enumerate(kinds.items()):
        options = {"partition.legacy-name": str(legacy).lower()}
        steps.append(create(f"d.t{number}", "INT", options, key=kind))
        rows = [["+I", value, at] for at, value in enumerate([*values, None])]
        steps.append({"op": "write", "table": f"d.t{number}", "rows": rows})
    oracle.run(tmp_path, steps)
    for number, (kind, values) in enumerate(kinds.items()):
        table, types = tmp_path / f"d.db/t{number}", [parse_type(kind)]
        found = list(entries(table))
        assert len(found) == len(values) + 1, kind
        for entry in found:
            partition = entry["_PARTITION"]
            row = decode_row(partition, types)
            assert encode_row(row, types) == partition, kind
            assert encode_rows([to_array(row, types[0])], types) == [partition], kind
            folder = partition_path(("p",), partition_values(row, types, legacy=legacy, default_name=DEFAULT))
            assert (table / folder / "bucket-0" / entry["_FILE"]["_FILE_NAME"]).exists(), (kind, row)


def test_rows_fall_into_javas_buckets(oracle, tmp_path):
    """Each value is its own partition too, so that a manifest entry tells value and bucket."""
    kinds = VALUES | BINARIES
    steps: list[dict] = []
    for number, (kind, values) in enumerate(kinds.items()):
        options = {"bucket": "97", "bucket-key": "v", "partition.legacy-name": "false"}
        steps.append(create(f"d.t{number}", kind, options, key=kind))
        rows = [["+I", value, value] for value in [*values, None]]
        steps.append({"op": "write", "table": f"d.t{number}", "rows": rows})
    oracle.run(tmp_path, steps)
    for number, (kind, values) in enumerate(kinds.items()):
        types = [parse_type(kind)]
        found = list(entries(tmp_path / f"d.db/t{number}"))
        assert len(found) == len(values) + 1, kind
        for entry in found:
            (value,) = decode_row(entry["_PARTITION"], types)
            hashes = hash_rows([to_array([value], types[0])], types)
            assert bucket_of(hashes, 97).tolist() == [entry["_BUCKET"]], (kind, value)


@pytest.mark.parametrize("codec", ["zstd", "deflate", "snappy", "none"])
def test_java_reads_our_containers(oracle, tmp_path, codec):
    rows = [["+I", 1, 10], ["+I", 2, 20]]
    oracle.run(tmp_path, [create("d.t", "INT", {}), {"op": "write", "table": "d.t", "rows": rows}])
    shutil.copytree(tmp_path, tmp_path / "ours")
    table = tmp_path / "ours/d.db/t"

    def rewrite(name: str) -> int:
        path = table / "manifest" / name
        records = read_avro(path.read_bytes(), name)
        for record in records:
            if "_NUM_ADDED_FILES" in record:
                record["_FILE_SIZE"] = rewrite(record["_FILE_NAME"])
        return path.write_bytes(write_avro(schema_of(path.read_bytes()), records, codec))

    snapshot = json.loads((table / "snapshot/snapshot-1").read_text())
    for member in ("baseManifestList", "deltaManifestList"):
        snapshot[f"{member}Size"] = rewrite(snapshot[member])
    (table / "snapshot/snapshot-1").write_text(json.dumps(snapshot))
    assert oracle.dump(tmp_path / "ours", "d.t") == rows


def schema_of(data: bytes) -> dict:
    """The writer schema in a container's header."""
    start = data.index(b'{"type":"record"')
    return json.JSONDecoder().raw_decode(data[start : start + 100_000].decode(errors="replace"))[0]
