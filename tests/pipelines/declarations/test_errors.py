"""Every key of every model, given every kind of wrong value: the answer is a sentence in our words."""

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from paimon_lake.declarations import sources
from paimon_lake.declarations.errors import SettingsError, nearest, sentence, text_of
from paimon_lake.declarations.lake.maintenance import Maintenance
from paimon_lake.declarations.schedule import Schedule
from paimon_lake.declarations.settings import DagsterSettings, EnvironmentSettings, SparkSettings
from paimon_lake.declarations.sources.kinds import Kinds
from paimon_lake.declarations.table import TableSpec
from paimon_lake.declarations.tables import checks
from paimon_lake.declarations.tables.partitions import Partitions
from paimon_lake.declarations.tables.rejects import Rejects
from paimon_lake.declarations.tables.sample import Sample
from paimon_lake.declarations.tables.upkeep import Compaction, Retention

MODELS = {
    "source": [m for m in vars(sources).values() if getattr(m, "__name__", "").endswith("Source")],
    "checks": [m for m in vars(checks).values() if re.fullmatch(r"[A-Z]\w+Check", getattr(m, "__name__", ""))],
    "partitions": [Partitions],
    "kinds": [Kinds],
    "schedule": [Schedule],
    "rejects": [Rejects],
    "compaction": [Compaction],
    "retention": [Retention],
    "sample": [Sample],
}
VALID: dict[str, dict[str, Any]] = {
    "files": {"path": "x.csv"},
    "sql": {"query": "SELECT 1", "inputs": "a.b"},
    "python": {"function": "m:f"},
    "database": {"url": "sqlite:///x.db", "table": "t"},
    "not_null": {"columns": "id"},
    "accepted_values": {"column": "id", "values": [1]},
    "range": {"column": "id", "min": 1},
    "freshness": {"max_hours": 1},
    "partitions": {"by": "day", "start": date(2024, 1, 1)},
    "kinds": {"column": "kind"},
}
"""The other keys of a value with one wrong key, by its type or its key."""
SETTINGS = {"spark": SparkSettings, "dagster": DagsterSettings, "maintenance": Maintenance}
HOSTILE: list[Any] = [
    None,
    True,
    0,
    -1,
    10**400,
    2.5,
    float("nan"),
    float("inf"),
    "",
    "text",
    "a" * 10_000,
    "x\ny",
    [],
    [1],
    ["a", "a"],
    [None],
    [[]],
    {},
    {"a": 1},
    {"type": "none"},
    {"a": {"b": [1]}},
    date(2024, 1, 1),
    datetime(2024, 1, 1, 5),
]
JARGON = re.compile(
    r"[Ii]nput should|\binput\b|pydantic|[Vv]alue error|valid (string|integer|tuple|dictionary)|\btag\b|here$"
)


def declarations() -> Iterator[tuple[type[BaseModel], dict[str, Any]]]:
    whole = {"name": "a.b", "columns": {"id": "INT"}, "primary_key": "id"}
    for key in TableSpec.model_fields:
        if key != "name":
            yield from ((TableSpec, {**whole, key: value}) for value in HOSTILE)
    for key, models in MODELS.items():
        for model in models:
            tag = {"type": model.model_fields["type"].annotation.__args__[0]} if "type" in model.model_fields else {}
            for field in model.model_fields:
                for value in HOSTILE:
                    others = VALID.get(tag.get("type", key), {}).items()
                    part = {**tag, **{k: v for k, v in others if k in model.model_fields}, field: value}
                    yield TableSpec, {**whole, key: [part] if key == "checks" else part}
    for key in EnvironmentSettings.model_fields:
        yield from ((EnvironmentSettings, {key: value}) for value in HOSTILE)
    for key, model in SETTINGS.items():
        for field in model.model_fields:
            yield from ((EnvironmentSettings, {key: {field: value}}) for value in HOSTILE)


def test_every_key_with_every_wrong_value_gives_a_sentence() -> None:
    said = set()
    for model, values in declarations():
        try:
            model.model_validate(values)
        except ValidationError as error:
            said.add(sentence(error, model, values, lambda key: ("f", len(key))))
    assert len(said) > 1000
    assert [one for one in said if JARGON.search(one.split(", not ")[0])] == []
    assert [one for one in said if "\n" in one or len(one) > 700] == []
    assert [one for one in said if not re.match(r"f(:\d)?: \w", one)] == []


def test_the_number_of_other_errors() -> None:
    def said(values: dict[str, Any]) -> str:
        with pytest.raises(ValidationError) as raised:
            EnvironmentSettings.model_validate(values)
        return sentence(raised.value, EnvironmentSettings, values, lambda key: ("f", 9 - len(key)))

    assert said({"warehouse": 1}) == "f:8: warehouse must be a text, not 1: write it in quotes"
    assert said({"warehouse": 1, "landing_directory": 2}).endswith("; 1 more error in this file")
    assert said({"warehouse": 1, "landing_directory": 2, "x": 3}).endswith("; 2 more errors in this file")


def test_the_nearest_word() -> None:
    assert nearest("Colums", ["columns", "checks"]) == "; did you mean columns?"
    assert nearest("max-share", ["max_share"]) == "; did you mean max_share?"
    assert nearest("zzz", ["columns"]) == ""


def test_a_key_as_people_write_it() -> None:
    assert text_of(("checks", 2, "columns", 0)) == "checks[2].columns[0]"


def test_an_error_of_settings_is_a_value_error() -> None:
    assert issubclass(SettingsError, ValueError)
