"""The selector ``changed`` chooses the tables whose definitions differ from an earlier folder of declarations."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_lake.cli import main as cli_main
from paimon_lake.cli.main import main
from paimon_lake.steps.changed import changed_tables
from tests.support.lakes import SmallLake

ORDERS = "columns: {id: INT, n: INT}\nprimary_key: id\nsource: {type: files, path: orders.csv}\n"
QUERY = "columns: {id: INT}\nprimary_key: id\nsource: {type: sql, file: report.sql, inputs: shop.orders}\n"
FUNCTION = (
    "columns: {id: INT}\nprimary_key: id\nsource: {type: python, function: 'shop:daily', inputs: [shop.report]}\n"
)
FETCHED = "columns: {id: INT}\nprimary_key: id\nsource: {type: files, path: x.csv, fetch: 'bring:all'}\n"


@pytest.fixture
def shop(quick: SmallLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallLake:
    quick.declare("shop.orders", ORDERS)
    quick.declare("shop.report", QUERY)
    quick.declare("shop.daily", FUNCTION)
    quick.declare("shop.fetched", FETCHED)
    quick.file("report.sql", "SELECT id FROM shop.orders\n")
    quick.file("shop.py", "def daily(spark, step): ...\n")
    quick.file("bring.py", "def all(step): ...\n")
    quick.file("orders.csv", "id,n\n1,2\n")
    shutil.copytree(quick.folder, tmp_path / "earlier")
    monkeypatch.setattr(cli_main, "start_session", lambda _: quick.session)
    return quick


def add(path: str, text: str) -> Callable[[SmallLake], object]:
    return lambda lake: lake.file(path, (lake.folder / path).read_text() + text)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda lake: None, []),
        (lambda lake: lake.declare("shop.orders", "# a note\n" + ORDERS.replace(": id\n", ": [id]\n")), []),
        (lambda lake: lake.declare("shop.orders", ORDERS + "comment: orders\n"), ["shop.orders"]),
        (lambda lake: lake.declare("shop.orders", ORDERS.replace("{id", "{m: INT, id")), ["shop.orders"]),
        (lambda lake: lake.declare("shop.new", "columns: {id: INT}\nprimary_key: id\n"), ["shop.new"]),
        (lambda lake: (lake.folder / "tables/shop.fetched.yaml").unlink(), []),
        (add("report.sql", "WHERE id > 1\n"), ["shop.report"]),
        (add("shop.py", "# new\n"), ["shop.daily"]),
        (add("bring.py", "# new\n"), ["shop.fetched"]),
        (add("base.yaml", "dagster: {step_retries: 7}\n"), []),
    ],
    ids=range(10),
)
def test_what_counts_as_changed(
    shop: SmallLake, tmp_path: Path, change: Callable[[SmallLake], object], names: list[str]
) -> None:
    change(shop)
    assert changed_tables(shop.settings, tmp_path / "earlier") == names


def run(shop: SmallLake, *arguments: str) -> int:
    return main([*arguments, "--configs", str(shop.folder)])


def test_changed_tables_are_loaded_with_the_tables_made_from_them(
    shop: SmallLake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = ("--state", str(tmp_path / "earlier"))
    for command in ("load", "show", "compile", "test"):
        assert run(shop, command, "--table", "changed", *state) == 0
        said = "".join(capsys.readouterr())
        assert said.strip().endswith(f"no definition differs from {tmp_path / 'earlier'}"), command
    assert run(shop, "compile", "--json", "--table", "changed", *state) == 0
    assert capsys.readouterr().out == ""
    shop.declare("shop.orders", ORDERS + "comment: orders\n")
    assert run(shop, "load", "--table", "changed", *state) == 0
    assert capsys.readouterr().out.startswith("load shop.orders: ")
    assert run(shop, "compile", "--json", "--table", "changed+", *state) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["name"] for line in printed] == ["shop.orders", "shop.report", "shop.daily"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["load", "--table", "changed"], "--table changed needs --state"),
        (["compile", "--table", "+changed"], "--table changed needs --state"),
        (["show", "--state", "x"], "--state needs the selector changed"),
        (["load", "--table", "shop.orders", "--state", "x"], "--state needs the selector changed"),
        (["load", "--all", "--state", "x"], "--state has no effect with --all"),
        (["load", "--table", "changed", "--state", "x"], "x is not a directory"),
    ],
    ids=range(6),
)
def test_wrong_requests(shop: SmallLake, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert run(shop, *arguments) == 2
    assert said in capsys.readouterr().err
