"""Loads from queries and functions: once for the same inputs, whole or by partition."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from paimon_core import Variant, col
from paimon_core.errors import SchemaMismatch
from paimon_core.spark.writes import routing, text_padding
from paimon_core.spark.writes.text_padding import padded
from paimon_lake.checks import load_records
from paimon_lake.loads import load as loading
from paimon_lake.protocol import AuditFailed, PipelineError

pytestmark = pytest.mark.usefixtures("tasks_here")
ORDERS = """
    columns: {id: BIGINT, day: DATE, amount: INT}
    primary_key: [id]
    source: {type: files, path: "data/{date}.csv"}
    partitions: {by: day, start: 2024-01-01, column: day}
"""
BY_MONTH = """
    columns: {month: STRING, amount: BIGINT}
    natural_key: [month]
    partition_by: [month]
    partitions: {by: month, start: 2024-01-01, column: month}
    source:
      type: sql
      inputs: [shop.orders]
      query: |
        -- shop.orders in a comment stays
        SELECT date_format(day, 'yyyy-MM') AS month, sum(amount) AS amount FROM shop.orders GROUP BY 1
"""
TOTAL = """
    columns: {amount: BIGINT}
    natural_key: [amount]
    source: {type: sql, inputs: [shop.orders], query: "SELECT sum(amount) AS amount FROM shop.orders"}
"""


@pytest.fixture
def orders(lake):
    lake.declare("shop.orders", ORDERS)
    lake.file("data/2024-01-31.csv", "id,day,amount\n1,2024-01-31,1\n")
    lake.file("data/2024-02-01.csv", "id,day,amount\n2,2024-02-01,10\n3,2024-02-29,20\n")
    lake.load("shop.orders")
    return lake


def test_a_query_replaces_its_partitions_and_reads_only_their_rows(orders):
    orders.declare("shop.months", BY_MONTH)
    orders.load("shop.months", "2024-02")
    assert orders.rows("shop.months") == [("2024-02", 30)]
    orders.load("shop.months", "2024-01", "2024-02")
    assert orders.rows("shop.months") == [("2024-01", 1), ("2024-02", 30)]


def test_the_same_inputs_are_computed_once_and_changed_ones_again(orders):
    orders.declare("shop.months", BY_MONTH)
    orders.load("shop.months", "2024-02")
    assert orders.load("shop.months", "2024-02").skipped == ("loaded before, in snapshot 1",)
    orders.table("shop.orders").compact(full=True)
    assert orders.load("shop.months", "2024-02").skipped == ("loaded before, in snapshot 1",)
    orders.file("data/2024-02-02.csv", "id,day,amount\n4,2024-02-02,5\n")
    orders.load("shop.orders", "2024-02-02")
    assert orders.load("shop.months", "2024-02").commits == (2,)
    assert orders.rows("shop.months") == [("2024-02", 35)]
    assert orders.load("shop.months", "2024-02", reload=True).commits == (3,)


KEYED = """
    columns: {id: BIGINT, amount: INT}
    primary_key: [id]
    rejects: {max_share: 1.0}
    source: {type: sql, inputs: [shop.orders], query: "SELECT amount FROM shop.orders"}
