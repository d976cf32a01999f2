"""Loads that die at any place, and loads at the same time: nothing is lost, and nothing is loaded twice."""

from __future__ import annotations

import contextlib

import pytest

from paimon_lake.loads import load as commits
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.loads.postgres import table_copy
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.server import Server


def die(*_, **__):
    raise KeyboardInterrupt


def dying(followed, monkeypatch, where, name):
    with monkeypatch.context() as patched:
        patched.setattr(where, name, die)
        with pytest.raises(KeyboardInterrupt):
            followed.load()


@pytest.mark.parametrize(
    ("where", "name"),
    [(Server, "create_publication"), (Server, "create_slot"), (table_copy, "write_read"), (commits, "commit_load")],
)
def test_a_first_copy_that_died_is_repeated(followed, monkeypatch, where, name):
    followed.run("INSERT INTO s.o VALUES (1, 'a'), (2, 'b')")
    dying(followed, monkeypatch, where, name)
    followed.run(
        "UPDATE s.o SET t = 'later' WHERE id = 1", "DELETE FROM s.o WHERE id = 2", "INSERT INTO s.o VALUES (3, 'c')"
    )
    assert followed.load().details["rows_read"] == 2
    followed.check()
    followed.run("INSERT INTO s.o VALUES (4, 'd')")
    assert followed.load().details["rows_read"] == 1
    followed.check()
    assert len(followed.rows("SELECT FROM pg_replication_slots")) == 1


@pytest.mark.parametrize(("where", "name"), [(loading, "write_parts"), (commits, "commit_load")])
def test_changes_that_were_not_committed_are_read_again(followed, monkeypatch, where, name):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')", "UPDATE s.o SET t = 'b'", "INSERT INTO s.o VALUES (2, 'c')")
    dying(followed, monkeypatch, where, name)
    assert followed.load().details["changes"] == 3
    followed.check()


def test_changes_that_were_committed_are_not_read_again(followed, monkeypatch):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    dying(followed, monkeypatch, Server, "advance")  # of the plan after the commit
    followed.check()
    followed.run("DELETE FROM s.o", "INSERT INTO s.o VALUES (1, 'b')")
    assert followed.load().details["changes"] == 2
    followed.check()


def test_transactions_before_the_position_are_skipped_where_the_slot_lags(followed, monkeypatch):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    with monkeypatch.context() as patched:
        patched.setattr(Server, "advance", lambda *_: None)
        followed.load()
        followed.run("INSERT INTO s.o VALUES (2, 'b')")
        assert followed.load().details["changes"] == 1
    followed.check()


def test_a_reload_that_died_changes_nothing(followed, monkeypatch):
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit_load", die)
        with pytest.raises(KeyboardInterrupt):
            followed.load(reload=True)
    followed.run("INSERT INTO s.o VALUES (2, 'b')")
    assert followed.load().details["changes"] == 1
    followed.check()


def test_of_two_loads_at_the_same_time_the_second_loads_what_is_left(followed, monkeypatch):
    real, others = commits.commit_load, []
    followed.load()

    def after_another(table, messages, load):
        if not others:
            others.append(True)
            followed.run("INSERT INTO s.o VALUES (2, 'b')")
            assert followed.load().details["changes"] == 2
            followed.run("DELETE FROM s.o WHERE id = 1")
        return real(table, messages, load)

    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit_load", after_another)
        followed.load()
    followed.load()
    followed.check()


def test_of_two_first_copies_at_the_same_time_the_second_reads_changes(followed, monkeypatch):
    real, others = table_copy.write_read, []
    followed.run("INSERT INTO s.o VALUES (1, 'a')")

    def after_another(*given, **more):
        if not others:
            others.append(True)
            followed.run("INSERT INTO s.o VALUES (2, 'b')")
            followed.load()
            followed.run("UPDATE s.o SET t = 'c' WHERE id = 1")
        return real(*given, **more)

    monkeypatch.setattr(table_copy, "write_read", after_another)
    followed.load()
    followed.load()
    followed.check()


def test_a_slot_that_is_in_use_is_named(followed, monkeypatch):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    real = Server.slot

    def used(self, name):
        state = real(self, name)
        return type(state)(**{**vars(state), "active_pid": 4711})

    with monkeypatch.context() as patched:
        patched.setattr(Server, "slot", used)
        with pytest.raises(
            PipelineError, match=r"^shop\.o: .* is used by the process 4711 of the server, .*repeat the load"
        ):
            followed.load()
    followed.load()
    followed.check()


def test_a_table_that_is_altered_or_truncated_during_the_copy_is_refused(followed, monkeypatch):
    real = table_copy.exported_snapshot
    for statement in ("TRUNCATE s.o", "ALTER TABLE s.o ALTER t TYPE varchar(9)"):
        followed.run("INSERT INTO s.o VALUES (1, 'a')")

        @contextlib.contextmanager
        def changing(*given, statement=statement):
            with real(*given) as found:
                followed.run(statement)
                yield found

        with monkeypatch.context() as patched:
            patched.setattr(table_copy, "exported_snapshot", changing)
            with pytest.raises(PipelineError, match=r"s\.o was altered or truncated at the same time: repeat the load"):
                followed.load()
    followed.load()
    followed.check()


def test_the_copy_is_locked_against_truncates_until_it_has_ended(followed, monkeypatch):
    real = table_copy.write_read
    followed.run("INSERT INTO s.o VALUES (1, 'a')")

    def meanwhile(*given, **more):
        with followed.connect() as session, pytest.raises(Exception, match="lock timeout"):
            session.execute("TRUNCATE s.o")
        followed.run("INSERT INTO s.o VALUES (2, 'b')")
        return real(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(table_copy, "write_read", meanwhile)
        assert followed.load().details["rows_read"] == 1
    followed.load()
    followed.check()


def test_a_rollback_of_the_table_while_a_load_runs(followed, monkeypatch):
    """The load would leave out the changes of the load that was rolled back: it is planned again, and refused."""
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    followed.run("INSERT INTO s.o VALUES (2, 'b')")
    write = loading.write_parts

    def rolled_back(*args, **more):
        written = write(*args, **more)
        followed.lake.table("shop.o").rollback(snapshot=1)
        return written

    with monkeypatch.context() as patched:
        patched.setattr(loading, "write_parts", rolled_back)
        with pytest.raises(PipelineError, match="the table was rolled back"):
            followed.load()
    assert followed.lake.table("shop.o").latest_snapshot().id == 1
    followed.load(reload=True)
    followed.check()


def test_a_load_that_another_load_overtook_while_it_was_planned_is_planned_again(followed, monkeypatch):
    """The other load commits and advances the slot after this one has read the ledger."""
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    facts, others = Server.facts, []

    def overtaken(server):
        if not others:
            others.append(None)
            followed.load()
            followed.run("INSERT INTO s.o VALUES (2, 'b')")
            followed.load()
        return facts(server)

    monkeypatch.setattr(Server, "facts", overtaken)
    followed.load()
    followed.check()
