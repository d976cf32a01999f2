"""Loads of databases by Spark: the whole result or the rows above the watermark, each exactly once."""

from __future__ import annotations

import logging
import sqlite3

import adbc_driver_postgresql.dbapi
import pytest

from paimon_lake.declarations import SettingsError
from paimon_lake.loads import database as loading
from paimon_lake.loads import load as commits
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.protocol import PipelineError
from tests.support.postgres import PASSWORD, running_server

EVENTS = """
    columns: {id: BIGINT, at: STRING}
    source: {type: database, url: "sqlite:///source.db", table: events, watermark: at}
"""
ORDERS = """
    columns: {id: BIGINT NOT NULL, at: 'TIMESTAMP(6) WITH LOCAL TIME ZONE'}
    primary_key: [id]
    rejects: {max_share: 0.5}
    source: {type: database, url: "%s", table: s.orders, watermark: at, split: id, parts: 3}
"""


server = pytest.fixture(running_server, scope="module")


@pytest.fixture
def orders(lake, server, monkeypatch):
    """A lake with a table that is loaded from PostgreSQL; ``orders.run`` runs SQL there."""
    url = server.uri().replace("+psycopg", "")

    def run(*statements):
        with adbc_driver_postgresql.dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    lake.url = url.replace(PASSWORD, "${DATABASE_PASSWORD}")
    lake.run = run
    run("DROP SCHEMA IF EXISTS s CASCADE", "CREATE SCHEMA s", "CREATE TABLE s.orders (id bigint, at timestamptz)")
    lake.declare("shop.orders", ORDERS % lake.url)
    return lake