"""


def test_a_query_without_a_column_of_the_key_is_refused_as_a_whole(orders):
    orders.declare("shop.keyed", KEYED)
    with pytest.raises(SchemaMismatch, match="column 'id' is NOT NULL and missing in the data"):
        orders.load("shop.keyed")
    assert orders.rows("shop.keyed") == []


def lose(orders, name):
    """Delete the data files of a table, and let the removal of missing files correct it."""
    table = orders.table(name)
    for file in Path(table.location).rglob("data-*"):
        file.unlink()
    table.maintenance.apply(table.maintenance.plan_missing_removal())


@pytest.mark.long
def test_a_table_that_is_replaced_is_computed_again_when_its_rows_are_lost(orders):
    orders.declare("shop.total", TOTAL)
    orders.load("shop.total")
    lose(orders, "shop.total")
    assert orders.load("shop.total").rows_written == 1
    assert orders.rows("shop.total") == [(31,)]
    assert orders.load("shop.total").skipped == ("loaded before, in snapshot 3",)
    lose(orders, "shop.orders")
    (told,) = orders.load("shop.total").skipped
    assert told.startswith("its input shop.orders is not complete, 3 rows lost: snapshot 2 removed missing data files")
    orders.load("shop.orders")
    assert (orders.load("shop.total").skipped, orders.rows("shop.total")) == ((), [(31,)])


@pytest.mark.long
def test_a_query_by_partition_is_refused_when_rows_are_lost_until_a_reload_of_the_table(orders):
    orders.declare("shop.months", BY_MONTH)
    orders.load("shop.months", "2024-01", "2024-02")
    lose(orders, "shop.months")
    for partitions in ((), ("2024-02",)):
        with pytest.raises(PipelineError, match=r"`paimon-lake load --table shop\.months --reload`"):
            orders.load("shop.months", *partitions)
    orders.load("shop.months", reload=True)
    assert orders.rows("shop.months") == [("2024-01", 1), ("2024-02", 30)]
    orders.load("shop.months", "2024-02")


@pytest.mark.long
def test_of_two_reloads_of_the_same_inputs_the_second_has_nothing_left(orders, monkeypatch):
    orders.declare("shop.total", TOTAL)
    real, others = loading.commit_load, []

    def after_another(*given):
        if not others:
            others.append(True)
            orders.load("shop.total", reload=True)
        return real(*given)

    monkeypatch.setattr(loading, "commit_load", after_another)
    found = orders.load("shop.total", reload=True)
    assert (found.rows_written, found.skipped) == (
        0, ("loaded by another load since this one began, in snapshot 1",)
    )  # fmt: skip


def test_a_partition_that_becomes_empty_is_emptied(orders):
    orders.declare("shop.months", BY_MONTH)
    orders.load("shop.months", "2024-02", "2024-01")
    orders.table("shop.orders").write([{"id": 1, "day": None, "amount": None}])
    orders.load("shop.months", "2024-01")
    assert orders.rows("shop.months") == [("2024-02", 30)]
    orders.table("shop.orders").write([{"id": number, "day": None, "amount": 5} for number in (1, 2, 3)])
    orders.declare("shop.months", BY_MONTH.replace("GROUP BY 1", "WHERE day IS NOT NULL GROUP BY 1"))
    orders.load("shop.months")
    assert orders.rows("shop.months") == []


def test_a_result_that_another_query_replaced_is_computed_again(orders):
    other = BY_MONTH.replace("sum(amount)", "max(amount)").replace("AS amount FROM", "+ 0L AS amount FROM")
    for declared, expected in ((BY_MONTH, 30), (other, 20), (BY_MONTH, 30)):
        orders.declare("shop.months", declared)
        orders.load("shop.months", "2024-02")
        assert orders.rows("shop.months") == [("2024-02", expected)]


@pytest.mark.long
def test_the_result_of_a_load_has_the_lineage_of_its_columns(orders):
    orders.declare("shop.months", BY_MONTH)
    loaded = orders.load("shop.months", "2024-02")
    assert loaded.column_lineage == {"month": (("shop.orders", "day"),), "amount": (("shop.orders", "amount"),)}
    assert orders.load("shop.months", "2024-02").column_lineage == {}


def test_a_query_over_changes_has_the_lineage_of_columns_and_none_of_kinds(orders):
    orders.declare(
        "shop.copy",
        """
        columns: {k: BIGINT, kind: STRING, amount: INT}
        primary_key: [k]
        kinds: {column: kind}
        source:
          type: sql
          read: changes
          inputs: [shop.orders]
          query: SELECT id AS k, rowkind AS kind, if(rowkind = '-D', 0, amount) AS amount FROM shop.orders
        """,
    )
    expected = {"k": (("shop.orders", "id"),), "amount": (("shop.orders", "amount"),)}
    assert orders.load("shop.copy").column_lineage == expected
    orders.table("shop.orders").write([{"id": 1, "day": None, "amount": None}])
    assert orders.load("shop.copy").column_lineage == expected


def test_a_query_without_partitions_replaces_everything(orders):
    orders.declare(
        "shop.total",
        """
        columns: {amount: BIGINT}
        natural_key: [amount]
        source: {type: sql, inputs: [shop.orders], query: "SELECT sum(amount) AS amount FROM shop.orders"}
        """,
    )
    orders.load("shop.total")
    orders.file("data/2024-02-02.csv", "id,day,amount\n4,2024-02-02,5\n")
    orders.load("shop.orders")
    orders.load("shop.total")
    assert orders.rows("shop.total") == [(36,)]


def test_a_function_reads_its_inputs_and_is_run_once_for_a_run(orders):
    orders.file(
        "shop.py",
        """
        import pyarrow.compute as pc

        def doubled(spark, step):
            assert step.table == "shop.doubled"
            return step.read("shop.orders").select("id", "amount").mapInArrow(twice, "id bigint, amount int")


        def twice(batches):  # runs in Spark tasks, which cannot import this file
            for batch in batches:
                yield batch.set_column(1, "amount", pc.add(batch["amount"], batch["amount"]))
        """,
    )
    orders.declare(
        "shop.doubled",
        """
        columns: {id: BIGINT, amount: INT}
        primary_key: [id]
        source: {type: python, function: "shop:doubled", inputs: [shop.orders]}
        """,
    )
    orders.load("shop.doubled", run_key="run 1")
    assert orders.load("shop.doubled", run_key="run 1").skipped == ("loaded before, in snapshot 1",)
    assert orders.rows("shop.doubled") == [(1, 2), (2, 20), (3, 40)]


CHANGES = """
    columns: {id: BIGINT, amount: INT}
    primary_key: [id]
    source:
      type: sql
      read: changes
      inputs: [shop.orders]
      query: "SELECT id, amount * 10 AS amount FROM shop.orders"
