"""Loads of files by Spark: every file once, every row in the table or in its table of rejects."""

from __future__ import annotations

import os

import pytest

from paimon_lake.loads import load as loading
from paimon_lake.loads.files import file_load as files
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.loads.rejected.rejects import publish_rejects
from paimon_lake.protocol import AuditFailed, PipelineError
from paimon_lake.steps.apply import apply

ORDERS = """
    columns: {id: BIGINT, day: STRING, amount: 'DECIMAL(6, 2)'}
    primary_key: [id]
    source: {type: files, path: "data/{date}.csv"}
    partitions: {by: day, start: 2024-01-01, end: 2024-01-31}
    rejects: {max_share: 0.5}
"""
EVENTS = """
    columns: {id: BIGINT, text: STRING}
    natural_key: [id]
    source: {type: files, path: "in/*.csv"}
    mode: append
"""


@pytest.fixture
def orders(lake):
    lake.declare("shop.orders", ORDERS)
    lake.file("data/2024-01-01.csv", "id,day,amount\n1,a,1.50\n2,a,2.50\n")
    lake.file("data/2024-01-02.csv", "id,day,amount\n2,b,20.00\n3,b,x\n4,b,4.00\n")
    return lake


def test_partitions_are_loaded_once_and_later_files_win(orders):
    first = orders.load("shop.orders", "2024-01-01")
    assert (first.details["files_read"], first.details["rows_read"]) == (1, 2)
    second = orders.load("shop.orders", "2024-01-02", "2024-01-01")
    assert (second.details["files_read"], second.details["rows_rejected"]) == (1, 1)
    assert [str(row[2]) for row in orders.rows("shop.orders")] == ["1.50", "20.00", "4.00"]
    third = orders.load("shop.orders", "2024-01-01", "2024-01-02")
    assert (third.commits, third.skipped) == ((), ("2 files loaded before",))


def test_a_rejected_row_has_its_file_line_column_reason_and_text(orders):
    orders.load("shop.orders")
    (row,) = orders.rows("shop.orders__rejects")
    assert row[0].endswith("data/2024-01-02.csv")
    assert (row[1], row[2], row[4]) == (3, "amount", "3,b,x")
    assert "'x' is not valid for DECIMAL(6, 2)" in row[3]


def test_read_is_written_plus_rejected(orders):
    orders.load("shop.orders")
    (load,) = loads_of(orders.table("shop.orders"))
    found = [load.properties[f"pipeline.rows-{what}"] for what in ("read", "written", "rejected")]
    assert found == ["5", "4", "1"]


def test_too_many_rejects_publish_nothing(orders):
    orders.declare("shop.orders", ORDERS.replace("0.5", "0.1"))
    told = r"1 of 5 rows do not fit \(20.0%\), and rejects.max_share is 10.0%; .*02\.csv:3, column amount: 'x' is not"
    with pytest.raises(AuditFailed, match=told):
        orders.load("shop.orders")
    assert orders.rows("shop.orders") == []
    assert orders.rows("shop.orders__rejects") == []
    orders.declare("shop.orders", ORDERS)
    assert orders.load("shop.orders").details["files_read"] == 2


