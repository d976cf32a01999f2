"""Tables of one database that share a slot: loads of all of them, at their own positions or at a common one."""

from __future__ import annotations

import contextlib

import psycopg
import pytest

from paimon_core.errors import StorageError
from paimon_core.group.group import Group
from paimon_lake.loads import load as commits
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.loads.postgres import shared_slot
from paimon_lake.loads.postgres.release import release
from paimon_lake.protocol import NOT_DELETED, PipelineError, TablesFailed
from paimon_lake.sources.postgres.server import Server
from paimon_lake.tables import open_lake
from tests.pipelines.loads.postgres.shared import SharedLake, shared_lake
from tests.support.postgres import PASSWORD


@pytest.fixture
def shared(quick, server, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    with shared_lake(quick, server) as found:
        yield found


@pytest.fixture
def consistent(shared: SharedLake):
    shared.settings("consistent: true")
    return shared


def die(*_, **__):
    raise KeyboardInterrupt


def test_a_load_of_one_table_loads_all_tables_of_the_slot(shared):
    shared.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)")
    done = shared.load("shop.o")
    assert [(one.table, one.rows_written) for one in (done, *done.others)] == [
        ("shop.o", 1), ("shop.c", 1), ("shop.i", 0),
    ]  # fmt: skip
    shared.run("UPDATE s.c SET t = 'b'", "INSERT INTO s.i VALUES (10, 1, 5)")
    done = shared.load("shop.c")
    assert [one.details.get("changes") for one in (done, *done.others)] == [1, 1, None]
    shared.check()
    assert len(shared.rows("SELECT FROM pg_replication_slots")) == 1
    assert len(shared.rows("SELECT FROM pg_publication")) == 1


def test_the_log_is_read_once_for_all_tables(shared, monkeypatch):
    shared.load("shop.o")
    shared.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)", "INSERT INTO s.i VALUES (10, 1, 5)")
    reads, real = [], Server.messages
    with monkeypatch.context() as patched:
        patched.setattr(Server, "messages", lambda *given: reads.append(given) or real(*given))
        shared.load("shop.o")
    shared.check()
    assert len(reads) == 1


def test_the_slot_is_advanced_to_the_smallest_position_only(shared, monkeypatch):
    shared.load("shop.o")
    shared.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)")
    before = shared.position("shop.c")
    with shared.failing("shop.c", monkeypatch):
        with pytest.raises(TablesFailed, match=r"^shop\.c: refused; committed before, and kept: shop\.o \(sn"):
            shared.load("shop.o")
        assert shared.position("shop.o") > before
        shared.run("INSERT INTO s.o VALUES (11, 1)")
        with pytest.raises(TablesFailed, match=r"^shop\.c: refused"):
            shared.load("shop.o")
        with pytest.raises(TablesFailed, match=r"^shop\.c: refused$") as failed:
            shared.load("shop.o")
        assert [(one.table, one.commits) for one in failed.value.results] == [("shop.o", ())]
    assert shared.confirmed() <= before
    shared.load("shop.c")
    shared.check()
    assert shared.confirmed() > before


def test_a_table_that_is_behind_by_more_than_a_batch_does_not_stop_the_others(shared, monkeypatch):
    shared.settings("batch_rows: 1")
    shared.load("shop.o")
    with shared.failing("shop.c", monkeypatch):
        for key in range(4):
            shared.run(f"INSERT INTO s.c VALUES ({key}, 'a')", f"INSERT INTO s.o VALUES ({key}, {key})")
            with pytest.raises(TablesFailed, match=r"^shop\.c: refused"):
                shared.load("shop.o")
        shared.check("shop.o")
    shared.load("shop.i")
    shared.check()


def test_a_table_that_is_added_later_is_copied_and_joins(shared):
    (shared.lake.folder / "tables" / "shop.i.yaml").rename(shared.lake.folder / "later")
    shared.load("shop.o")
    shared.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)", "INSERT INTO s.i VALUES (10, 1, 5)")
    (shared.lake.folder / "later").rename(shared.lake.folder / "tables" / "shop.i.yaml")
    done = shared.load("shop.o")
    assert {one.table: one.details["rows_read"] for one in done.others}["shop.i"] == 1
    shared.run("UPDATE s.i SET n = 6")
    shared.load("shop.o")
    shared.check()
    assert len(shared.rows("SELECT FROM pg_replication_slots")) == 1


