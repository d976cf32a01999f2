"""``compile`` prints the whole definition of a table, without the values of variables."""

from __future__ import annotations

import json

import pytest
import yaml

from paimon_lake.cli.main import main
from tests.support.lakes import SmallLake

ORDERS = """
columns: {id: bigint, amount: "decimal(10,2)"}
primary_key: id
order_by: amount
source: {type: database, url: "postgresql://lake:${SHOP_PASSWORD}@db.example/shop", table: orders}
schedule: "0 5 * * *"
checks: [{type: not_null, columns: amount}]
"""
REPORT = "columns: {n: INT}\nprimary_key: n\nsource: {type: sql, query: SELECT 1 AS n, inputs: shop.orders}\n"


@pytest.fixture
def shop(dry_lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> SmallLake:
    monkeypatch.setenv("SHOP_PASSWORD", "swordfish")
    dry_lake.declare("shop.orders", ORDERS)
    dry_lake.declare("a.report", REPORT)
    return dry_lake


def test_everything_is_there_except_secrets(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "--configs", str(shop.folder)]) == 0
    printed = capsys.readouterr().out
    assert "swordfish" not in printed
    orders, report = yaml.safe_load_all(printed)
    assert orders["columns"] == {"id": "BIGINT NOT NULL", "amount": "DECIMAL(10, 2)"}
    assert orders["source"]["url"] == "postgresql://lake:${SHOP_PASSWORD}@db.example/shop"
    assert (orders["mode"], orders["schedule"]["cron"]) == ("upsert", "0 5 * * *")
    assert orders["options"]["sequence.field"] == "amount"
    assert orders["options"]["write-only"] == "true"
    assert [check["name"] for check in orders["checks"]] == ["not_null_amount"]
    assert orders["rejects"]["table"] == "shop.orders__rejects"
    assert orders["order"] == {"after": [], "before": ["a.report"]}
    assert (report["mode"], report["order"]["after"]) == ("overwrite", ["shop.orders"])
    assert main(["compile", "--table", "shop.orders+", "--json", "--configs", str(shop.folder)]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [orders, report]


def test_a_table_that_is_not_declared(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "--table", "shop.order", "--configs", str(shop.folder)]) == 2
    assert "no table 'shop.order' is declared" in capsys.readouterr().err
