"""Parts with ``key_from``: rows that follow a mapping table, and what a load says when it cannot follow."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.loads.keyed import keyed_loads, mapping_index
from paimon_lake.overview import overview
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.upkeep.expiry import expire

CUSTOMERS = """
    columns: {id: BIGINT, name: STRING, city: STRING, at: INT}
    primary_key: id
    kinds: {column: op}
    order_by: at
    retention: {keep_snapshots: 1, keep_hours: 0}
    source: {type: files, path: "customers/*.csv"}
"""
ORDERS = """
    columns: {id: BIGINT, line: INT, customer: BIGINT}
    primary_key: [id, line]
    kinds: {column: op}
    source: {type: files, path: "orders/*.csv"}
"""
WIDE = """
    columns: {order: BIGINT, line: INT, paid: INT, paid_at: INT, customer: STRING, city: STRING, loaded: BIGINT}
    primary_key: [order, line]
    parts:
      payments:
        source: {type: files, path: "payments/*.csv"}
        columns: paid
        order_by: paid_at
      customers:
        source:
          type: table
          table: d.customers
          rename: {name: customer}
          key_from: {table: d.orders, on: {id: customer}, columns: {line: line, order: id}}
        columns: [customer, city]
        order_by: loaded
"""


def declare(lake):
    for name, text in (("d.customers", CUSTOMERS), ("d.orders", ORDERS), ("d.wide", WIDE)):
        lake.declare(name, text)
    customers(lake, "1,Ann,Rome,5,+I", "2,Bob,Oslo,3,+I")
    orders(lake, "10,1,1,+I", "10,2,1,+I", "11,1,2,+I", "12,1,9,+I")
    lake.file("payments/1.csv", "order,line,paid,paid_at\n10,1,7,1\n12,1,8,1\n")
    return lake


def customers(lake, *lines):
    lake.file(f"customers/{abs(hash(lines))}.csv", "id,name,city,at,op\n" + "\n".join(lines) + "\n")
    lake.load("d.customers")


def orders(lake, *lines):
    lake.file(f"orders/{abs(hash(lines))}.csv", "id,line,customer,op\n" + "\n".join(lines) + "\n")
    lake.load("d.orders")


@pytest.fixture
def shop(quick):
    return declare(quick)


def rows(lake):
    return [row[:3] + row[4:6] for row in lake.rows("d.wide")]


def test_rows_follow_both_tables(shop):
    shop.load("d.wide")
    assert rows(shop) == [
        (10, 1, 7, "Ann", "Rome"),
        (10, 2, None, "Ann", "Rome"),
        (11, 1, None, "Bob", "Oslo"),
        (12, 1, 8, None, None),
    ], "a customer without a row brings no row"
    orders(shop, "10,1,2,+U")
    assert stale_now(shop.settings, "d.wide")["*"].startswith("part customers: d.orders")
    assert overview(shop.settings, "d.wide").parts == ("customers behind",)
    assert shop.load("d.wide").rows_written == 1, "the moved order, although its customer has a smaller `at`"
    customers(shop, "9,Zed,Bonn,1,+I", "1,Ann,Pisa,4,+U")
    assert shop.load("d.wide").rows_written == 1, "the late customer, without the update that is older"
    assert [row[3:] for row in rows(shop)] == [("Bob", "Oslo"), ("Ann", "Rome"), ("Bob", "Oslo"), ("Zed", "Bonn")]
    customers(shop, "1,Ann,Pisa,6,+U", "2,Bob,Oslo,7,-D")
    orders(shop, "12,1,0,-D", "13,1,1,+I")
    result = shop.load("d.wide")
    assert [row[3:] for row in rows(shop)] == [
        (None, None),
        ("Ann", "Pisa"),
        (None, None),
        (None, None),
        ("Ann", "Pisa"),
    ]
    assert result.column_lineage["customer"] == (("d.customers", "name"),)
    assert shop.load("d.wide").commits == ()
    assert stale_now(shop.settings, "d.wide") == {}
    orders(shop, "13,1,9,+U")
    shop.load("d.wide")
    customers(shop, "1,Ann,Bari,9,+U")
    assert shop.load("d.wide").rows_written == 1, "the order that moved is not found by its old customer"
    assert [row[3:] for row in rows(shop)][1::3] == [("Ann", "Bari"), ("Zed", "Bonn")]
    for customer in (50, 51):
        orders(shop, f"14,1,{customer},+U")
        assert shop.load("d.wide").rows_written == 0, "a row that never had a customer lacks the part"


def test_other_columns_change_nothing_and_the_position_moves(shop):
    shop.load("d.wide")
    customers(shop, "1,Ann,Rome,8,+U")
    result = shop.load("d.wide", part="customers")
    assert (result.rows_written, len(result.commits)) == (0, 1)
    expire(shop.spark, shop.settings, "d.customers")
    assert shop.load("d.wide", part="customers").rows_written == 0, "the next load does not need expired snapshots"


def test_unknown_changes_are_refused_until_a_reload_which_removes_old_values(shop):
    shop.load("d.wide")
    orders(shop, "10,1,1,-D", "12,1,2,+U")
    customers(shop, "2,Bob,Lund,9,+U")
    expire(shop.spark, shop.settings, "d.customers")
    with pytest.raises(
        PipelineError, match=r"d\.customers since snapshot 1 cannot be read.*load the part with --reload"
    ):
        shop.load("d.wide", part="customers")
    shop.load("d.wide", part="customers", reload=True)
    assert rows(shop) == [
        (10, 1, 7, None, None),
        (10, 2, None, "Ann", "Rome"),
        (11, 1, None, "Bob", "Lund"),
        (12, 1, 8, "Bob", "Lund"),
    ]


@pytest.mark.parametrize(
    ("old", "new"), [("{name: customer}", "{city: customer}"), ("on: {id: customer}", "on: {id: id}")]
)
def test_another_declaration_needs_a_reload(shop, old, new):
    shop.load("d.wide")
    shop.declare("d.wide", WIDE.replace(old, new))
    with pytest.raises(
        PipelineError, match=r"in another way.*run `paimon-lake load --table d\.wide --part customers --rel"
    ):
        shop.load("d.wide", part="customers")
    shop.load("d.wide", part="customers", reload=True)
    assert shop.load("d.wide", part="customers").commits == ()


def test_an_empty_table_and_another_type_are_told(quick):
    for name, text in (("d.customers", CUSTOMERS), ("d.orders", ORDERS), ("d.wide", WIDE)):
        quick.declare(name, text)
    quick.create("d.customers")
    with pytest.raises(PipelineError, match=r"its input d\.customers is empty: load it first"):
        quick.load("d.wide", part="customers")
    declare(quick)
    quick.create("d.customers").alter("ALTER COLUMN city TYPE VARCHAR(20)")
    row = {"id": [7], "name": ["Eve"], "city": ["Rome"], "at": pa.array([1], pa.int32())}
    quick.table("d.customers").write(pa.table(row))
    with pytest.raises(PipelineError, match=r"key_from with d\.customers does not fit: its city is VARCHAR\(20\)"):
        quick.load("d.wide", part="customers")


def test_the_bound_of_changed_rows_is_told(shop, monkeypatch):
    shop.load("d.wide")
    shop.declare("d.wide", WIDE.replace("table: d.customers", "table: d.customers\n          cache_bytes: 1048576"))
    customers(shop, *(f"{n},{'x' * 2000},Rome,1,+I" for n in range(100, 700)))
    with pytest.raises(PipelineError, match=r"changes of d\.customers since snapshot 1 need more than 1,048,576 bytes"):
        shop.load("d.wide", part="customers")


def test_indexes_end_with_their_segments(shop):
    shop.load("d.wide")
    customers(shop, "1,Ann,Pisa,9,+U")
    shop.load("d.wide")
    assert mapping_index._INDEXES
    from paimon_lake.loads.lookup import dimension

    dimension._CACHES.clear()
    assert not mapping_index._INDEXES


@pytest.mark.long
def test_tasks_of_spark(lake):
    declare(lake).load("d.wide")
    orders(lake, "10,1,2,+U")
    customers(lake, "2,Bob,Lund,9,+U")
    assert lake.load("d.wide").rows_written == 2
    assert [row[3:] for row in rows(lake)] == [("Bob", "Lund"), ("Ann", "Rome"), ("Bob", "Lund"), (None, None)]


@pytest.mark.long
def test_the_first_load_replaces_what_another_source_brought(shop):
    before = WIDE[: WIDE.index("        source:\n          type: table")]
    files = (
        "        source: {type: files, path: old/*.csv}\n        columns: [customer, city]\n        order_by: loaded\n"
    )
    old = "10,1,Old,Old,1700000000\n99,1,Gone,Gone,1700000000\n"
    shop.file("old/1.csv", "order,line,customer,city,loaded\n" + old)
    shop.declare("d.wide", before + files)
    shop.load("d.wide")
    shop.declare("d.wide", WIDE)
    shop.load("d.wide")
    assert rows(shop) == [
        (10, 1, 7, "Ann", "Rome"),
        (10, 2, None, "Ann", "Rome"),
        (11, 1, None, "Bob", "Oslo"),
        (12, 1, 8, None, None),
        (99, 1, None, None, None),
    ]


@pytest.mark.long
def test_a_renamed_part_keeps_no_old_values(shop):
    shop.load("d.wide")
    orders(shop, "10,1,1,-D")
    customers(shop, "2,Bob,Oslo,9,-D")
    shop.declare("d.wide", WIDE.replace("      customers:\n", "      clients:\n"))
    shop.load("d.wide")
    assert [row[3:] for row in rows(shop)] == [(None, None), ("Ann", "Rome"), (None, None), (None, None)]


@pytest.mark.long
def test_a_rollback_during_a_load_does_not_hide_later_loads(shop, monkeypatch):
    shop.load("d.wide")
    for n in range(2, 8):
        shop.file(f"payments/{n}.csv", f"order,line,paid,paid_at\n11,1,{n},{n}\n")
        shop.load("d.wide", part="payments")
    write = keyed_loads._write

    def rolled_back(step, found):
        written = write(step, found)
        shop.table("d.wide").rollback(snapshot=2)
        return written

    customers(shop, "1,Ann,Pisa,9,+U")
    with monkeypatch.context() as patched:
        patched.setattr(keyed_loads, "_write", rolled_back)
        shop.load("d.wide", part="customers")
    customers(shop, "1,Ann,Bari,10,+U")
    shop.load("d.wide", part="customers")
    assert [row[3:] for row in rows(shop)][:2] == [("Ann", "Bari")] * 2


@pytest.mark.long
@pytest.mark.parametrize(("table", "column"), [("d.customers", "city STRING"), ("d.orders", "customer BIGINT")])
def test_a_column_that_was_made_again_needs_a_reload(shop, table, column):
    shop.load("d.wide")
    shop.table(table).alter(f"DROP COLUMN {column.split()[0]}").alter(f"ADD COLUMN {column}")
    customers(shop, "7,Eve,,1,+I")
    orders(shop, "20,1,,+I")
    with pytest.raises(PipelineError, match=r"columns of the tables were made again: run `.* --part customers --rel"):
        shop.load("d.wide", part="customers")
    shop.load("d.wide", part="customers", reload=True)
    assert {row[4] for row in rows(shop)} == {None}
    assert shop.load("d.wide", part="customers").commits == ()


def test_nested_columns_are_compared_without_the_ids_of_their_fields(quick):
    source = 'primary_key: id\nsource: {type: files, path: "%s/*.jsonl", format: jsonl}\n'
    quick.declare("d.c", "columns: {id: INT, place: 'ROW<city STRING, zip INT>'}\n" + source % "c")
    quick.declare("d.o", "columns: {id: INT, c: INT}\n" + source % "o")
    quick.declare(
        "d.w",
        """
        columns: {id: INT, note: STRING, place: 'ROW<city STRING, zip INT>', n: BIGINT, at: INT}
        primary_key: id
        parts:
          c:
            source: {type: table, table: d.c, key_from: {table: d.o, on: {id: c}, columns: {id: id}}}
            columns: place
            order_by: n
          notes: {source: {type: files, path: "n/*.csv"}, columns: note, order_by: at}
        """,
    )
    quick.file("c/1.jsonl", '{"id": 1, "place": {"city": "Rome", "zip": 5}}\n')
    quick.file("o/1.jsonl", '{"id": 7, "c": 1}\n')
    for name in ("d.c", "d.o"):
        quick.load(name)
    quick.load("d.w", part="c")
    assert quick.rows("d.w") == [(7, None, {"city": "Rome", "zip": 5}, 1, None)]