def test_a_table_without_declaration_does_not_hold_the_slot(shared):
    shared.load("shop.o")
    (shared.lake.folder / "tables" / "shop.i.yaml").unlink()
    shared.run("INSERT INTO s.c VALUES (1, 'a')")
    shared.load("shop.o")
    assert shared.confirmed() >= min(shared.position("shop.c"), shared.position("shop.o"))


def test_release_leaves_the_slot_to_the_other_tables(shared):
    shared.load("shop.o")
    assert release(shared.lake.settings, "shop.i") == [
        f"removed s.i from the publication {shared.publication()}; the slot is kept for shop.c and shop.o: remove the "
        "declaration, because the slot keeps the log from the position of each declared table on"
    ]
    with pytest.raises(PipelineError, match=r"^shop\.i: .* does not name this table.*ADD TABLE"):
        shared.load("shop.i")
    shared.load("shop.i", reload=True)
    for name in ("shop.i", "shop.c"):
        release(shared.lake.settings, name)
        (shared.lake.folder / "tables" / f"{name}.yaml").unlink()
    shared.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)")
    shared.load("shop.o")
    shared.check("shop.o")
    assert len(release(shared.lake.settings, "shop.o")) == 2
    assert shared.rows("SELECT FROM pg_replication_slots") == []


def test_a_consistent_group_shows_one_state_of_the_source(consistent):
    consistent.run("INSERT INTO s.c VALUES (1, 'a')")
    first = consistent.load("shop.o")
    assert (first.details["group_version"], consistent.version()) == (1, {"shop.c": 1, "shop.i": 0, "shop.o": 0})
    consistent.run("INSERT INTO s.o VALUES (10, 1)")
    second = consistent.load("shop.i")
    assert {second.details["group_version"], *(one.details["group_version"] for one in second.others)} == {2}
    assert consistent.version() == {"shop.c": 1, "shop.i": 0, "shop.o": 1}
    assert len({consistent.position(name) for name in consistent.names}) == 1
    assert consistent.load("shop.o").details["group_version"] == 2


def test_old_versions_that_are_not_deleted_fail_no_load(consistent, monkeypatch):
    def down(*_):
        raise StorageError("the store is down")

    monkeypatch.setattr(Group, "expire", down)
    done = consistent.load("shop.o")
    assert (done.details["group_version"], done.details[NOT_DELETED]) == (1, "the store is down")
    assert "its group is published, but old versions were not deleted: the store is down" in done.sentence()
    assert consistent.version() == {"shop.c": 0, "shop.i": 0, "shop.o": 0}


@pytest.mark.parametrize("committed", [0, 1, 2])
def test_a_group_that_died_between_two_commits_is_completed_first(consistent, monkeypatch, committed):
    consistent.load("shop.o")
    before = consistent.version()
    consistent.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)")
    real, done = commits.commit_load, []

    def dying(*given):
        if len(done) == committed:
            raise KeyboardInterrupt
        done.append(given)
        return real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit_load", dying)
        with pytest.raises(KeyboardInterrupt):
            consistent.load("shop.o")
    assert consistent.version() == before
    consistent.run("UPDATE s.c SET id = 2", "INSERT INTO s.i VALUES (10, 2, 3)")
    consistent.load("shop.o")
    consistent.check()
    positions = {version.properties[shared_slot.LSN] for version in consistent.group().versions()}
    assert len(positions) == len(consistent.group().versions()) == (2 if committed == 0 else 3)
    assert consistent.version() == {"shop.c": 1, "shop.i": 1, "shop.o": 1}


def test_a_group_that_died_before_its_version_publishes_it_first(consistent, monkeypatch):
    consistent.load("shop.o")
    consistent.run("INSERT INTO s.c VALUES (1, 'a')")
    with monkeypatch.context() as patched:
        patched.setattr("paimon_core.group.store.GroupStore.create_version", die)
        with pytest.raises(KeyboardInterrupt):
            consistent.load("shop.o")
    assert consistent.version() == {"shop.c": 0, "shop.i": 0, "shop.o": 0}
    assert consistent.load("shop.o").details["group_version"] == 2
    assert consistent.version() == {"shop.c": 1, "shop.i": 0, "shop.o": 0}


