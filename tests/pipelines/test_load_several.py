"""``load`` of several tables: in the order of inputs, within one session; a failure stops only what depends on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_lake.cli import main as cli_main
from paimon_lake.cli.main import main
from tests.support.lakes import SmallLake

CITIES = "columns: {id: INT, city: STRING}\nprimary_key: id\nsource: {type: files, path: cities.csv}\ntags: dims\n"
ORDERS = """
columns: {id: INT, at: INT, city: STRING}
primary_key: id
source:
  type: files
  path: orders/{date}.csv
  lookup: [{table: z.cities, on: {at: id}, columns: {city: city}, missing: reject}]
partitions: {by: day, start: 2024-01-01, end: 2024-01-03}
"""
OTHER = "columns: {id: INT}\nprimary_key: id\nsource: {type: files, path: other.csv}\n"


@pytest.fixture
def shop(quick: SmallLake, monkeypatch: pytest.MonkeyPatch) -> SmallLake:
    quick.declare("z.cities", CITIES)
    quick.declare("a.orders", ORDERS)
    quick.declare("b.other", OTHER)
    quick.declare("c.typed", "columns: {id: INT}\nprimary_key: id\n")
    quick.file("cities.csv", "id,city\n1,Rome\n")
    for day in (1, 2, 3):
        quick.file(f"orders/2024-01-0{day}.csv", f"id,at\n{day},1\n")
    quick.file("other.csv", "id\n1\n")
    monkeypatch.setattr(cli_main, "start_session", lambda _: quick.session)
    return quick


def load(lake: SmallLake, *arguments: str) -> int:
    return main(["load", *arguments, "--configs", str(lake.folder)])


def test_all_tables_are_loaded_after_what_they_look_up(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert load(shop, "--all", "--partition", "2024-01-02..") == 0
    said = capsys.readouterr()
    assert [line.split(":")[0] for line in said.out.splitlines()] == ["load b.other", "load z.cities", "load a.orders"]
    assert said.err.splitlines() == [
        "paimon-lake load: c.typed has no source: it is not loaded",
        "paimon-lake load: b.other has no partitions: it is loaded as a whole",
        "paimon-lake load: z.cities has no partitions: it is loaded as a whole",
    ]
    assert shop.rows("a.orders") == [(2, 1, "Rome"), (3, 1, "Rome")]


def test_downstream_and_tags(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert load(shop, "--table", "tag:dims", "--downstream") == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["load z.cities", "load a.orders"]
    assert main(["show", "--table", "tag:dims", "--configs", str(shop.folder)]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]] == ["z.cities"]


def test_a_failure_stops_only_what_is_made_from_it(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    Path(shop.folder, "cities.csv").write_text("id,town\n1,Rome\n")
    assert load(shop, "--all") == 1
    said = capsys.readouterr()
    assert [line.split(":")[0] for line in said.out.splitlines()] == ["load b.other"]
    lines = said.err.splitlines()
    assert lines[1].startswith("paimon-lake load: z.cities: ")
    assert "city" in lines[1]
    assert lines[2:] == [
        "paimon-lake load: a.orders: is not loaded, because z.cities failed",
        "paimon-lake load: 2 of 3 tables were not loaded: z.cities, a.orders",
    ]


def test_a_wrong_partition_is_refused_before_any_load(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert load(shop, "--all", "--from", "2024-01-04") == 2
    assert "a.orders has no partition 2024-01-04: its partitions run from 2024-01-01" in capsys.readouterr().err
    assert load(shop, "--table", "b.other", "z.cities", "--partition", "2024-01-01") == 2
    assert "none of the 2 chosen tables has partitions" in capsys.readouterr().err
    assert not Path(shop.folder, "warehouse").exists()
