"""Commands that delete and update rows, replace partitions, and start branches with rows."""

import json
from decimal import Decimal

import pytest

import paimon_core as paimon


@pytest.fixture
def table(place):
    catalog = paimon.open_catalog(place)
    catalog.create_database("shop")
    columns = {"day": "STRING NOT NULL", "id": "INT NOT NULL", "price": "DECIMAL(10, 2)"}
    options = {"bucket": "1"}
    table = catalog.create_table("shop.orders", columns, primary_key=["day", "id"], partition_by="day", options=options)
    table.write([{"day": day, "id": n, "price": Decimal(n)} for day in ("mon", "tue") for n in (1, 2, 3)])
    return table


def prices(table, day="mon"):
    rows = table.scan(["id", "price"], where=f"day = '{day}'").to_arrow().to_pylist()
    return {row["id"]: row["price"] for row in rows}


def test_a_delete_counts_rows_and_deletes_them_only_with_apply(table, command):
    where = ["--where", "id > 2"]
    text = "would delete 2 rows of shop.orders\nnothing was changed: add --apply\n"
    assert command("delete", "shop.orders", *where) == (0, text)
    assert table.scan().count() == 6
    assert command("delete", "shop.orders", *where, "--apply") == (0, "deleted 2 rows of shop.orders: snapshot 2\n")
    assert prices(table) == {1: 1, 2: 2}
    code, out = command("delete", "shop.orders", *where, "--apply", "--json")
    assert (code, json.loads(out)) == (0, {"table": "shop.orders", "rows": 0, "applied": True, "snapshot": None})


def test_an_update_sets_values_of_the_types_of_columns(table, command):
    where = ["--where", "id = 2 and day = 'mon'"]
    code, out = command("update", "shop.orders", "--set", "price=7.5", *where)
    assert (code, out.splitlines()[0]) == (0, "would update 1 row of shop.orders")
    assert prices(table)[2] == 2
    code, out = command("update", "shop.orders", "--set", "price=7.5", *where, "--apply", "--json")
    assert (code, json.loads(out)["snapshot"]) == (0, 2)
    assert prices(table) == {1: 1, 2: Decimal("7.50"), 3: 3}
    assert command("update", "shop.orders", "--set-null", "price", *where, "--apply")[0] == 0
    assert prices(table) == {1: 1, 2: None, 3: 3}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["update", "--where", "id = 1"], "update needs --set COLUMN=VALUE or --set-null COLUMN"),
        (["update", "--where", "id = 1", "--set", "price"], "--set must be KEY=VALUE, not 'price'"),
        (["update", "--where", "id = 1", "--set", "price=x"], "'x' is no value of column 'price', which is DECIMAL"),
        (["update", "--where", "id = 1", "--set", "cost=1"], "table shop.orders has no column 'cost'"),
        (["update", "--where", "id = 1", "--set", "price=1", "--set-null", "price"], "is in --set and in --set-null"),
        (["update", "--where", "id = 1", "--set", "id=1", "--apply"], "id"),
        (["update", "--where", "id = 1", "--set", "id=1"], "column 'id' is part of the primary key"),
        (["update", "--set", "price=1"], "the following arguments are required: --where"),
        (["delete", "--apply"], "the following arguments are required: --where"),
        (["delete", "--where", "cost = 1"], "cost"),
    ],
)
def test_wrong_changes_are_refused(table, command, arguments, problem):
    code, out = command(arguments[0], "shop.orders", *arguments[1:])
    assert (code, problem in out) == (2, True)
    assert table.latest_snapshot().id == 1


@pytest.fixture
def narrow(place):
    catalog = paimon.open_catalog(place)
    catalog.create_database("shop")
    columns = (
        "id INT NOT NULL, code VARCHAR(3), size CHAR(1), price DECIMAL(4, 2) NOT NULL, raw BINARY(2), at TINYINT, "
        "kind STRING DEFAULT 'x'"
    )
    table = catalog.create_table("shop.narrow", columns, primary_key=["id"], options={"bucket": "1"})
    table.write([{"id": 1, "code": "a", "size": "s", "price": Decimal("1.00"), "raw": b"1", "at": 1, "kind": "y"}])
    return table


