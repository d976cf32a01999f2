"""Tables of one slot that look up columns: of each other, and of other tables of the lake."""

from __future__ import annotations

import contextlib
import logging
import threading

import psycopg
import pytest

from paimon_core.group.store import GroupStore
from paimon_lake.loads import load as commits
from paimon_lake.loads.groups.left_versions import left_versions, release_versions
from paimon_lake.protocol import PipelineError, TablesFailed
from paimon_lake.sources.postgres import server as servers
from paimon_lake.steps.audits.audit import audit_loads
from tests.pipelines.loads.postgres.shared import SharedLake, shared_lake
from tests.support.postgres import PASSWORD


@pytest.fixture
def shared(quick, server, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    with shared_lake(quick, server) as found:
        yield found


def declare(shared: SharedLake, rule: str = "missing: wait, max_wait: 2 d", table: str = "shop.z") -> None:
    """Let orders look up the text of their customers in ``table``; ``shop.z`` is the table of customers, named last."""
    customers = shared.lake.folder / "tables" / "shop.c.yaml"
    customers.rename(customers.with_name("shop.z.yaml"))
    lookup = f"lookup: [{{table: {table}, on: {{c: id}}, columns: {{t: t}}, {rule}}}]"
    shared.lake.declare(
        "shop.o",
        f"""
        columns: {{id: BIGINT, c: BIGINT, t: STRING}}
        primary_key: id
        source: {{type: postgres_changes, database: shop, table: s.o, {lookup}}}
        """,
    )
    shared.lake.declare(
        "dim.c",
        """
        columns: {id: BIGINT, t: STRING}
        primary_key: id
        source: {type: files, path: "c/*.csv"}
        """,
    )


def customers(shared: SharedLake, number: int, *rows: str) -> None:
    shared.lake.file(f"c/{number}.csv", "id,t\n" + "".join(f"{row}\n" for row in rows))
    shared.lake.load("dim.c")


def test_rows_find_the_rows_of_their_own_transaction(shared):
    declare(shared, "missing: reject")
    shared.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)")
    shared.load("shop.o")
    with shared.connection.transaction():
        shared.run("INSERT INTO s.c VALUES (2, 'b')", "INSERT INTO s.o VALUES (11, 2)")
    shared.load("shop.o")
    assert shared.lake.rows("shop.o") == [(10, 1, "a"), (11, 2, "b")]
    assert shared.load("shop.i").commits == ()
    assert not audit_loads(shared.lake.settings, "shop.o").wrong


@pytest.mark.parametrize("options", ["", "consistent: true, batch_rows: 1"])
def test_rows_wait_for_another_table_and_a_version_shows_them(shared, options):
    shared.settings(options)
    declare(shared, table="dim.c")
    customers(shared, 1, "1,a")
    shared.run(*(f"INSERT INTO s.c VALUES ({n}, 'x')" for n in (1, 2, 3)))
    shared.run("INSERT INTO s.o VALUES (10, 1), (11, 2), (12, 3)")
    assert shared.load("shop.o").details["rows_waiting"] == 2
    before = shared.position("shop.o")
    customers(shared, 2, "2,b")
    done = shared.load("shop.o")
    assert (done.details["rows_waited"], shared.position("shop.o")) == (1, before)
    assert shared.lake.rows("shop.o") == [(10, 1, "a"), (11, 2, "b")]
    if options:
        assert shared.group().table("shop.o").scan().count() == 2
        assert shared.load("shop.o").details["group_version"] == done.details["group_version"]
    shared.run("DELETE FROM s.c WHERE id = 3", "UPDATE s.o SET c = 1 WHERE id = 11", "INSERT INTO s.o VALUES (13, 2)")
    shared.load("shop.i")
    assert shared.lake.rows("shop.o") == [(10, 1, "a"), (11, 1, "a"), (13, 2, "b")]
    assert shared.load("shop.o").details["rows_waiting"] == 0
    assert not audit_loads(shared.lake.settings, "shop.o").wrong


@pytest.mark.parametrize("skipped", [1, 2])
def test_a_run_that_dies_loses_and_doubles_no_row_that_waits(shared, monkeypatch, skipped):
    declare(shared, table="dim.c")
    customers(shared, 1, "1,a")
    shared.run(*(f"INSERT INTO s.c VALUES ({n}, 'x')" for n in (1, 2)), "INSERT INTO s.o VALUES (10, 2)")
    shared.load("shop.o")
    customers(shared, 2, "2,b")
    shared.run("INSERT INTO s.c VALUES (3, 'x')", "INSERT INTO s.o VALUES (11, 3), (12, 1)")
    real, passed = commits.commit_load, []

    def dying(*given):
        passed.append(None)
        if len(passed) > skipped:
            raise KeyboardInterrupt
        return real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit_load", dying)
        with contextlib.suppress(KeyboardInterrupt):
            shared.load("shop.o")
    shared.load("shop.z")
    assert shared.lake.rows("shop.o") == [(10, 2, "b"), (12, 1, "a")]
    assert shared.load("shop.o").details["rows_waiting"] == 1
    assert not audit_loads(shared.lake.settings, "shop.o").wrong


