"""``test`` runs the declared checks, and shows them as they were after earlier loads."""

from __future__ import annotations

import pytest

from paimon_lake.cli.main import main
from tests.support.lakes import SmallLake

ORDERS = """
columns: {id: INT, amount: INT}
primary_key: id
source: {type: files, path: "orders/*.csv"}
checks:
  - {type: range, column: amount, min: 0}
  - {type: row_count, min: 2, severity: warn}
"""


@pytest.fixture
def shop(quick: SmallLake) -> SmallLake:
    quick.declare("shop.orders", ORDERS)
    quick.declare("shop.plain", "columns: {id: INT}\nprimary_key: id\n")
    return quick


def run(lake: SmallLake, *arguments: str) -> int:
    return main(["test", *arguments, "--configs", str(lake.folder)])


def test_checks_and_their_history(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    shop.file("orders/1.csv", "id,amount\n1,5\n")
    shop.load("shop.orders")
    assert run(shop) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "ok    shop.orders range_amount",
        "warn  shop.orders row_count",
    ]
    shop.file("orders/2.csv", "id,amount\n2,-5\n")
    shop.load("shop.orders")
    assert run(shop, "--table", "shop.orders", "--history", "5") == 1
    lines = [line.split(",")[0].split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "WRONG shop.orders range_amount",
        "      WRONG snapshot 2",
        "      ok    snapshot 1",
        "ok    shop.orders row_count",
        "      ok    snapshot 2",
        "      warn  snapshot 1",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--table", "shop.plain"], 2, "no check is declared for shop.plain"),
        (["--history", "101"], 2, "--history must be a number of loads from 0 to 100, not 101"),
        (["--table", "shop.order"], 2, "no table 'shop.order' is declared"),
        ([], 1, "WRONG shop.orders: is not in the lake yet"),
    ],
    ids=str,
)
def test_wrong_requests(
    shop: SmallLake, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert run(shop, *arguments) == code
    assert message in "".join(capsys.readouterr())
