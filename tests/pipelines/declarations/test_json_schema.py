"""The schemas for editors are those of the models, and accept what the models accept."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from paimon_lake.declarations import json_schema
from paimon_lake.declarations.settings import EnvironmentSettings
from paimon_lake.declarations.table import TableSpec
from paimon_lake.declarations.yaml_file import read_yaml
from tests.support.project import CONFIGS

FILES = sorted(CONFIGS.glob("*.yaml")) + sorted((CONFIGS / "tables").glob("*.yaml"))
TABLE, SETTINGS = (Draft202012Validator(make()) for make in (json_schema.table_schema, json_schema.settings_schema))


def as_editors_read(value: Any) -> Any:
    """Dates are texts in JSON."""
    if isinstance(value, dict):
        return {str(key): as_editors_read(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_editors_read(one) for one in value]
    return value.isoformat() if isinstance(value, date) else value


@pytest.mark.parametrize("name", json_schema.SCHEMAS)
def test_the_kept_files_are_what_the_models_give(name: str) -> None:
    assert (CONFIGS / "schema" / name).read_text() == json_schema.texts()[name], "run `make reference`"
    Draft202012Validator.check_schema(json_schema.SCHEMAS[name]())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_valid_and_names_its_schema(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    schema = path.parent / first.removeprefix("# yaml-language-server: $schema=")
    is_table = path.parent.name == "tables"
    assert schema.resolve() == CONFIGS / "schema" / ("table.json" if is_table else "settings.json")
    (TABLE if is_table else SETTINGS).validate(as_editors_read(read_yaml(path).values))


SHORT = [
    {"primary_key": "id"},
    {"primary_key": ["id"]},
    {"columns": "infer"},
    {"columns": {"id": "INT"}},
    {"partitions": "none"},
    {"partitions": "dynamic"},
    {"partitions": None},
    {"partitions": {"by": "day", "start": "2024-01-01"}},
    {"partitions": {"by": "static", "values": "all"}},
    {"schedule": "0 5 * * *"},
    {"schedule": {"on": "files"}},
    {"options": {"bucket": 2, "write-only": True, "x": 1.5, "merge-engine": "deduplicate"}},
    {"owners": "team:shop"},
    {"source": {"type": "sql", "query": "SELECT 1", "inputs": "a.b"}},
    {
        "source": {
            "type": "files",
            "path": "x.csv",
            "add": {"id": "partition"},
            "options": {"delimiter": ";", "skip": 1},
        }
    },
    {"source": {"type": "python", "function": "m:f"}},
    {"source": {"type": "database", "url": "sqlite:///x.db", "table": "t"}},
    {
        "checks": [
            {"type": "not_null", "columns": "id"},
            {"type": "accepted_values", "column": "id", "values": [1, "a"]},
        ]
    },
    {"checks": [{"type": "freshness", "max_hours": 2}, {"type": "row_count"}, {"type": "volume", "max_ratio": 3}]},
    {"rejects": {"max_share": 1}},
]


@pytest.mark.parametrize("part", SHORT, ids=str)
def test_what_the_models_accept_is_valid(part: dict[str, Any]) -> None:
    values = {"columns": {"id": "INT"}, "primary_key": "id", "source": {"type": "files", "path": "x.csv"}, **part}
    TableSpec.model_validate({"name": "a.b", **values})
    TABLE.validate(values)


@pytest.mark.parametrize(
    "part",
    [
        {"colums": {}},
        {"columns": "inferred"},
        {"columns": {"id": 1}},
        {"primary_key": [1]},
        {"partitions": "daily"},
        {"partitions": {"by": "day", "begin": "2024-01-01"}},
        {"mode": "insert"},
        {"source": {"type": "kafka"}},
        {"source": {"type": "pulsar"}},
        {"source": {"path": "x"}},
        {"source": {"type": "files"}},
        {"source": {"type": "sql", "query": "SELECT 1", "inputs": []}},
        {"checks": [{"type": "not_null", "columns": []}]},
        {"checks": {"type": "not_null"}},
        {"options": {"bucket": [1]}},
        {"backfill_per_run": 0},
        {"rejects": {"max_share": 2}},
    ],
    ids=str,
)
def test_what_the_models_refuse_is_not_valid(part: dict[str, Any]) -> None:
    assert not TABLE.is_valid(part)
    with pytest.raises(ValueError):
        TableSpec.model_validate({"columns": {"id": "INT"}, "primary_key": "id", "name": "a.b", **part})


def test_the_name_is_that_of_the_file() -> None:
    assert not TABLE.is_valid({"name": "a.b"})


def test_an_environment_may_set_any_part() -> None:
    SETTINGS.validate({})
    SETTINGS.validate({"dagster": {"step_retries": 3}, "spark": {"conf": {"a": 1, "b": True}}})
    assert not SETTINGS.is_valid({"dagster": {"step_retries": "two"}})


@pytest.mark.parametrize("model", [TableSpec, EnvironmentSettings])
def test_every_key_has_a_sentence(model: type[TableSpec]) -> None:
    schema = json_schema.SCHEMAS["table.json" if model is TableSpec else "settings.json"]()
    for part in (schema, *schema["$defs"].values()):
        assert part["description"].endswith(".")
        for name, value in part["properties"].items():
            assert value["description"].endswith("."), name


def test_another_folder_gets_the_schemas(tmp_path: Path) -> None:
    json_schema.write_schemas(tmp_path / "lake")
    assert sorted(path.name for path in (tmp_path / "lake" / "schema").iterdir()) == ["settings.json", "table.json"]
