"""Declarations of lookups: the order of tables, and cycles."""

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


def test_a_cycle_and_a_query(lake: Path) -> None:
    lookup = FLIGHTS.partition("source:")[2].replace("dim.planes", "ods.flights").replace("tail: id", "weight: flight")
    (lake / "tables" / "dim.planes.yaml").write_text(f"{PLANES}source:{lookup}")
    with pytest.raises(SettingsError, match=r"both must have the same type"):
        load_settings("local", configs=lake)
    (lake / "tables" / "dim.planes.yaml").write_text(
        f"{PLANES}source: {{type: sql, query: select 1, inputs: [ods.flights], lookup: []}}\n"
    )
    with pytest.raises(SettingsError, match=r"unknown key source.lookup: only files, databases, changes"):
        load_settings("local", configs=lake)