"""


def test_a_query_over_changes_sees_what_changed_since_the_last_load(orders):
    orders.declare("shop.tens", CHANGES)
    orders.load("shop.tens")
    assert orders.rows("shop.tens") == [(1, 10), (2, 100), (3, 200)]
    assert orders.load("shop.tens").commits == ()
    orders.file("data/2024-02-02.csv", "id,day,amount\n3,2024-02-02,7\n3,2024-02-02,8\n4,2024-02-02,9\n")
    orders.load("shop.orders")
    again = orders.load("shop.tens")
    assert (again.rows_written, orders.rows("shop.tens")) == (2, [(1, 10), (2, 100), (3, 80), (4, 90)])


@pytest.mark.long
@pytest.mark.parametrize("what", ["rolled back", "overwritten"])
def test_changes_of_an_input_that_was_replaced_are_refused(orders, what):
    orders.declare("shop.tens", CHANGES)
    orders.load("shop.tens")
    table = orders.table("shop.orders")
    if what == "rolled back":
        table.write([{"id": 9, "day": None, "amount": 9}])
        orders.load("shop.tens")
        table.rollback(snapshot=1)
        for number in range(3):
            table.refresh().write([{"id": 8, "day": None, "amount": number}])
        message = "was rolled back, or the table was re-created"
    else:
        table.overwrite([{"id": 9, "day": None, "amount": 9}])
        message = "is an overwrite, which does not say what it replaced"
    with pytest.raises(PipelineError, match=f"{message}; load with reload"):
        orders.load("shop.tens")


@pytest.mark.long
def test_deleted_rows_are_changes_for_a_table_with_kinds(orders):
    kinds = CHANGES.replace("amount * 10 AS amount", "rowkind, amount").replace(
        "    source:", "    kinds: {column: rowkind}\n    source:"
    )
    orders.declare("shop.copy", kinds)
    orders.load("shop.copy")
    orders.table("shop.orders").delete(col("id") == 2)
    orders.load("shop.copy")
    assert orders.rows("shop.copy") == [(1, 1), (3, 20)]


@pytest.mark.long
def test_changes_that_expired_are_an_error_and_reload_reads_everything(orders):
    orders.declare("shop.tens", CHANGES)
    orders.load("shop.tens")
    for amount in (5, 6):
        orders.table("shop.orders").write([{"id": 1, "day": None, "amount": amount}])
    orders.table("shop.orders").expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))
    with pytest.raises(PipelineError, match=r"the changes of shop\.orders since snapshot 1 cannot be read"):
        orders.load("shop.tens")
    orders.load("shop.tens", reload=True)
    assert orders.rows("shop.tens") == [(1, 60), (2, 100), (3, 200)]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def made(spark):\n    pass", r"made\(spark\) in .*wrong.py must take \(spark, step\)"),
        ("def other(spark, step):\n    pass", r"wrong\.py has no function made"),
        ("import no_such_package", r"wrong\.py cannot be imported: No module named 'no_such_package'"),
        ("def made(spark, step):\n    return 5", "wrong:made returned a int, not a DataFrame"),
        ("def made(spark, step):\n    return step.read('shop.other')", "'shop.other' is not one of its source.inputs"),
    ],
)
def test_a_wrong_function_is_told(lake, code, message):
    lake.file("wrong.py", code)
    lake.declare(
        "shop.wrong",
        """
        columns: {id: BIGINT}
        primary_key: [id]
        source: {type: python, function: "wrong:made"}
        """,
    )
    with pytest.raises(PipelineError, match=message):
        lake.load("shop.wrong")


TENS = """
    columns: {id: BIGINT, amount: TINYINT}
    primary_key: [id]
    options: {bucket: "2"}
    kinds: {column: op}
    rejects: {max_share: 0.5}
    checks: [{type: row_count}]
    source:
      type: sql
      inputs: [shop.orders]
      query: |
        SELECT nullif(id, 1) AS id, amount * 10 AS amount, 'I' AS op FROM shop.orders WHERE id < 3
        UNION ALL SELECT id, 0, 'X' FROM shop.orders WHERE id = 3
        UNION ALL SELECT 8L, 1000, 'I' UNION ALL SELECT 9L, 1, 'I' UNION ALL SELECT 9L, 1, 'I'
        UNION ALL SELECT 7L, 1, 'D'
