"""Manifests in Parquet and ORC (option manifest.format): read and written by both sides, with the same columns."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from tests.interop.test_java_both_ways import agree

MAGIC = {"orc": b"ORC", "parquet": b"PAR1"}


def manifests(table):
    """Return the manifests by the kind in their names: the newest bytes of each."""
    files = table.context.storage.list(table.context.paths.manifest_directory)
    files = sorted((f for f in files if ".crc" not in f.path), key=lambda f: f.modified_millis)
    return {f.name.rpartition("-")[0][:-37]: table.context.storage.read(f.path) for f in files}


def columns(form, data):
    """Return the columns and their types, apart from metadata and from fields that Java 1.4 does not know."""
    file = orc.ORCFile(io.BytesIO(data)) if form == "orc" else pq.ParquetFile(io.BytesIO(data))
    found = file.schema if form == "orc" else file.schema_arrow
    return str(pa.schema([pa.field(f.name, _plain(f.type)) for f in found]))


def _plain(kind):
    if pa.types.is_struct(kind):
        return pa.struct([(f.name, _plain(f.type)) for f in kind if f.name != "_WRITE_COLS_SEQUENCES"])
    return pa.list_(_plain(kind.value_type)) if pa.types.is_list(kind) else kind


@pytest.mark.parametrize("form", ["orc", "parquet"])
def test_manifests_in_other_formats_are_read_and_written_by_both(oracle, warehouse, form):
    fields = [{"name": "p", "type": "STRING NOT NULL"}, {"name": "k", "type": "INT NOT NULL"}]
    name = f"db.{form}"
    options = {"bucket": "2", "manifest.format": form, "deletion-vectors.enabled": "true"}
    create = {"fields": fields, "primaryKeys": ["p", "k"], "partitionKeys": ["p"], "options": options}
    steps = [{"op": "create", "table": name, **create}]
    for start in range(0, 30, 10):
        rows = [["+I", f"p{n % 3}", n] for n in range(start, start + 10)]
        steps.append({"op": "write", "table": name, "rows": [*rows, ["-D", f"p{start % 3}", start]]})
        steps.append({"op": "compact", "table": name, "full": False})
    oracle.run(warehouse, [*steps, {"op": "compact", "table": name}])
    table = paimon.open_catalog(warehouse).table(name)
    expected = [{"p": f"p{n % 3}", "k": n} for n in range(30) if n % 10]
    agree(oracle, warehouse, table, pa.Table.from_pylist(expected, table.schema.arrow))
    found = table.scan(where=(paimon.col("p") == "p1") & (paimon.col("k") > 20)).to_arrow()
    assert sorted(found["k"].to_pylist()) == [22, 25, 28]
    theirs = {kind: columns(form, data) for kind, data in manifests(table).items()}
    table.write([{"p": "p1", "k": k} for k in (31, 34)])
    table.delete(paimon.col("k") == 1)
    table.compact()
    assert all(data.startswith(MAGIC[form]) for data in manifests(table).values())
    ours = {kind: columns(form, data) for kind, data in manifests(table).items()}
    assert {kind: ours[kind] for kind in theirs} == theirs
    assert table.latest_snapshot().index_manifest is not None
    expected = [row for row in [*expected, {"p": "p1", "k": 31}, {"p": "p1", "k": 34}] if row["k"] != 1]
    agree(oracle, warehouse, table, pa.Table.from_pylist(expected, table.schema.arrow))
    rows = [["+I", "p1", 37], ["-D", "p1", 31]]
    oracle.run(warehouse, [{"op": "write", "table": name, "rows": rows}, {"op": "compact", "table": name}])
    expected = [row for row in [*expected, {"p": "p1", "k": 37}] if row["k"] != 31]
    agree(oracle, warehouse, table.refresh(), pa.Table.from_pylist(expected, table.schema.arrow))
    assert table.refresh().maintenance.check(deep=True).errors == ()


def test_the_format_of_manifests_does_not_change(warehouse):
    """Java reads all manifests of a table in the format that the option names."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table(
        "db.t", {"k": "INT"}, options={"manifest.format": "orc", "manifest.compression": "none"}
    )
    table.write([{"k": 1}])
    with pytest.raises(paimon.InvalidOption, match=r"manifest\.format"):
        table.alter("SET ('manifest.format' = 'avro')")
    with pytest.raises(paimon.InvalidOption, match=r"manifest\.format"):
        table.with_options({"manifest.format": "avro"})