def sql(lake, *statements):
    connection = sqlite3.connect(lake.folder / "source.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.fixture
def events(lake):
    lake.declare("log.events", EVENTS)
    sql(lake, "CREATE TABLE events (id integer, at text)", "INSERT INTO events VALUES (1, 'a'), (2, 'b')")
    return lake


def test_a_load_reads_the_rows_above_the_watermark(events):
    first = events.load("log.events")
    assert (first.details["watermark"], first.details["rows_read"]) == ("b", 2)
    assert events.load("log.events").skipped == (
        f"no row of sqlite:///{events.folder}/source.db events has a watermark 'at' above b",
    )
    sql(events, "INSERT INTO events VALUES (3, 'c'), (4, null)")
    third = events.load("log.events")
    assert (third.details["rows_read"], third.details["rows_without_watermark"]) == (1, 1)
    assert events.rows("log.events") == [(1, "a"), (2, "b"), (3, "c")]
    assert "1 rows have none and are never loaded" in events.load("log.events").skipped[0]
    entry = read_ledger(events.table("log.events")).watermark
    assert isinstance(entry, dict)
    assert len(entry.pop("relation")) == 24
    place = f"sqlite:///{events.folder}/source.db"
    assert entry == {"column": "at", "type": "text", "value": "c", "database": place}


def test_rows_with_a_smaller_or_equal_watermark_that_come_later_are_not_seen(events):
    events.load("log.events")
    sql(events, "INSERT INTO events VALUES (9, 'b'), (8, 'a'), (3, 'c')")
    assert events.load("log.events").details["rows_read"] == 1
    assert [row[0] for row in events.rows("log.events")] == [1, 2, 3]


def test_rows_above_the_bound_wait_for_the_next_load(events, monkeypatch):
    real = loading.write_parts

    def after_a_commit(*given, **more):
        sql(events, "INSERT INTO events VALUES (7, 'c')")
        return real(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(loading, "write_parts", after_a_commit)
        assert events.load("log.events").details["rows_read"] == 2
    assert events.load("log.events").details["rows_read"] == 1
    assert [row[0] for row in events.rows("log.events")] == [1, 2, 7]


def test_a_load_that_dies_before_its_commit_loads_the_same_rows_again(events, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit_load", die)
        with pytest.raises(KeyboardInterrupt):
            events.load("log.events")
    assert events.load("log.events").details["rows_read"] == 2
    assert [row[0] for row in events.rows("log.events")] == [1, 2]


def test_of_two_loads_at_the_same_time_the_second_loads_what_is_left(events, monkeypatch):
    real, others = commits.commit_load, []

    def after_another(table, messages, load):
        if not others:
            others.append(True)
            sql(events, "INSERT INTO events VALUES (3, 'c')")
            assert events.load("log.events").details["rows_read"] == 3
            sql(events, "INSERT INTO events VALUES (4, 'd')")
        return real(table, messages, load)

    monkeypatch.setattr(commits, "commit_load", after_another)
    assert events.load("log.events").details["rows_read"] == 1
    assert [row[0] for row in events.rows("log.events")] == [1, 2, 3, 4]


def test_a_rollback_moves_the_watermark_back_and_reload_reads_from_the_start(events):
    events.load("log.events")
    sql(events, "INSERT INTO events VALUES (3, 'c')")
    events.load("log.events")
    events.table("log.events").rollback(snapshot=1)
    assert events.load("log.events").details["rows_read"] == 1
    assert events.load("log.events", reload=True).details["rows_read"] == 3
    assert len(events.rows("log.events")) == 3


def test_a_watermark_that_changes_its_column_or_type_is_refused(events):
    events.load("log.events")
    events.declare("log.events", EVENTS.replace("watermark: at", "watermark: id"))
    with pytest.raises(PipelineError, match=r"log\.events: source\.watermark is 'id', and the rows up to b of 'at'"):
        events.load("log.events")
    events.declare("log.events", EVENTS)
    sql(events, "INSERT INTO events VALUES (3, x'00')")
    with pytest.raises(PipelineError, match="has values of the types blob, text"):
        events.load("log.events")
    sql(events, "DROP TABLE events", "CREATE TABLE events (id, at)", "INSERT INTO events VALUES (3, 4)")
    with pytest.raises(PipelineError, match="is now of the type int, and the rows up to the text b were loaded"):
        events.load("log.events")


def test_a_watermark_of_another_table_or_database_is_refused_until_a_reload(events):
    events.load("log.events")
    sql(events, "CREATE TABLE others AS SELECT id + 10 AS id, 'a' AS at FROM events")
    events.declare("log.events", EVENTS.replace("table: events", "table: others"))
    said = "the rows up to b of 'at' were loaded from another table or query of it: load the table with reload"
    with pytest.raises(PipelineError, match=rf"^log\.events: the source is sqlite:///.*/source\.db others, and {said}"):
        events.load("log.events")
    events.declare("log.events", EVENTS.replace("source.db", "moved.db"))
    (events.folder / "source.db").rename(events.folder / "moved.db")
    with pytest.raises(
        PipelineError, match=r"/moved\.db events, .* were loaded from sqlite:///.*/source\.db: load the"
    ):
        events.load("log.events")
    assert events.load("log.events", reload=True).details["rows_read"] == 2
    assert events.load("log.events").commits == ()


def test_without_watermark_and_key_the_result_replaces_the_rows(events):
    query = 'query: "WITH e AS (SELECT * FROM events) SELECT id * -1 AS id, at FROM e -- ;", split: id, parts: 3'
    events.declare("log.events", EVENTS.replace("table: events, watermark: at", query))
    sql(events, "INSERT INTO events VALUES (-1000, 'z'), (null, 'y')")
    for _ in range(2):
        assert events.load("log.events").details["rows_read"] == 4
    found = events.table("log.events").scan().to_arrow().to_pylist()
    assert sorted((row["id"] is None, row["id"]) for row in found) == [
        (False, -2),
        (False, -1),
        (False, 1000),
        (True, None),
    ]
    sql(events, "DELETE FROM events")
    events.load("log.events")
    assert events.rows("log.events") == []


def test_a_repeated_run_loads_a_whole_table_once(events):
    events.declare("log.events", EVENTS.replace(", watermark: at", ""))
    assert events.load("log.events", run_key="night 1").commits == (1,)
    assert events.load("log.events", run_key="night 1").skipped == ("loaded before, in snapshot 1",)
    assert events.load("log.events", run_key="night 2").commits == (2,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EVENTS.replace(", watermark: at", "") + "    mode: append\n", "mode append would add all rows again"),
        (EVENTS + "    mode: overwrite\n", "mode overwrite would replace all rows by the rows above the watermark"),
        (EVENTS + "    partitions: {by: day, start: 2024-01-01}\n", "remove partitions"),
        (EVENTS.replace("table: events", "query: 'SELECT 1; SELECT 2'"), "one SELECT or WITH"),
        (EVENTS.replace("table: events", "query: DELETE FROM events"), "one SELECT or WITH"),
        (EVENTS.replace("table: events", "table: a..b"), "table must be a name"),
        (EVENTS.replace("watermark: at", "lag: 5"), "lag needs watermark"),
        (EVENTS.replace("watermark: at", "watermark: at, lag: 5"), "lag needs PostgreSQL"),
        (EVENTS.replace("watermark: at", "parts: 5"), "parts needs split"),
        (EVENTS.replace("watermark: at", "split: id, parts: 17"), r"source\.parts must be 16 or less, not 17"),
    ],
)
def test_declarations_that_would_lose_or_repeat_rows_are_refused(lake, text, said):
    lake.declare("log.events", text)
    with pytest.raises(SettingsError, match=said):
        lake.load("log.events")


def test_rows_of_postgresql_are_read_in_parts_of_one_snapshot(orders, monkeypatch):
    real = loading.write_parts
    orders.run("INSERT INTO s.orders SELECT k, '2024-01-01Z' FROM generate_series(-5, 5) AS k")

    def after_a_change(spark, parts, *given, **more):
        assert len(parts) == 3
        orders.run("INSERT INTO s.orders VALUES (0, '2023-01-01Z')", "DELETE FROM s.orders WHERE id > 3")
        return real(spark, parts, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(loading, "write_parts", after_a_change)
        assert orders.load("shop.orders").details["rows_read"] == 11
    assert [row[0] for row in orders.rows("shop.orders")] == list(range(-5, 6))
    orders.run("INSERT INTO s.orders VALUES (1, '2024-01-02 00:00:00.000001Z'), (null, '2024-01-02Z')")
    second = orders.load("shop.orders")
    assert second.details["watermark"] == "2024-01-02T00:00:00.000001Z"
    assert (second.details["rows_read"], second.details["rows_rejected"]) == (2, 1)
    assert len(orders.rows("shop.orders")) == 11
    ((file, line, column, reason, *_),) = orders.rows("shop.orders__rejects")
    assert file.endswith("/postgres s.orders")
    assert (line, column, reason) == (None, "id", "null in a column that must not be null")
    assert orders.load("shop.orders").commits == ()


def test_a_lag_leaves_the_newest_rows_to_a_later_load(orders):
    orders.declare("shop.orders", ORDERS.replace("watermark: at", "watermark: at, lag: 60") % orders.url)
    orders.run("INSERT INTO s.orders VALUES (1, now() - interval '1 hour'), (2, now())")
    assert orders.load("shop.orders").details["rows_read"] == 1
    assert orders.load("shop.orders").details["rows_read"] == 0  # the bound is the clock, which has moved on
    orders.declare("shop.orders", ORDERS % orders.url)
    assert orders.load("shop.orders").details["rows_read"] == 1
    assert [row[0] for row in orders.rows("shop.orders")] == [1, 2]


def test_a_watermark_without_an_order_in_time_is_refused(orders):
    orders.run("INSERT INTO s.orders VALUES (1, 'infinity')")
    with pytest.raises(PipelineError, match=r"^shop\.orders: .* s\.orders: the watermark 'at' has infinity, or a year"):
        orders.load("shop.orders")
    orders.run("ALTER TABLE s.orders ALTER at TYPE boolean USING true")
    with pytest.raises(PipelineError, match="the column 'at' has the type bool, which has no exact cast to TIMESTAMP"):
        orders.load("shop.orders")


def test_the_password_is_nowhere(orders, caplog):
    orders.run("INSERT INTO s.orders VALUES (1, '2024-01-01Z'), (null, '2024-01-01Z')")
    with caplog.at_level(logging.DEBUG):
        result = orders.load("shop.orders")
    kept = [load.properties for load in loads_of(orders.table("shop.orders"))]
    spec = orders.settings.table("shop.orders")
    assert PASSWORD not in f"{result} {result.to_json()} {kept} {spec} {spec.source!r} {caplog.text}"
    for path in (orders.folder / "warehouse").rglob("*"):
        assert path.is_dir() or PASSWORD.encode() not in path.read_bytes()


def test_errors_of_tasks_name_table_database_and_reason_without_the_password(orders, monkeypatch):
    orders.run("INSERT INTO s.orders VALUES (1, '2024-01-01Z')")
    orders.declare(
        "shop.orders",
        (ORDERS % orders.url)
        .replace("table: s.orders", 'query: "SELECT 1 / (id - 1) AS id, at FROM s.orders"')
        .replace(", split: id, parts: 3", ""),
    )
    with pytest.raises(PipelineError, match=r"^shop\.orders: postgresql://[\d.:]+/postgres query: division by zero$"):
        orders.load("shop.orders")
    monkeypatch.setenv("DATABASE_PASSWORD", "canary-wrong")
    with pytest.raises(PipelineError, match=r"^shop\.orders: postgresql://.* password authentication failed") as caught:
        orders.load("shop.orders")
    assert "canary" not in f"{caught.value!r}"


def test_kinds_of_a_database_insert_and_delete(events):
    events.declare(
        "log.events",
        EVENTS.replace("watermark: at", "watermark: n") + "    primary_key: [id]\n    kinds: {column: op}\n",
    )
    sql(
        events,
        "ALTER TABLE events ADD op text",
        "ALTER TABLE events ADD n integer",
        "UPDATE events SET op = 'I', n = id",
    )
    events.load("log.events")
    sql(events, "INSERT INTO events VALUES (1, 'a', 'D', 3)")
    assert events.load("log.events").details["watermark"] == "3"
    assert events.rows("log.events") == [(2, "b")]