"""


@pytest.mark.parametrize("key", ["id", "id, amount", "id, at"])
def test_rows_of_a_query_that_do_not_fit_are_rejects(orders, key):
    text = TENS.replace("[id]", f"[{key}]")
    if "at" in key:  # the bucket of such a key is computed in Python
        text = text.replace("amount: TINYINT", "amount: TINYINT, at: TIMESTAMP(3)").replace(
            "'I' AS op", "'I' AS op, timestamp_ntz'2024-01-01 00:00:00' AS at"
        )
        for old in ("'X'", "1000, 'I'", "1, 'I'", "1, 'D'"):
            text = text.replace(old, f"{old}, timestamp_ntz'2024-01-01 00:00:00'")
    orders.declare("shop.tens", text)
    found = orders.load("shop.tens")
    assert [row[:2] for row in orders.rows("shop.tens")] == [(2, 100), (9, 1)]
    rejects = sorted((row[0], row[2], row[3]) for row in orders.rows("shop.tens__rejects"))
    name = "query of shop.tens"
    assert rejects == [
        (name, "amount", "'1000' is not valid for TINYINT"),
        (name, "id", "null in a column that must not be null"),
        (name, "op", "'X' is not one of +I, I, insert, +U, U, update, -D, D, delete"),
    ]
    assert (found.details["rows_read"], found.details["rows_rejected"]) == (7, 3)
    (load,) = load_records(orders.table("shop.tens"))
    assert (load.rows_read, load.rows_written, load.rows_rejected) == (7, 4, 3)


BAD_DAYS = """
    columns: {id: BIGINT, day: DATE, amount: TINYINT}
    primary_key: [id]
    partitions: {by: month, start: 2024-01-01, column: day}
    rejects: {max_share: 1.0}
    source: {type: sql, inputs: [shop.orders], query: "SELECT id, day, amount * 100 AS amount FROM shop.orders"}
