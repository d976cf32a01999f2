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


SHORT_FORMS = """
comment: orders of ${SHOP_PASSWORD}
columns: {id: BIGINT, day: {type: DATE, comment: "${SHOP_PASSWORD}"}, kind: STRING}
primary_key: id
order_by: "${COLUMN}"
source: {type: files, path: "${SHOP_PASSWORD}/{date}.csv", add: {day: partition}, options: {null_value: "${SHORT}"}}
partitions: {by: day, start: "${START}", column: "${COLUMN}"}
schedule: "${CRON}"
options: {"custom.note": "a-${SHOP_PASSWORD}-b", "custom.short": "${SHORT}"}
rejects: {table: "shop.${SHOP_PASSWORD}"}
checks: [{type: not_null, columns: "${COLUMN}"}]
tags: "${SHOP_PASSWORD}"
"""


def test_no_short_form_or_derived_value_shows_a_variable(
    shop: SmallLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"COLUMN": "day", "CRON": "7 5 * * *", "START": "2024-02-03", "SHORT": "zq"}.items():
        monkeypatch.setenv(name, value)
    shop.declare("shop.days", SHORT_FORMS)
    assert main(["compile", "--table", "shop.days", "--configs", str(shop.folder)]) == 0
    printed = capsys.readouterr().out
    for secret in ("swordfish", "7 5", "2024-02-03", "zq"):
        assert secret not in printed
    days = yaml.safe_load(printed)
    assert days["schedule"] == {"cron": "${CRON}", "timezone": "UTC", "on": None}
    assert (days["partitions"]["start"], days["partitions"]["column"]) == ("${START}", "${COLUMN}")
    assert days["options"]["custom.note"] == "a-${SHOP_PASSWORD}-b"
    assert (days["options"]["custom.short"], days["options"]["sequence.field"]) == ("${SHORT}", "${COLUMN}")
    assert (days["rejects"]["table"], days["tags"]) == ("shop.${SHOP_PASSWORD}", ["${SHOP_PASSWORD}"])
    assert days["columns"]["day"] == {"type": "DATE", "comment": "${SHOP_PASSWORD}"}
    assert days["columns"]["kind"] == "STRING"


def test_the_value_of_a_variable_inside_a_longer_word_is_another_text(
    shop: SmallLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AREA", "prod")
    text = ORDERS.replace("table: orders", 'table: "${AREA}"').replace("id: bigint", "id: bigint, product: string")
    shop.declare("shop.orders", text.replace("columns: amount}", "columns: product}") + "comment: products of prod-2\n")
    assert main(["compile", "--table", "shop.orders", "--configs", str(shop.folder)]) == 0
    orders = yaml.safe_load(capsys.readouterr().out)
    assert (orders["source"]["table"], orders["comment"]) == ("${AREA}", "products of ${AREA}-2")
    assert list(orders["columns"]) == ["id", "product", "amount"]
    assert [check["name"] for check in orders["checks"]] == ["not_null_product"]
