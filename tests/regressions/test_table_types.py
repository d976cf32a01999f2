"""A table whose option ``type`` is not supported is refused with that type's name, in every catalog."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from tests.support.rest_server import Reply, ScriptedServer

SCHEMA = pa.schema([("k", pa.int64())])
OTHERS = ["format-table", "object-table", "iceberg-table", "lance-table", "lance", "view", "Format-Table"]


@pytest.fixture(params=["filesystem", "sql"])
def catalog(request, tmp_path):
    if request.param == "sql":
        made = paimon.open_catalog(tmp_path / "lake", type="sql", uri=f"sqlite:///{tmp_path}/names.db")
    else:
        made = paimon.open_catalog(tmp_path / "lake")
    made.create_database("db")
    return made


def mark(table, **options):
    """Write options into the schema file, as another engine would do."""
    file = Path(table.location, "schema", "schema-0")
    schema = json.loads(file.read_text())
    schema["options"] |= options
    file.write_text(json.dumps(schema))


@pytest.mark.parametrize("kind", OTHERS)
def test_other_types_are_refused_when_opened(catalog, kind):
    table = catalog.create_table("db.t", SCHEMA)
    mark(table, type=kind, **{"file.format": "csv"})
    with pytest.raises(paimon.UnsupportedFeature, match=rf"table db\.t is of type '{kind}'"):
        catalog.table("db.t")
    with pytest.raises(paimon.UnsupportedFeature, match=kind):
        catalog.create_table("db.t", SCHEMA, ignore_if_exists=True)
    assert not Path(table.location, "snapshot").exists()


@pytest.mark.parametrize("kind", [*OTHERS, "materialized-table"])
def test_other_types_are_refused_at_creation(catalog, kind):
    with pytest.raises(paimon.UnsupportedFeature, match=f"type '{kind}'"):
        catalog.create_table("db.t", SCHEMA, options={"type": kind})
    assert catalog.list_tables("db") == []


def test_type_table_is_ordinary(catalog):
    table = catalog.create_table("db.t", SCHEMA, options={"type": "table"})
    table.write(pa.table({"k": [1]}))
    assert catalog.table("db.t").scan().to_arrow().to_pydict() == {"k": [1]}


def test_a_materialized_table_is_read_and_not_written(catalog):
    table = catalog.create_table("db.t", SCHEMA)
    table.write(pa.table({"k": [1]}))
    mark(table, type="materialized-table", **{"materialized-table.definition-query": "SELECT 1"})
    found = catalog.table("db.t")
    assert found.scan().to_arrow().to_pydict() == {"k": [1]}
    uses = found.inspect.options().to_pylist()
    assert [o["use"] for o in uses if o["key"] == "type"] == ["stops writes"]
    with pytest.raises(paimon.UnsupportedFeature, match="type=materialized-table"):
        found.write(pa.table({"k": [2]}))


def test_a_server_tells_the_type_of_a_table_without_a_schema_file(tmp_path):
    server = ScriptedServer()
    try:
        server.on("GET /v1/config", Reply(body={"defaults": {}, "overrides": {}}))
        told = {"id": "i", "path": f"file:{tmp_path}/t", "schemaId": 0, "schema": {"options": {"type": "format-table"}}}
        server.on("GET /v1/databases/db/tables/t", Reply(body=told))
        catalog = paimon.open_catalog("lake", type="rest", uri=server.uri)
        with pytest.raises(paimon.UnsupportedFeature, match="type 'format-table'"):
            catalog.table("db.t")
    finally:
        server.close()