def test_a_load_that_died_before_its_rejects_were_published_has_them_published_by_the_next(orders, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(loading, "publish_rejects", lambda table, *_: None if not loads_of(table) else die())
        with pytest.raises(KeyboardInterrupt):
            orders.load("shop.orders")
    assert orders.rows("shop.orders__rejects") == []
    assert orders.load("shop.orders").skipped == ("2 files loaded before",)
    assert len(orders.rows("shop.orders__rejects")) == 1
    publish_rejects(orders.table("shop.orders"), orders.table("shop.orders__rejects"))
    assert len(orders.rows("shop.orders__rejects")) == 1


def test_a_folder_that_grows_is_loaded_file_by_file(lake):
    lake.declare("log.events", EVENTS)
    with pytest.raises(PipelineError, match=r"^log.events: no file matches source.path in/\*.csv: \S*lake has no in$"):
        lake.load("log.events")
    lake.file("in/a.csv", "id,text\n1,one\n")
    lake.load("log.events")
    lake.file("in/b.csv", "id,text\n2,two\n")
    assert lake.load("log.events").details["files_read"] == 1
    assert lake.rows("log.events") == [(1, "one"), (2, "two")]


def test_more_files_than_a_ledger_holds_are_refused_before_they_are_read(lake, monkeypatch):
    lake.declare("log.events", EVENTS)
    lake.file("in/a.csv", "id,text\n1,one\n")
    lake.load("log.events")
    lake.file("in/b.csv", "id,text\n2,two\n")
    monkeypatch.setattr(files, "MOST_FILES", 1)
    with pytest.raises(PipelineError, match=r"log\.events: its loads would have 2 files, and the ledger .* at most 1:"):
        lake.load("log.events")


@pytest.mark.parametrize("path", ["in/*.csv", "in/**/*.csv", "{folder}/in/*/*.csv"])
def test_a_file_whose_name_is_not_utf_8_is_loaded_and_named_with_escapes(quick, path):
    named = EVENTS.replace("in/*.csv", path.replace("{folder}", str(quick.folder)))
    named = named.replace("STRING}", "STRING, file: STRING}").replace('"}', '", add: {file: file}}')
    quick.declare("log.events", f"{named}    rejects: {{max_share: 0.5}}")
    folder = os.fsencode(quick.folder) + (b"/in/d\xe9" if path != "in/*.csv" else b"/in")
    os.makedirs(folder)
    for name, text in ((b"caf\xe9.csv", b"id,text\n1,one\nx,y\n"), (b"caf\\xe9.csv", b"id,text\n2,two\n")):
        with open(folder + b"/" + name, "wb") as file:
            file.write(text)
    assert quick.load("log.events").details["files_read"] == 2
    rows = quick.rows("log.events")
    assert [row[:2] for row in rows] == [(1, "one"), (2, "two")]
    assert all(row[2].endswith("caf\\xe9.csv") for row in rows)
    assert [row[0] for row in quick.rows("log.events__rejects")] == [rows[0][2]]
    assert quick.load("log.events").skipped == ("2 files loaded before",)


def test_a_changed_file_is_told_or_loaded_or_refused(lake):
    lake.declare("log.events", EVENTS)
    lake.file("in/a.csv", "id,text\n1,one\n")
    lake.load("log.events")
    lake.file("in/a.csv", "id,text\n1,one\n5,five\n")
    lake.file("in/b.csv", "id,text\n2,two\n")
    told = lake.load("log.events")
    assert str(told.details["changed_files"]).endswith("in/a.csv")
    (left_out,) = told.skipped
    assert left_out.startswith(f"1 changed not loaded ({lake.folder}/in/a.csv; a load of the whole table with `--")
    assert f"load log.events: 1 rows written, {left_out}; 2 rows visible, " in told.sentence()
    assert lake.rows("log.events") == [(1, "one"), (2, "two")]
    lake.declare("log.events", EVENTS.replace('"in/*.csv"', '"in/*.csv", changed: fail'))
    with pytest.raises(PipelineError, match=r"changed: fail, and 1 changed after it was loaded: .*a\.csv; a load "):
        lake.load("log.events")
    assert lake.load("log.events", reload=True).row_count == 3
    upserted = EVENTS.replace('"in/*.csv"', '"in/*.csv", changed: load').replace("mode: append", "")
    upserted = upserted.replace("natural_key", "primary_key")
    lake.declare("log.more", upserted)
    lake.load("log.more")
    lake.file("in/a.csv", "id,text\n1,ONE\n")
    told = lake.load("log.more")
    assert told.details["files_read"] == 1
    assert told.skipped == (
        f"1 changed loaded ({lake.folder}/in/a.csv): rows that only their older versions have stay in the table",
    )
    assert lake.rows("log.more") == [(1, "ONE"), (2, "two"), (5, "five")]


def test_of_two_loads_at_the_same_time_the_second_loads_what_is_left(lake, monkeypatch):
    lake.declare("log.events", EVENTS)
    lake.file("in/a.csv", "id,text\n1,one\n")
    real, others = loading.commit_load, []

    def after_another(table, messages, load):
        if not others:
            others.append(True)
            lake.file("in/b.csv", "id,text\n2,two\n")
            assert lake.load("log.events").details["files_read"] == 2
        return real(table, messages, load)

    monkeypatch.setattr(loading, "commit_load", after_another)
    assert lake.load("log.events").skipped == ("2 files loaded before",)
    assert lake.rows("log.events") == [(1, "one"), (2, "two")]


@pytest.mark.parametrize("moment", ["before its plan", "before its commit"])
def test_a_first_load_that_finds_everything_loaded_tells_the_rows_and_the_snapshot_of_the_other(
    quick, monkeypatch, moment
):
    """The table does not exist when both begin; each result says what its own load committed."""
    quick.declare("log.events", EVENTS)
    quick.file("in/a.csv", "id,text\n1,a\n2,b\n")
    name = {"before its plan": "read_ledger", "before its commit": "commit_load"}[moment]
    real, others = getattr(loading, name), []

    def after_another(*given, **more):
        monkeypatch.setattr(loading, name, real)
        others.append(quick.load("log.events"))
        return real(*given, **more)

    monkeypatch.setattr(loading, name, after_another)
    loser, (winner,) = quick.load("log.events"), others
    assert (winner.commits, winner.rows_written, winner.row_count, winner.snapshot_id) == ((1,), 2, 2, 1)
    assert (loser.commits, loser.rows_written, loser.row_count, loser.snapshot_id) == ((), 0, 2, 1)
    assert loser.files == 1
    assert "1 files loaded before, nothing written; 2 rows visible, snapshot 1, 1 files" in loser.sentence()


def test_a_file_with_other_columns_is_an_error_that_names_it_and_publishes_nothing(orders):
    orders.file("data/2024-01-03.csv", "number,day,amount\n1,a,1.50\n")
    with pytest.raises(PipelineError, match=r"shop\.orders: file .*2024-01-03\.csv .*'number'"):
        orders.load("shop.orders")
    assert orders.rows("shop.orders") == []


def test_kinds_insert_update_and_delete(lake):
    lake.declare(
        "shop.stock",
        """
        columns: {sku: STRING, count: INT}
        primary_key: [sku]
        kinds: {column: op}
        rejects: {max_share: 0.5}
        source: {type: files, path: "in/*.jsonl"}
        """,
    )
    lines = ['{"sku": "a", "count": 1, "op": "I"}', '{"sku": "b", "count": 2, "op": "I"}']
    lines += ['{"sku": "a", "count": 5, "op": "U"}', '{"sku": "b", "count": 2, "op": "D"}']
    lines += ['{"sku": "a", "count": 9, "op": "X"}', '{"sku": "a", "count": 9}']
    lake.file("in/1.jsonl", "\n".join(lines))
    lake.load("shop.stock")
    assert lake.rows("shop.stock") == [("a", 5)]
    rejects = [row[1:4] for row in lake.rows("shop.stock__rejects")]
    assert rejects[0] == (5, "op", "'X' is not one of +I, I, insert, +U, U, update, -D, D, delete")
    assert rejects[1] == (6, "op", "null in a column that must not be null")


def test_renamed_and_added_columns(lake):
    lake.declare(
        "log.visits",
        """
        columns: {id: BIGINT, day: STRING, origin: STRING}
        natural_key: [id]
        mode: append
        partitions: {by: day, start: 2024-01-01}
        source: {type: files, path: "in/{date}.csv", rename: {Number: id}, add: {day: partition, origin: file}}
        """,
    )
    path = lake.file("in/2024-01-05.csv", "Number\n7\n")
    lake.load("log.visits", "2024-01-05")
    assert lake.rows("log.visits") == [(7, "2024-01-05", str(path))]


def test_a_blocking_check_publishes_nothing(lake):
    lake.declare("log.events", EVENTS + "    checks: [{type: range, column: id, max: 10, block: true}]\n")
    lake.file("in/a.csv", "id,text\n99,one\n")
    with pytest.raises(AuditFailed, match="range_id"):
        lake.load("log.events")
    assert lake.rows("log.events") == []
    lake.file("in/a.csv", "id,text\n9,one\n")
    assert [finding.passed for finding in lake.load("log.events").check_results] == [True]


def test_overwritten_partitions_read_all_their_files(lake):
    lake.declare(
        "log.days",
        """
        columns: {day: STRING, id: BIGINT}
        natural_key: [id]
        partition_by: [day]
        mode: overwrite-partitions
        partitions: {by: day, start: 2024-01-01, column: day}
        source: {type: files, path: "in/{date}/*.csv"}
        """,
    )
    lake.file("in/2024-01-01/a.csv", "day,id\n2024-01-01,1\n")
    lake.file("in/2024-01-02/a.csv", "day,id\n2024-01-02,7\n")
    lake.load("log.days", "2024-01-01", "2024-01-02")
    lake.file("in/2024-01-01/b.csv", "day,id\n2024-01-01,2\n")
    lake.load("log.days", "2024-01-01")
    assert lake.rows("log.days") == [("2024-01-01", 1), ("2024-01-01", 2), ("2024-01-02", 7)]
    lake.file("in/2024-01-01/a.csv", "day,id\n")
    lake.file("in/2024-01-01/b.csv", "day,id\n")
    lake.load("log.days", "2024-01-01", reload=True)
    assert lake.rows("log.days") == [("2024-01-02", 7)]
    assert lake.load("log.days", "2024-01-01", reload=True).commits == (4,)


def test_of_rows_in_several_tasks_that_of_the_later_file_wins(lake, monkeypatch):
    monkeypatch.setattr(files, "TASK_BYTES", 10)
    lake.declare(
        "shop.stock",
        """
        columns: {sku: STRING, count: INT}
        primary_key: [sku]
        source: {type: files, path: "in/*.csv"}
    """,
    )
    for number in range(6):
        rows = "".join(f"s{key},{number}\n" for key in range(20 if number % 2 else 3))
        lake.file(f"in/{number}.csv", "sku,count\n" + rows)
    lake.load("shop.stock")
    assert {count for _, count in lake.rows("shop.stock")} == {5}


def test_a_file_without_rows_and_an_empty_file_are_loaded_once(lake):
    lake.declare("log.events", EVENTS)
    lake.file("in/a.csv", "id,text\n")
    assert lake.load("log.events").commits == (1,)
    lake.file("in/b.csv", "")
    assert lake.load("log.events").commits == (2,)
    assert lake.load("log.events").skipped == ("2 files loaded before",)


def test_a_blocking_check_also_stops_a_load_without_rows(lake):
    lake.declare("log.events", EVENTS + "    checks: [{type: row_count, min: 1, block: true}]\n")
    lake.file("in/a.csv", "id,text\n")
    with pytest.raises(AuditFailed, match="row_count"):
        lake.load("log.events")
    assert lake.table("log.events").latest_snapshot() is None


def test_reload_of_a_table_that_is_appended_to_replaces_it(lake):
    lake.declare("log.events", EVENTS)
    lake.file("in/a.csv", "id,text\n1,one\n")
    lake.load("log.events")
    lake.file("in/b.csv", "id,text\n2,two\n")
    lake.load("log.events", reload=True)
    assert lake.rows("log.events") == [(1, "one"), (2, "two")]
    assert lake.load("log.events").skipped == ("2 files loaded before",)
    (lake.folder / "in/b.csv").unlink()
    gone = "1 file of earlier loads not in the source any more: the table has no rows of them now"
    assert lake.load("log.events", reload=True).skipped == (gone,)
    assert lake.rows("log.events") == [(1, "one")]


def test_reload_of_some_partitions_of_a_table_that_is_appended_to_is_refused(lake):
    lake.declare(
        "log.events", EVENTS.replace("in/*.csv", "in/{date}.csv") + "    partitions: {by: day, start: 2024-01-01}\n"
    )
    with pytest.raises(PipelineError, match=r"log\.events: reload of some partitions would append their rows again"):
        lake.load("log.events", "2024-01-01", reload=True)


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        (("2023-12-31",), "shop.orders has no partition 2023-12-31: its partitions run from 2024-01-01 to 2024-01-31"),
        (("January",), r"'January' is no partition by day; keys are like 2024-01-07"),
    ],
)
def test_an_unknown_partition_is_refused(orders, partitions, message):
    with pytest.raises(PipelineError, match=message):
        orders.load("shop.orders", *partitions)


def test_a_partition_cannot_be_loaded_from_a_path_without_place(quick):
    quick.declare(
        "shop.orders",
        """
        columns: {id: BIGINT}
        primary_key: id
        source: {type: files, path: "in/*.csv"}
        partitions: {by: day, start: 2024-01-01}
        """,
    )
    quick.file("in/a.csv", "id\n1\n")
    with pytest.raises(PipelineError, match=r"in/\*\.csv has no placeholder for the partition, such as \{date\}"):
        quick.load("shop.orders", "2024-01-01")


def test_a_table_that_differs_from_its_declaration_is_not_loaded(quick):
    declared = 'columns: {id: BIGINT}\nprimary_key: id\nsource: {type: files, path: "in/*.csv"}\n'
    quick.declare("shop.orders", declared)
    quick.create("shop.orders")
    quick.declare("shop.orders", declared.replace("BIGINT", "BIGINT, note: STRING"))
    quick.file("in/a.csv", "id,note\n1,x\n")
    with pytest.raises(PipelineError, match=r"shop\.orders has no column note, .* apply` alters the table"):
        quick.load("shop.orders")
    apply(quick.settings)
    quick.load("shop.orders")
    assert quick.rows("shop.orders") == [(1, "x")]
