"""Parts from queries: changes of an input with their deletes, partitions of a run, and inputs that changed since."""

from __future__ import annotations

import pytest

from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.overview import overview
from paimon_lake.protocol import PartsFailed, PipelineError
from paimon_lake.query_analysis import query_problems

ORDERS = """
    columns: {id: BIGINT, month: STRING, amount: INT, at: INT}
    primary_key: [id, month]
    kinds: {column: op}
    source: {type: files, path: "orders/*.csv"}
"""
PAYMENTS = """
    columns: {id: BIGINT, month: STRING, paid: INT}
    primary_key: [id, month]
    partition_by: month
    source: {type: files, path: "payments/{month}.csv", changed: load}
    partitions: {by: month, start: 2024-01-01, column: month}
"""
WIDE = """
    columns: {id: BIGINT, month: STRING, amount: INT, at: INT, paid: INT, paid_at: TIMESTAMP(6) WITH LOCAL TIME ZONE}
    primary_key: [id, month]
    partition_by: month
    partitions: {by: month, start: 2024-01-01, column: month}
    parts:
      orders:
        source: {type: sql, inputs: [shop.orders], read: changes, query: SELECT * FROM shop.orders}
        columns: amount
        order_by: at
        kinds: {column: rowkind}
      payments:
        source:
          type: sql
          inputs: [shop.payments]
          query: SELECT id, month, paid, current_timestamp() AS paid_at FROM shop.payments
        columns: paid
        order_by: paid_at
"""


@pytest.fixture
def shop(lake, tasks_here):
    for name, text in (("shop.orders", ORDERS), ("shop.payments", PAYMENTS), ("shop.wide", WIDE)):
        lake.declare(name, text)
    lake.file("orders/1.csv", "id,month,amount,at,op\n1,2024-01,10,1,+I\n2,2024-02,20,1,+I\n")
    lake.file("payments/2024-01.csv", "id,month,paid\n1,2024-01,5\n")
    lake.file("payments/2024-02.csv", "id,month,paid\n2,2024-02,6\n")
    lake.load("shop.orders")
    lake.load("shop.payments")
    return lake


def rows(lake):
    return [(row[0], row[2], row[4]) for row in lake.rows("shop.wide")]


def test_parts_follow_their_inputs_each_in_its_way(shop):
    result = shop.load("shop.wide", "2024-01")
    assert rows(shop) == [(1, 10, 5), (2, 20, None)], "changes are not divided by partitions"
    assert result.column_lineage["paid"] == (("shop.payments", "paid"),)
    shop.load("shop.wide")
    assert rows(shop) == [(1, 10, 5), (2, 20, 6)]
    shop.file("orders/2.csv", "id,month,amount,at,op\n1,2024-01,10,2,-D\n3,2024-02,30,1,+I\n")
    shop.file("payments/2024-02.csv", "id,month,paid\n2,2024-02,7\n")
    shop.load("shop.orders")
    shop.load("shop.payments")
    stale = stale_now(shop.settings, "shop.wide")
    assert stale["2024-02"].startswith("part payments: shop.payments changed after")
    assert stale["*"].startswith("part orders: shop.orders")
    assert overview(shop.settings, "shop.wide").parts == ("orders behind", "payments behind")
    assert shop.load("shop.wide", part="payments").details["part_orders"].startswith("behind: ")
    shop.load("shop.wide")
    assert rows(shop) == [(1, None, 5), (2, 20, 7), (3, 30, None)]
    assert stale_now(shop.settings, "shop.wide") == {}
    again = shop.load("shop.wide")
    assert (again.commits, again.rows_written) == ((), 0)


def test_a_query_has_the_columns_of_its_part(shop):
    assert list(query_problems(shop.spark, shop.settings)) == []
    shop.declare("shop.wide", WIDE.replace("SELECT id, month, paid,", "SELECT id, month, paid, 1 AS amount,"))
    (problem,) = query_problems(shop.spark, shop.settings)
    assert "shop.wide part payments: the rows have the column 'amount', which the part does not fill" in problem
    with pytest.raises(PipelineError, match=r"add it to parts\.payments\.columns"):
        shop.load("shop.wide", part="payments")
    shop.declare("shop.wide", WIDE.replace("SELECT id, month, paid,", "SELECT id, month,"))
    with pytest.raises(PartsFailed, match="the rows have no column 'paid', which the part fills"):
        shop.load("shop.wide")
    assert rows(shop) == [(1, 10, None), (2, 20, None)]
