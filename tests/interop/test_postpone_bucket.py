"""Postpone bucket: Java and we write the same files, and each reads what the other spread."""

from __future__ import annotations

import json
import pathlib

import pyarrow as pa

import paimon_core as paimon

FIELDS = [
    {"name": "p", "type": "INT NOT NULL"},
    {"name": "k", "type": "STRING NOT NULL"},
    {"name": "v", "type": "INT"},
]
KEYED = {"primaryKeys": ["p", "k"], "partitionKeys": ["p"]}
WAITING = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "3"}
FIRST = [[p, f"k{k}", k] for p in (1, 2) for k in range(6)]
SECOND = [[1, "k0", 100], [1, "k7", 7], [1, "k0", 200]]


def waiting(table):
    """The members of the entries of the postpone bucket that do not depend on names, sizes and times."""
    found = [e for e in table.context.manifests.entries_of(table.latest_snapshot()) if e.bucket == -2]
    members = ("level", "row_count", "min_key", "max_key", "key_stats", "value_stats", "value_stats_cols")
    members += ("min_sequence_number", "max_sequence_number", "schema_id", "delete_row_count", "file_source")
    return sorted(
        [(e.partition, e.total_buckets, *(getattr(e.file, name) for name in members)) for e in found], key=repr
    )


def avro_schemas(table):
    """The schemas in the headers of the files of the postpone bucket."""
    root = pathlib.Path(table.context.paths.root.removeprefix("file://"))
    texts = [f.read_bytes().decode("latin-1") for f in root.rglob("bucket-postpone/data--u-*-s-*-w-*.avro")]
    assert texts
    return [json.JSONDecoder().raw_decode(text, text.index('{"'))[0] for text in texts]


def test_files_and_rows_are_those_of_java(oracle, warehouse):
    oracle.run(
        warehouse,
        [{"op": "create", "table": f"db.{t}", "fields": FIELDS, **KEYED, "options": WAITING} for t in ("t", "u")]
        + [{"op": "write", "table": "db.t", "rows": [["+I", *r] for r in rows]} for rows in (FIRST, SECOND)]
        + [{"op": "write", "table": "db.t", "rows": [["-D", 2, "k5", 5]]}],
    )
    catalog = paimon.open_catalog(warehouse)
    java, ours = catalog.table("db.t"), catalog.table("db.u")
    names = ["p", "k", "v"]
    for rows in (FIRST, SECOND):
        ours.write([dict(zip(names, row, strict=True)) for row in rows])
    ours.write([{"p": 2, "k": "k5", "v": 5}], kinds=pa.array(["-D"]))
    assert waiting(ours) == waiting(java) != []
    assert java.scan().to_arrow().num_rows == 0
    assert oracle.dump(warehouse, "db.u") == oracle.dump(warehouse, "db.t") == []
    assert avro_schemas(ours) == avro_schemas(java)
    java.compact()
    ours.compact()
    assert java.scan().to_arrow().sort_by([("p", "ascending"), ("k", "ascending")]) == ours.scan().to_arrow().sort_by(
        [("p", "ascending"), ("k", "ascending")]
    )
    seen = oracle.dump(warehouse, "db.t")
    assert sorted(seen) == sorted(oracle.dump(warehouse, "db.u"))
    assert len(seen) == 12
    assert java.maintenance.check(deep=True).findings == ()