def test_what_was_committed_before_a_failure_is_told(shared, monkeypatch):
    shared.settings("consistent: true")
    shared.load("shop.o")
    shared.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)", "INSERT INTO s.i VALUES (10, 1, 5)")
    with shared.failing("shop.o", monkeypatch), pytest.raises(TablesFailed) as failed:
        shared.load("shop.i")
    assert {one.table: one.rows_written for one in failed.value.results} == {"shop.i": 1, "shop.c": 1}
    assert str(failed.value).startswith("shop.o: refused; committed before, and kept: ")
    assert list(failed.value.errors) == ["shop.o"]
    shared.load("shop.o")
    shared.check()


def test_a_wait_for_the_slot_is_told_with_the_session_that_reads_it(shared, monkeypatch, caplog):
    shared.load("shop.o")
    monkeypatch.setattr(servers, "QUIET_SECONDS", 0.2)
    with psycopg.connect(shared.url, autocommit=True, application_name="the other load") as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended('paimon_lake ' || %s, 0))", [shared.slot()])
        pid = other.info.backend_pid
        threading.Timer(1.5, other.execute, ["SELECT pg_advisory_unlock_all()"]).start()
        with caplog.at_level(logging.WARNING):
            shared.load("shop.o")
    assert f"which the session {pid} of" in caplog.text
    assert "(the other load), connected since 20" in caplog.text
    assert PASSWORD not in caplog.text


def test_versions_of_a_database_that_is_not_consistent_any_more_are_told_and_deleted(shared):
    shared.settings("consistent: true")
    shared.load("shop.o")
    shared.run("INSERT INTO s.c VALUES (1, 'a')")
    shared.load("shop.o")
    assert list(left_versions(shared.lake.settings)) == []
    with pytest.raises(PipelineError, match="is consistent: its loads publish versions"):
        release_versions(shared.lake.settings, "shop")
    shared.settings()
    shared.load("shop.o")
    shared.lake.table("shop.c").tags.create("mine", snapshot=1)
    (told,) = left_versions(shared.lake.settings)
    assert "2 versions of its group are left" in told
    assert "`paimon-lake release --group shop`" in told
    assert release_versions(shared.lake.settings, "shop") == [
        "deleted 2 versions of the group shop, and 6 tags of its tables"
    ]
    assert list(left_versions(shared.lake.settings)) == []
    assert [one.name for one in shared.lake.table("shop.c").tags.list()] == ["mine"]
    shared.settings("consistent: true")
    assert shared.load("shop.o").details["group_version"] == 1


@pytest.mark.parametrize("options", ["", "consistent: true"])
def test_an_error_of_any_kind_hides_neither_what_was_committed_nor_another_table(shared, monkeypatch, options):
    shared.settings(options)
    shared.load("shop.o")
    shared.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)", "INSERT INTO s.i VALUES (10, 1, 5)")
    real = commits.commit_load

    def failing(table, *given):
        if table.name == "shop.c":
            raise OSError(28, "No space left on device")
        return real(table, *given)

    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit_load", failing)
        with pytest.raises(TablesFailed, match=r"^OSError: .*; committed before, and kept: shop\.o") as failed:
            shared.load("shop.o")
    kept = ["shop.o"] if options else ["shop.o", "shop.i"]
    assert ([one.table for one in failed.value.results], list(failed.value.errors)) == (kept, ["shop.c"])
    shared.check(*kept)
    shared.load("shop.o")
    shared.check()


@pytest.mark.parametrize("versions", [0, 1])
def test_tags_of_a_version_whose_publish_was_interrupted_are_told_and_deleted(shared, monkeypatch, versions):
    shared.settings("consistent: true")
    for number in range(versions):
        shared.load("shop.o")
        shared.run(f"INSERT INTO s.c VALUES ({number}, 'a')")

    def dying(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(GroupStore, "create_version", dying)
        with contextlib.suppress(KeyboardInterrupt):
            shared.load("shop.o")
    shared.settings()
    shared.load("shop.o")
    assert len(list(left_versions(shared.lake.settings))) == 1
    (done,) = release_versions(shared.lake.settings, "shop")
    assert f"{3 * versions + 3} tags of its tables" in done
    assert not [one for name in shared.names for one in shared.lake.table(name).tags.list()]
    assert not list(left_versions(shared.lake.settings))