def test_a_version_whose_snapshot_is_gone_is_given_up(consistent, monkeypatch):
    consistent.load("shop.o")
    consistent.run("INSERT INTO s.c VALUES (1, 'a')")
    with monkeypatch.context() as patched:
        patched.setattr("paimon_core.group.group.commit_part", die)
        with pytest.raises(KeyboardInterrupt):
            consistent.load("shop.o")
    consistent.lake.table("shop.c").rollback(snapshot=1)
    with pytest.raises(PipelineError, match=r"shop\.c: .* the table was rolled back"):
        consistent.load("shop.o")
    consistent.load("shop.c", reload=True)
    consistent.check()
    assert consistent.version() == {"shop.c": 1, "shop.i": 0, "shop.o": 0}


def test_a_failure_of_one_table_stops_a_consistent_group(consistent, monkeypatch):
    consistent.load("shop.o")
    consistent.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)")
    with (
        consistent.failing("shop.o", monkeypatch),
        pytest.raises(TablesFailed, match=r"^shop\.o: refused; committed before, and kept: shop\.c"),
    ):
        consistent.load("shop.c")
    consistent.load("shop.c")
    assert consistent.version() == {"shop.c": 1, "shop.i": 0, "shop.o": 1}


def test_versions_are_kept_as_declared(shared):
    shared.settings("consistent: true, keep_versions: 2")
    for key in range(4):
        shared.run(f"INSERT INTO s.c VALUES ({key}, 'a')")
        shared.load("shop.o")
    assert [version.number for version in shared.group().versions()] == [3, 4]
    assert len(shared.lake.table("shop.c").tags.list()) == 2


def test_a_reload_of_one_table_brings_the_others_to_its_position(consistent):
    consistent.run("INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)")
    consistent.load("shop.o")
    consistent.run("INSERT INTO s.c VALUES (2, 'b')", "INSERT INTO s.o VALUES (11, 2)")
    consistent.load("shop.o", reload=True)
    consistent.check()
    assert consistent.version() == {"shop.c": 2, "shop.i": 0, "shop.o": 2}


def test_a_truncate_of_several_tables(consistent):
    consistent.run(
        "INSERT INTO s.c VALUES (1, 'a')", "INSERT INTO s.o VALUES (10, 1)", "INSERT INTO s.i VALUES (10, 1, 5)"
    )
    consistent.load("shop.o")
    consistent.run("TRUNCATE s.c CASCADE", "INSERT INTO s.c VALUES (2, 'b')")
    consistent.load("shop.o")
    consistent.check()


def test_loads_of_a_slot_wait_for_each_other(shared):
    shared.load("shop.o")
    with psycopg.connect(shared.url) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended('paimon_lake ' || %s, 0))", [shared.slot()])
        with contextlib.closing(psycopg.connect(shared.url, options="-c lock_timeout=100")) as waiting:
            server = Server(
                loading.open_database(shared.url, table="s.o", query="", folder=shared.lake.folder), waiting
            )
            with pytest.raises(PipelineError, match="lock timeout"), server.reserved(shared.slot(), None):
                pass


def test_a_slot_that_was_dropped_is_refused_for_each_table(shared):
    shared.load("shop.o")
    shared.run(f"SELECT pg_drop_replication_slot('{shared.slot()}')")
    with pytest.raises(PipelineError, match=r"^shop\.o: .*does not exist, so changes may be missing: load the table"):
        shared.load("shop.o")


def test_a_log_that_cannot_be_read_is_refused(shared):
    shared.load("shop.o")
    shared.run("INSERT INTO s.c VALUES (1, 'a')", f"DROP PUBLICATION {shared.publication()}")
    with pytest.raises(PipelineError, match=r"^shop\.o: .*there is no publication"):
        shared.load("shop.o")


