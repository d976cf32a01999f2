"""Declarations of lookups: the order of tables, and cycles."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_lake.declarations import SettingsError
from paimon_lake.declarations.agreement.order import in_order
from tests.support.declared_lakes import LOOKUPS, OTHERS, written_lake


def test_lookups_order_the_tables(tmp_path: Path) -> None:
    planes = {"dim.planes": OTHERS["dim.planes"]}
    settings = written_lake(tmp_path / "lake", {**planes, **dict([LOOKUPS])})
    assert in_order(settings.tables) == [["dim.planes"], ["ods.flights"]]
    assert settings.table("ods.flights").waiting_table == "ods.flights__waiting"


def test_tables_that_look_up_each_other(tmp_path: Path) -> None:
    table = "columns: {id: BIGINT, v: INT, other: INT}\nprimary_key: id\nsource:\n  type: files\n  path: '*.csv'\n"
    lookup = "  lookup: [{table: d.%s, on: {id: id}, columns: {other: v}}]\n"
    with pytest.raises(SettingsError, match=r":6: the lookups form a cycle: d\.a <- d\.b <- d\.a$"):
        written_lake(tmp_path / "lake", {"d.a": table + lookup % "b", "d.b": table + lookup % "a"})


def test_a_query_has_no_lookups(tmp_path: Path) -> None:
    name, flights = LOOKUPS
    query = "source: {type: sql, query: select 1, inputs: [dim.planes], lookup: []}\n"
    tables = {**OTHERS, name: flights.partition("source:")[0] + query}
    with pytest.raises(SettingsError, match=r"unknown key source.lookup: only files, databases, changes"):
        written_lake(tmp_path / "lake", tables)