@pytest.mark.parametrize("where", ["id = 1", "id = 2"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (["--set", "code=abcd"], "column 'code' cannot be set to 'abcd': column 'code' is VARCHAR(3) but a value has"),
        (["--set", "size=xl"], "column 'size' is CHAR(1) but a value has the length 2"),
        (["--set", "raw=abc"], "column 'raw' is BINARY(2) but a value has the length 3"),
        (["--set-null", "price"], "column 'price' is NOT NULL"),
        (["--set", "price=100.00"], "'100.00' is no value of column 'price', which is DECIMAL(4, 2)"),
        (["--set", "at=300"], "'300' is no value of column 'at', which is TINYINT"),
    ],
)
def test_a_count_refuses_values_that_the_update_would_refuse(narrow, command, where, change, problem):
    dry = command("update", "shop.narrow", *change, "--where", where)
    assert (dry[0], problem in dry[1]) == (2, True), dry
    assert command("update", "shop.narrow", *change, "--where", where, "--apply") == dry
    assert narrow.latest_snapshot().id == 1


def test_a_null_becomes_the_default(narrow, command):
    assert command("update", "shop.narrow", "--set-null", "kind", "--where", "id = 1")[0] == 0
    assert command("update", "shop.narrow", "--set-null", "kind", "--where", "id = 1", "--apply")[0] == 0
    assert narrow.scan(["kind"]).to_arrow().to_pylist() == [{"kind": "x"}]


def test_a_delete_of_partitions_is_announced_where_it_is_done(table, command):
    table.alter("SET ('ignore-delete' = 'true')")
    for more in ([], ["--apply"]):
        assert command("delete", "shop.orders", "--where", "id = 1", *more)[0] == 2
        assert command("delete", "shop.orders", "--where", "day = 'mon'", *more)[0] == 0
    assert prices(table.refresh()) == {}


def test_rows_of_level_0_that_reads_leave_out_are_counted(place, command):
    catalog = paimon.open_catalog(place)
    catalog.create_database("shop")
    options = {"bucket": "1", "deletion-vectors.enabled": "true", "write-only": "true"}
    table = catalog.create_table("shop.t", {"id": "INT NOT NULL"}, primary_key="id", options=options)
    table.write([{"id": 1}, {"id": 2}])
    assert table.scan().count() == 0
    assert command("delete", "shop.t", "--where", "id = 1")[1].startswith("would delete 1 row ")


@pytest.mark.parametrize("change", [["delete"], ["update", "--set", "price=1"]])
def test_changes_that_a_table_refuses_are_not_announced(place, command, change):
    catalog = paimon.open_catalog(place)
    catalog.create_database("shop")
    options = {"bucket": "1", "merge-engine": "first-row"}
    columns = {"id": "INT NOT NULL", "price": "INT"}
    catalog.create_table("shop.orders", columns, primary_key=["id"], options=options)
    code, out = command(change[0], "shop.orders", *change[1:], "--where", "id = 1")
    assert (code, "merge-engine = first-row" in out) == (2, True)


def test_an_import_replaces_the_partitions_that_match(table, command, tmp_path):
    (tmp_path / "a.csv").write_text("day,id,price\nmon,9,9\n")
    file = tmp_path / "a.csv"
    assert command("import", "shop.orders", file, "--overwrite-where", "day = 'tue'")[0] == 2
    assert command("import", "shop.orders", file, "--overwrite-where", "day = 'mon'", "--overwrite")[0] == 2
    assert command("import", "shop.orders", file, "--overwrite-where", "day = 'mon'")[0] == 0
    assert (prices(table), prices(table, "tue")) == ({9: 9}, {1: 1, 2: 2, 3: 3})


def test_a_branch_starts_with_the_latest_rows(table, command):
    assert command("branches", "create", "shop.orders", "test", "--from-latest")[0] == 0
    assert command("delete", "shop.orders", "--branch", "test", "--where", "id > 0", "--apply")[0] == 0
    assert command("count", "shop.orders", "--branch", "test") == (0, "0\n")
    assert command("count", "shop.orders") == (0, "6\n")
    assert command("branches", "create", "shop.orders", "other", "--from-latest", "--tag", "x")[0] == 2
