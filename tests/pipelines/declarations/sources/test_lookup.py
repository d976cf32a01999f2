"""Declarations of lookups: what does not fit is one sentence with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_lake.declarations import SettingsError, load_settings
from paimon_lake.declarations.agreement.order import in_order

PLANES = "columns: {id: STRING, model: STRING, weight: DOUBLE}\nprimary_key: id\n"
FLIGHTS = """\
columns: {flight: BIGINT, tail: STRING, model: STRING}
primary_key: flight
source:
  type: files
  path: "flights/*.csv"
  lookup:
    - table: dim.planes
      on: {tail: id}
      columns: {model: model}
      missing: wait
      max_wait: 2 d
"""
MISTAKES = [
    ("table: dim.planes", "table: dim.plane", "source.lookup: dim.plane is not declared; did you mean dim.planes?"),
    ("table: dim.planes", "table: planes", "table: must be <database>.<table>, not 'planes'"),
    (
        "on: {tail: id}",
        "on: {tail: model}",
        "on gives model of dim.planes, and it must give each column of its",
    ),
    ("on: {tail: id}", "on: {flight: id}", "flight is BIGINT, and id of dim.planes is STRING: both must have the"),
    ("on: {tail: id}", "on: {model: id}", "on.model: 'model' is looked up itself, by source.lookup[0]: name columns"),
    ("on: {tail: id}", "on: {}", "on must"),
    ("columns: {model: model}", "columns: {modl: model}", "'modl' is not a column; did you mean model?"),
    ("columns: {model: model}", "columns: {model: modl}", "'modl' is not a column of dim.planes; did you mean model?"),
    (
        "columns: {model: model}",
        "columns: {model: weight}",
        "model is STRING, and weight of dim.planes is DOUBLE: both",
    ),
    ("columns: {model: model}", "columns: {flight: model}", "it is in primary_key, which needs its value from"),
    ("missing: wait", "missing: later", "missing must be one of null, reject, wait, not 'later'"),
    ("      max_wait: 2 d\n", "", "source.lookup[0]: missing: wait needs max_wait, such as max_wait: 2 d"),
    ("max_wait: 2 d", "max_wait: '2'", "max_wait: must be a duration with its unit, such as 2 d or 12 h, not '2'"),
    ("missing: wait", "missing: null", "source.lookup[0]: max_wait needs missing: wait"),
    ("max_wait: 2 d", "max_wait: 2 d\n      refresh: true", "rows are not updated yet when the other table changes"),
    ("max_wait: 2 d", "max_wait: 2 d\n      cache_bytes: 5", "cache_bytes must be"),
    (
        "primary_key: flight",
        "primary_key: flight\noptions: {merge-engine: aggregation}",
        "wait does not fit merge-engine",
    ),
    (
        "primary_key: flight",
        "primary_key: flight\noptions: {ignore-delete: 'true'}",
        "source.lookup[0].missing: wait does not fit options.ignore-delete: a delete that the table ignores",
    ),
    (
        "primary_key: flight",
        "primary_key: flight\noptions: {deduplicate.ignore-delete: 'true'}",
        "wait does not fit options.deduplicate.ignore-delete",
    ),
    ("primary_key: flight", "primary_key: flight\nmode: overwrite", "wait does not fit mode overwrite: a load"),
    ("{flight: BIGINT, tail: STRING, model: STRING}", "infer", "columns of a table with lookups cannot be inferred"),
    (
        "    - table",
        "    - {table: dim.planes, on: {tail: id}, columns: {model: id}}\n    - table",
        "looked up by source",
    ),
    (
        "model: STRING}",
        "model: STRING, __load: INT}",
        "'__load' is a column of tables of waiting rows",
    ),
    ('path: "flights/*.csv"', 'path: "flights/*.csv"\n  rename: {tail: x}', "is not a column"),
    (
        'path: "flights/*.csv"\n',
        'path: "flights/*.csv"\n  key_from: {}\n',
        "a key from a mapping table is not supported",
    ),
]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "base.yaml").write_text("warehouse: w\n")
    (tmp_path / "local.yaml").write_text("{}\n")
    (tmp_path / "tables" / "dim.planes.yaml").write_text(PLANES)
    (tmp_path / "tables" / "ods.flights.yaml").write_text(FLIGHTS)
    return tmp_path


def test_lookups_order_the_tables(lake: Path) -> None:
    settings = load_settings("local", configs=lake)
    assert in_order(settings.tables) == [["dim.planes"], ["ods.flights"]]
    assert settings.table("ods.flights").waiting_table == "ods.flights__waiting"


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_a_mistake(lake: Path, old: str, new: str, message: str) -> None:
    assert old in FLIGHTS
    (lake / "tables" / "ods.flights.yaml").write_text(FLIGHTS.replace(old, new))
    with pytest.raises(SettingsError) as error:
        load_settings("local", configs=lake)
    assert str(error.value).startswith(str(lake / "tables" / "ods.flights.yaml"))
    assert message in str(error.value)


def test_a_cycle_and_a_query(lake: Path) -> None:
    lookup = FLIGHTS.partition("source:")[2].replace("dim.planes", "ods.flights").replace("tail: id", "weight: flight")
    (lake / "tables" / "dim.planes.yaml").write_text(f"{PLANES}source:{lookup}")
    with pytest.raises(SettingsError, match=r"both must have the same type"):
        load_settings("local", configs=lake)
    (lake / "tables" / "dim.planes.yaml").write_text(
        f"{PLANES}source: {{type: sql, query: select 1, inputs: [ods.flights], lookup: []}}\n"
    )
    with pytest.raises(
        SettingsError, match=r"unknown key source.lookup: only files, databases, changes and messages have it"
    ):
        load_settings("local", configs=lake)
