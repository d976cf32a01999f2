"""Queries that cannot run are found by ``paimon-lake check``, without data; loads name their place."""

from __future__ import annotations

import re

import pytest

from paimon_lake.cli import main as cli_main
from paimon_lake.cli.main import main
from paimon_lake.protocol import PipelineError
from paimon_lake.query_analysis import query_problems
from tests.support.lakes import SmallLake

ORDERS = """\
columns: {id: BIGINT, day: DATE, amount: "DECIMAL(10, 2)"}
primary_key: [id]
source: {type: files, path: "data/*.csv"}
"""
TOTAL = """\
columns: {day: DATE, amount: "DECIMAL(20, 2)"}
primary_key: [day]
source:
  type: sql
  inputs: [shop.orders]
  query: |
    SELECT day, sum(amount) AS amount
    FROM shop.orders GROUP BY day
"""
PLACE = r"shop\.total\.yaml:6: shop\.total: "


def found(lake: SmallLake) -> list[str]:
    return list(query_problems(lake.spark, lake.settings))


@pytest.fixture
def shop(lake: SmallLake) -> SmallLake:
    lake.declare("shop.orders", ORDERS)
    lake.declare("shop.total", TOTAL)
    return lake


def test_queries_that_can_run_need_no_data(shop: SmallLake) -> None:
    shop.declare(
        "shop.copy",
        """
        columns: {k: BIGINT, amount: "DECIMAL(10, 2)"}
        primary_key: [k]
        kinds: {column: kind}
        order_by: [day]
        source: {type: sql, read: changes, inputs: [shop.orders], file: ../sql/copy.sql}
        checks: [{type: sql, name: known, query: "SELECT k FROM shop.copy ANTI JOIN shop.orders ON k = id"}]
        """,
    )
    shop.file("../sql/copy.sql", "SELECT id AS k, amount, day, rowkind AS kind FROM shop.orders")
    assert found(shop) == []
    assert not (shop.folder / "warehouse").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("SELECT day,", "SELECT dya,", PLACE + r"the query cannot be run, at line 1, column 8: .*`dya` cannot be"),
        ("GROUP BY day", "GROUP BY", PLACE + r"the query cannot be run, at line 3, column 1: "),
        ("GROUP BY day", "GROUP BY dy", PLACE + r"the query cannot be run, at line 2, column 27: .*`dy`"),
        ("FROM shop.orders", "FROM shop.other", PLACE + r"the query names shop\.other, which is not one of its tables"),
        ("AS amount", "AS total", PLACE + r"the table has no column 'total'; its columns are amount, day"),
        ("SELECT day,", "SELECT", PLACE + "the query has no column 'day', which is NOT NULL in the table"),
        ("sum(amount) AS", "collect_list(amount) AS", PLACE + "column 'amount'"),
        ("SELECT day, sum", "DELETE sum", PLACE + "the SQL must be a query"),
    ],
)
def test_a_query_that_cannot_run_is_told_with_its_place(shop: SmallLake, old: str, new: str, message: str) -> None:
    shop.declare("shop.total", TOTAL.replace(old, new))
    assert re.search(message, "\n".join(found(shop)))


def test_the_command_fails_for_a_query_and_for_the_query_of_a_check(
    shop: SmallLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_main, "start_session", lambda settings: shop.session)
    shop.file("data/1.csv", "id,day,amount\n")
    check = "checks: [{type: sql, name: few, query: SELECT nope FROM shop.orders}]\n"
    shop.declare("shop.total", TOTAL + check)
    assert main(["check", "--configs", str(shop.folder), "--env", "local"]) == 1
    assert "shop.total.yaml:9: shop.total: the query cannot be run, at line 1, column 8: " in capsys.readouterr().out


def test_an_input_without_columns_is_told_until_they_are_known(shop: SmallLake) -> None:
    shop.declare("shop.orders", ORDERS.replace(ORDERS.splitlines()[0], "columns: infer"))
    assert "the columns of shop.orders are not known: `paimon-lake infer" in found(shop)[0]


def test_an_error_of_a_load_names_table_file_and_line(shop: SmallLake) -> None:
    shop.file("data/1.csv", "id,day,amount\n1,2024-01-01,1\n")
    shop.load("shop.orders")
    shop.declare("shop.total", TOTAL.replace("SELECT day", "SELECT dya"))
    with pytest.raises(PipelineError, match=r"shop\.total: .*shop\.total\.yaml:6: the query cannot be run, at line 1"):
        shop.load("shop.total")
    shop.file("../day.sql", "SELECT dya FROM shop.orders")
    head = TOTAL.partition("  query")[0]
    shop.declare("shop.total", head + "  file: ../day.sql\n")
    with pytest.raises(PipelineError, match=r"shop\.total\.yaml:6: \.\./day\.sql: the query cannot be run, at line 1"):
        shop.load("shop.total")


def test_a_lake_without_queries_does_not_use_spark(dry_lake: SmallLake) -> None:
    dry_lake.declare("shop.orders", ORDERS)
    assert found(dry_lake) == []
