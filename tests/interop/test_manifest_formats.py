"""Manifests in Parquet and ORC, which Java 1.4 writes: read with filters, changes and checks, and never written."""

from __future__ import annotations

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import UnsupportedFeature
from tests.interop.test_java_both_ways import agree


def test_manifests_of_java_in_other_formats_are_read(oracle, warehouse):
    fields = [{"name": "p", "type": "STRING NOT NULL"}, {"name": "k", "type": "INT NOT NULL"}]
    for form, magic in (("orc", b"ORC"), ("parquet", b"PAR1")):
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
        assert table.maintenance.check(deep=True).errors == ()
        manifests = table.context.storage.list(table.context.paths.manifest_directory)
        assert all(
            table.context.storage.read(file.path).startswith(magic) for file in manifests if ".crc" not in file.path
        )
        with pytest.raises(UnsupportedFeature, match=r"manifest\.format"):
            table.write([{"p": "p1", "k": 1}])