def test_the_catalog_is_asked_for_the_group(consistent):
    consistent.load("shop.o")
    assert open_lake(consistent.lake.settings).group("shop").latest().tables.keys() == set(consistent.names)


def test_a_table_whose_columns_change_in_a_batch_reads_it_to_its_end(consistent, monkeypatch):
    consistent.declare(", schema_changes: apply")
    consistent.load("shop.o")
    consistent.run(
        "INSERT INTO s.c VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO s.o VALUES (10, 1)",
        "ALTER TABLE s.c ADD n int",
        "UPDATE s.c SET n = 5 WHERE id = 2",
        "ALTER TABLE s.c ADD m varchar(3)",
        "ALTER TABLE s.o ALTER c TYPE bigint",
        "INSERT INTO s.o VALUES (11, 2)",
        "UPDATE s.c SET m = 'm' WHERE id = 1",
    )
    reads, real = [], Server.messages
    with monkeypatch.context() as patched:
        patched.setattr(Server, "messages", lambda *given: reads.append(given) or real(*given))
        done = consistent.load("shop.c")
    assert len(reads) == 2  # once to the end of the run, once to an end that is later than the catalog
    assert [len(one.commits) for one in (done, *done.others)] == [3, 1, 2]
    assert done.details["schema_changes"] == (
        "the new column n of the source is INT in the table; the new column m of the source is VARCHAR(3) in the table"
    )
    consistent.check()
    assert consistent.version() == {"shop.c": 2, "shop.o": 2, "shop.i": 0}
    assert len({consistent.position(name) for name in consistent.names}) == 1


@pytest.mark.parametrize("options", ["", "consistent: true"])
def test_a_column_without_a_change_after_it_is_added_to_a_table_that_shares_its_slot(shared, options):
    shared.settings(options)
    shared.declare(", schema_changes: apply")
    shared.load("shop.c")
    shared.run("INSERT INTO s.c VALUES (1, 'a')", "ALTER TABLE s.i ADD p int", "ALTER TABLE s.c ADD n int")
    shared.load("shop.o")
    shared.check()
    assert shared.lake.table("shop.c").schema.names == ["id", "t", "n"]
    assert shared.lake.table("shop.i").schema.names == ["o", "line", "n", "p"]
    assert shared.load("shop.o").commits == ()
    if options:
        assert len({shared.position(name) for name in shared.names}) == 1


def test_columns_that_are_refused_or_left_out_in_a_shared_slot(shared):
    shared.load("shop.c")
    shared.run("ALTER TABLE s.c ADD n int", "INSERT INTO s.c VALUES (1, 'a', 5)", "INSERT INTO s.o VALUES (10, 1)")
    with pytest.raises(TablesFailed, match=r"^shop\.c: .* s\.c has new columns: n"):
        shared.load("shop.o")
    shared.check("shop.o")
    assert shared.lake.rows("shop.c") == []
    shared.declare(", schema_changes: ignore")
    assert shared.load("shop.c").details["ignored_columns"] == "n"
    assert shared.lake.rows("shop.c") == [(1, "a")]


@pytest.mark.parametrize("skipped", range(4))
def test_a_run_that_dies_between_the_commits_of_a_table_whose_columns_change(consistent, monkeypatch, skipped):
    consistent.declare(", schema_changes: apply")
    consistent.load("shop.o")
    consistent.run(
        "INSERT INTO s.c VALUES (1, 'a')",
        "INSERT INTO s.o VALUES (10, 1)",
        "ALTER TABLE s.c ADD n int",
        "UPDATE s.c SET n = 5",
        "INSERT INTO s.i VALUES (10, 1, 1)",
    )
    real, passed = commits.commit_load, []

    def dying(*given, **more):
        passed.append(None)
        if len(passed) > skipped:
            raise KeyboardInterrupt
        return real(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit_load", dying)
        with pytest.raises(KeyboardInterrupt):
            consistent.load("shop.o")
    consistent.run("DELETE FROM s.i", "INSERT INTO s.c VALUES (2, 'b', 6)")
    consistent.load("shop.i")
    consistent.check()
    assert consistent.version() == {"shop.c": 2, "shop.o": 1, "shop.i": 0}
    assert len({consistent.position(name) for name in consistent.names}) == 1