"""


@pytest.mark.long
def test_a_load_of_a_partition_of_a_query_replaces_its_rejects(orders):
    orders.declare("shop.bad", BAD_DAYS)

    def rejected():
        return sorted((row[0], row[5]) for row in orders.rows("shop.bad__rejects"))

    orders.load("shop.bad", "2024-01", "2024-02")
    january, february = (f"query of shop.bad [2024-{month}]" for month in ("01", "02"))
    assert rejected() == [(february, 1), (february, 1)]
    orders.load("shop.bad", "2024-02", reload=True)
    assert rejected() == [(february, 2), (february, 2)]
    orders.load("shop.bad", "2024-01", reload=True)
    assert rejected() == [(february, 2), (february, 2)]
    orders.file("data/2024-02-02.csv", "id,day,amount\n2,2024-02-01,1\n4,2024-01-02,5\n")
    orders.load("shop.orders", "2024-02-02")
    orders.load("shop.bad", "2024-02")
    assert rejected() == [(february, 4)], "order 2 fits now, order 4 is of January"
    orders.load("shop.bad", "2024-01")
    assert rejected() == [(january, 5), (february, 4)]
    orders.load("shop.bad", "2024-01", "2024-02", reload=True)
    assert rejected() == [(january, 6), (february, 6)]


@pytest.mark.long
def test_a_query_fills_variants_and_multisets(orders):
    orders.declare(
        "shop.docs",
        """
    columns: {id: BIGINT, v: VARIANT NOT NULL, m: "MULTISET<STRING>", t: TIME(3)}
    rejects: {max_share: 0.5}
    source:
      type: sql
      inputs: [shop.orders]
      query: |
        SELECT id, if(id = 2, null, parse_json(concat('{"a": ', id, '}'))) v, map('x', 1) m, time'10:00:00' t
        FROM shop.orders
""",
    )
    orders.load("shop.docs")
    rows = orders.table("shop.docs").scan().to_arrow().sort_by("id").to_pylist()
    assert [(row["id"], Variant.read(row["v"]).to_python(), row["m"]) for row in rows] == [
        (1, {"a": 1}, [("x", 1)]),
        (3, {"a": 3}, [("x", 1)]),
    ]
    assert [(row[2], row[3]) for row in orders.rows("shop.docs__rejects")] == [
        ("v", "null in a column that must not be null")
    ]


@pytest.mark.long
def test_too_many_rows_of_a_query_that_do_not_fit_publish_nothing(orders):
    orders.declare("shop.tens", TENS.replace("0.5", "0.1"))
    with pytest.raises(AuditFailed, match=r"3 of 7 rows do not fit \(42\.9%\).* query of shop\.tens, column "):
        orders.load("shop.tens")
    assert orders.rows("shop.tens") == orders.rows("shop.tens__rejects") == []


def test_a_column_of_a_query_that_does_not_fit_is_an_error_that_names_it(orders):
    orders.declare("shop.tens", TENS.replace("amount: TINYINT", "amount: DATE"))
    with pytest.raises(PipelineError, match=r"shop\.tens: column 'amount' is DATE and does not accept int"):
        orders.load("shop.tens")


def test_a_query_on_a_table_that_is_no_input_is_refused(orders):
    orders.declare("shop.months", BY_MONTH.replace("FROM shop.orders", "FROM shop.others"))
    with pytest.raises(PipelineError, match=r"shop\.others"):
        orders.load("shop.months", "2024-02")


def test_long_texts_of_a_query_are_padded_and_no_row_more_is_written(orders, monkeypatch):
    notes = """
        columns: {id: BIGINT, note: "STRING NOT NULL"}
        natural_key: [id]
        rejects: {max_share: 0.5}
        source:
          type: sql
          inputs: [shop.orders]
          query: SELECT id, if(id = 3, null, repeat('x', cast(id * 1000 as int))) AS note FROM shop.orders
    """
    monkeypatch.setattr(text_padding, "LEAST_BYTES", 0)
    monkeypatch.setattr(text_padding, "BATCH_BYTES", 10 * text_padding.MOST_ROWS)
    counts = []
    monkeypatch.setattr(routing, "padded", lambda df: counts.append(padded(df).count()) or padded(df))
    orders.declare("shop.notes", notes)
    result = orders.load("shop.notes")
    assert counts == [3 + 100 + 200], "one row more for each 10 bytes"
    assert result.rows_written == 2
    assert orders.table("shop.notes__rejects").scan().count() == 1
    assert orders.rows("shop.notes") == [(1, "x" * 1000), (2, "x" * 2000)]
