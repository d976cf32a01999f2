"""The ignored options of a table: they are logged once, and shown with their use."""

import json
import logging

import pyarrow as pa
import pytest

import paimon_core as paimon

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string())])
IGNORED = {"my.custom.key": "secret", "sort-engine": "min-heap", "chain-table.enabled": "false"}


@pytest.fixture
def catalog(tmp_path):
    catalog = paimon.open_catalog(tmp_path / "lake")
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA, primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    path = tmp_path / "lake" / "db.db" / "t" / "schema" / "schema-0"
    members = json.loads(path.read_text())
    members["options"] |= IGNORED
    path.write_text(json.dumps(members))
    return catalog


def test_ignored_options_are_logged_once_and_their_values_not(catalog, caplog):
    with caplog.at_level(logging.INFO, "paimon_core"):
        for _ in range(3):
            catalog.table("db.t").refresh()
    (message,) = [r.getMessage() for r in caplog.records if "has options" in r.getMessage()]
    assert message.startswith("table db.t has options")
    assert message.endswith(": my.custom.key, sort-engine")


def test_nothing_is_logged_without_ignored_options(catalog, caplog):
    with caplog.at_level(logging.INFO, "paimon_core"):
        catalog.create_table("db.plain", SCHEMA)
    assert caplog.records == []


def test_the_use_of_each_option_is_shown_and_the_table_is_written(catalog):
    table = catalog.table("db.t")
    assert {row["key"]: row["use"] for row in table.inspect.options().to_pylist()} == {
        "bucket": "obeyed",
        "write-only": "obeyed",
        "my.custom.key": "foreign",
        "sort-engine": "ignored",
        "chain-table.enabled": "idle",
    }
    for value in ("a", "b"):
        table.write(pa.table({"k": pa.array([1], pa.int32()), "v": [value]}, schema=table.schema.arrow))
    table.compact(full=True)
    assert catalog.table("db.t").scan().to_arrow()["v"].to_pylist() == ["b"]
