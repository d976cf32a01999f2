"""The lag of tables that follow PostgreSQL: bytes, seconds and the disk space of the slot, without Spark."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import psycopg
import pytest

from paimon_lake.loads.lag import lag, lags
from paimon_lake.loads.postgres import lag as of_postgres
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.database import open_database
from paimon_lake.sources.postgres import log_end
from paimon_lake.sources.postgres.server import Server, connected
from tests.support.postgres import PASSWORD
from tests.support.silent_server import silent_server


def of(followed):
    return lag(followed.lake.settings, "shop.o")


def test_only_changes_of_the_table_count(followed):
    first = of(followed)
    assert (first.position, first.is_behind, first.lag_bytes) == ("", True, None)
    assert first.text() == "nothing is loaded yet"
    result = followed.load()
    assert result.details.keys() >= {"lag_bytes", "lag_seconds", "slot_bytes"}
    idle = of(followed)
    assert (idle.is_behind, idle.lag_bytes, idle.lag_seconds) == (False, 0, 0.0)
    followed.run("CREATE TABLE s.other AS SELECT k FROM generate_series(1, 1000) AS k")
    other = of(followed)
    assert (other.is_behind, other.lag_bytes, other.lag_seconds) == (False, 0, 0.0)
    assert other.slot_bytes > idle.slot_bytes
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    time.sleep(1.1)
    followed.run("INSERT INTO s.o VALUES (2, 'b')")
    behind = of(followed)
    assert behind.is_behind
    assert 0 < behind.lag_bytes < 1 << 20
    assert 1.1 <= behind.lag_seconds < 60, "the age of the older one"
    assert "behind, the oldest change waits for" in behind.text()
    assert "; the slot holds " in behind.text()
    followed.load()
    assert not of(followed).is_behind
    followed.check()


@pytest.mark.parametrize(
    "change", ["UPDATE s.o SET t = 'x'", "DELETE FROM s.o", "TRUNCATE s.other, s.o", "UPDATE s.o SET id = 7"]
)
def test_every_kind_of_change_counts(followed, change):
    followed.run("CREATE TABLE s.other (k int)", "INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    assert not of(followed).is_behind
    followed.run(change)
    assert of(followed).is_behind


def test_other_tables_of_a_declared_publication_do_not_count(followed):
    followed.run("CREATE TABLE s.other (k int PRIMARY KEY)", 'CREATE PUBLICATION "Two tables" FOR TABLE s.o, s.other')
    followed.declare(more=", publication: Two tables")
    followed.load()
    followed.run("INSERT INTO s.other VALUES (1)")
    assert not of(followed).is_behind
    followed.run("TRUNCATE s.other")
    assert not of(followed).is_behind


def test_what_is_committed_does_not_count_where_the_slot_was_not_advanced(followed, monkeypatch):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    monkeypatch.setattr(Server, "advance", lambda *_: None)
    followed.load()
    assert not of(followed).is_behind


def test_a_log_that_other_tables_filled_is_loaded_so_that_the_slot_is_advanced(followed, monkeypatch):
    followed.load()
    monkeypatch.setattr(of_postgres, "IDLE_BYTES", 1000)
    followed.run("CREATE TABLE s.other AS SELECT k FROM generate_series(1, 1000) AS k")
    found = of(followed)
    assert (found.is_behind, found.lag_bytes) == (True, 0)


def test_a_search_that_ends_early_counts_as_changes(followed, monkeypatch):
    followed.run("CREATE TABLE s.other (k int PRIMARY KEY)", 'CREATE PUBLICATION "Two tables" FOR TABLE s.o, s.other')
    followed.declare(more=", publication: Two tables")
    followed.load()
    followed.run("INSERT INTO s.other SELECT generate_series(1, 10)")
    monkeypatch.setattr(log_end, "SEARCH_MESSAGES", 5)
    found = of(followed)
    assert found.is_behind
    assert found.lag_seconds > 0
    monkeypatch.setattr(log_end, "SEARCH_SECONDS", "0.001")
    followed.run("INSERT INTO s.other SELECT generate_series(11, 200000)")
    slow = of(followed)
    assert slow.is_behind
    assert (slow.lag_seconds, "because the log is too long to search it" in slow.text()) == (None, True)


def test_a_slot_in_use_is_told_and_not_read(followed):
    followed.load()
    ((slot, publication),) = followed.rows("SELECT slot_name, pubname FROM pg_replication_slots, pg_publication")
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    with contextlib.closing(psycopg.connect(followed.url, replication="database", autocommit=True)) as reader:
        reader.pgconn.exec_(
            f"START_REPLICATION SLOT {slot} LOGICAL 0/0 (proto_version '1', publication_names '{publication}')".encode()
        )
        found = of(followed)
    while followed.rows("SELECT FROM pg_replication_slots WHERE active"):
        time.sleep(0.1)  # the server notices the end of the connection
    assert found.is_read
    assert found.lag_bytes > 0
    assert found.lag_seconds is None
    assert "the slot is read now, by the process" in found.text()


def test_what_a_load_refuses_has_no_lag(followed):
    followed.load()
    followed.run("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    found = of(followed)
    assert isinstance(found, PipelineError)
    assert "does not exist, so changes may be missing: load the table with reload" in str(found)


def test_servers_that_do_not_answer_delay_no_other_table(followed):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = probe.getsockname()[1]
    declared = "{{columns: {{id: INT}}, primary_key: id, source: {{type: postgres_changes, url: '{}', table: s.o}}}}"
    with silent_server() as port:
        url = f"postgresql://lake:${{DATABASE_PASSWORD}}@127.0.0.1:{port}/postgres"
        followed.lake.declare("shop.silent", declared.format(url))
        followed.lake.declare("shop.also_silent", declared.format(url))
        followed.lake.declare("shop.closed", declared.format(url.replace(str(port), str(closed))))
        began = time.monotonic()
        found = lags(followed.lake.settings, ["shop.silent", "shop.o", "shop.also_silent", "shop.closed"], 20)
    assert time.monotonic() - began < 15
    assert list(found) == ["shop.silent", "shop.o", "shop.also_silent", "shop.closed"]
    assert found["shop.o"].is_behind
    for name, why in (("silent", "timeout"), ("also_silent", "timeout"), ("closed", "refused")):
        assert why in str(found[f"shop.{name}"])
        assert PASSWORD not in repr(found[f"shop.{name}"])


def test_a_question_for_the_lag_and_a_load_do_not_read_the_slot_at_the_same_time(followed, monkeypatch):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    ((slot,),) = followed.rows("SELECT slot_name FROM pg_replication_slots")
    database = open_database(followed.url, table="s.o", query="", folder=followed.lake.folder)
    with connected(database) as server, server.reserved(slot, 0) as is_reserved:
        assert is_reserved
        assert of(followed).is_read
        assert "the slot is read now, by a load" in of(followed).text()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loading, "RESERVE_SECONDS", 1)
            with pytest.raises(PipelineError, match="another load reads this slot, and did not end within the wait"):
                followed.load()
        ends = threading.Timer(1, server.rows, ["SELECT pg_advisory_unlock_all()"])
        ends.start()
        assert followed.load().rows_written == 1, "the load waits"
        ends.join()
    assert not of(followed).is_behind
