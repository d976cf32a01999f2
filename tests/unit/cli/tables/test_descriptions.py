"""Commands that list, describe, create, drop and rename tables (resembles issue 29)."""

import json

import pytest

import paimon_core as paimon

COLUMNS = "id BIGINT NOT NULL COMMENT 'number', price DECIMAL(10, 2) DEFAULT '0.00'"


@pytest.fixture
def orders(command):
    made = command(
        "create", "shop.orders", COLUMNS, "--primary-key", "id", "--table-option", "bucket=2", "--comment", "all",
        "--create-database",
    )  # fmt: skip
    assert made[0] == 0
    return made[1]


def test_a_table_is_created_described_and_listed(orders, command, place):
    assert orders.startswith("table shop.orders at ")
    paimon.open_catalog(place)["shop.orders"].write([{"id": 1}])
    code, out = command("describe", "shop.orders")
    assert code == 0
    shown = dict(line.split(None, 1) for line in out.splitlines() if not line.startswith(("columns", "primary")))
    assert shown["comment"] == "all"
    assert shown["options"] == "bucket=2"
    assert shown["size"].endswith("1 row in files")
    assert " bytes in 1 file, " in shown["size"]
    assert shown["health"] == "score 100, no findings"
    assert shown["id"].split(None, 2) == ["BIGINT", "NOT", "NULL  number"]
    assert shown["price"].endswith("default 0.00")
    code, out = command("ls", "shop", "--json")
    assert code == 0
    [row] = json.loads(out)
    assert (row["table"], row["primary_key"], row["snapshot"], row["problem"]) == ("shop.orders", "id", 1, None)


def test_the_description_is_json(orders, command):
    code, out = command("describe", "shop.orders", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["columns"][0] == {"name": "id", "type": "BIGINT NOT NULL", "default": None, "comment": "number"}
    assert (found["snapshot"], found["size"]["files"], found["health"]["findings"]) == (None, 0, [])


def test_wrong_definitions_create_nothing(orders, command, place):
    for arguments, problem in [
        (["shop.orders", "id INT"], "already exists"),
        (["shop.t", "id NOPE"], "NOPE"),
        (["shop.t", "id INT", "--primary-key", "x"], "x"),
        (["shop.t", "id INT", "--table-option", "bucket"], "must be KEY=VALUE"),
        (["shop.t", "id INT", "--table-option", "bucket=many"], "many"),
        (["nope.t", "id INT"], "nope"),
    ]:
        code, out = command("create", *arguments)
        assert code == 2, out
        assert problem in out
    assert list(paimon.open_catalog(place)) == ["shop.orders"]
    assert command("create", "shop.orders", COLUMNS, "--primary-key", "id", "--if-not-exists")[0] in (0, 2)


def test_a_drop_is_shown_before_it_is_done(orders, command, place):
    code, out = command("drop", "shop.orders")
    assert code == 0
    assert out.endswith("nothing was changed: add --apply to drop it\n")
    assert "shop.orders" in paimon.open_catalog(place)
    assert command("drop", "shop.orders", "--apply")[0] == 0
    assert "shop.orders" not in paimon.open_catalog(place)
    assert command("drop", "shop.orders", "--apply")[0] == 2


def test_a_table_is_renamed(warehouse, command):
    where = ("--warehouse", warehouse)
    command("create", "shop.orders", COLUMNS, "--create-database", *where)
    assert command("rename", "shop.orders", "shop.sales", *where) == (0, "renamed table shop.orders to shop.sales\n")
    assert list(paimon.open_catalog(warehouse)) == ["shop.sales"]
    assert command("rename", "shop.orders", "shop.sales", *where)[0] == 2


def test_history_and_files(orders, command, place):
    assert command("history", "shop.orders") == (0, "no snapshots\n")
    table = paimon.open_catalog(place)["shop.orders"]
    table.write([{"id": 1, "price": "1.00"}])
    table.tags.create("first")
    table.write([{"id": 2, "price": "2.00"}])
    code, out = command("history", "shop.orders", "--json")
    assert code == 0
    assert [(row["snapshot"], row["kind"], row["tags"]) for row in json.loads(out)] == [
        (2, "APPEND", None),
        (1, "APPEND", "first"),
    ]
    assert len(json.loads(command("history", "shop.orders", "-n", 1, "--json")[1])) == 1
    code, out = command("history", "shop.orders", "-n", -1)
    assert (code, "must be 0 (all) or more, not -1" in out) == (2, True)
    code, out = command("files", "shop.orders", "--json")
    assert code == 0
    assert {row["record_count"] for row in json.loads(out)} == {1}


@pytest.mark.parametrize("name", ["shop", "shop.orders.x", "shop.orders$files"])
def test_a_wrong_name_creates_no_database(command, place, name):
    code, out = command("create", name, "id INT", "--create-database")
    assert (code, out.count("\n")) == (2, 1)
    assert paimon.open_catalog(place).list_databases() == []
