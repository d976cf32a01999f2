import pickle
import sqlite3

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.sql.connection import SqlConnection
from paimon_core.catalog.sql.lock import LockedPublisher, SqlLock
from paimon_core.catalog.sql.names import SqlNames

SCHEMA = pa.schema([("k", pa.int64())])
NAME = Identifier("db", "t")


@pytest.fixture
def database(tmp_path):
    connection = SqlConnection.to(f"sqlite:///{tmp_path}/catalog.db")
    SqlNames(connection, "jdbc").prepare()
    return connection


def execute(tmp_path, statement):
    connection = sqlite3.connect(tmp_path / "catalog.db")
    found = connection.execute(statement).fetchall()
    connection.commit()
    connection.close()
    return found


def lock(database, *, timeout=10_000, sleep=None):
    return SqlLock(database, "jdbc", timeout, 8_000, sleep or (lambda _: pytest.fail("slept")))


def test_the_row_is_that_of_java(database, tmp_path):
    with lock(database, timeout=480_000).held(NAME):
        (row,) = execute(tmp_path, "SELECT lock_id, acquired_at, expire_time_seconds FROM paimon_distributed_locks")
        assert row[0] == "jdbc.db.t"
        assert len(row[1]) == len("2026-01-01 00:00:00")
        assert row[2] == 480
    assert execute(tmp_path, "SELECT * FROM paimon_distributed_locks") == []


def test_a_lock_is_released_when_its_owner_fails(database, tmp_path):
    with pytest.raises(RuntimeError), lock(database).held(NAME):
        raise RuntimeError
    with lock(database).held(NAME):
        pass


def test_waiting_in_doubling_pauses_up_to_the_longest(database):
    slept = []
    with (
        lock(database).held(NAME),
        pytest.raises(paimon.StorageError, match=r"lock jdbc\.db\.t.*60000 ms.*nothing was written"),
        lock(database, timeout=60_000, sleep=slept.append).held(NAME),
    ):
        pytest.fail("two hold the lock")
    assert slept[:11] == [0.01 * 2**n for n in range(10)] + [8]
    assert 60 < sum(slept) <= 68


def test_a_lock_that_is_released_while_a_writer_waits(database, tmp_path):
    execute(tmp_path, "INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES ('jdbc.db.t', 480)")

    def free(_):
        execute(tmp_path, "DELETE FROM paimon_distributed_locks")

    with lock(database, sleep=free).held(NAME):
        assert len(execute(tmp_path, "SELECT 1 FROM paimon_distributed_locks")) == 1


@pytest.mark.parametrize(("age", "stale"), [(479, False), (482, True)])
def test_a_lock_expires_after_the_time_in_its_row(database, tmp_path, age, stale):
    execute(
        tmp_path,
        "INSERT INTO paimon_distributed_locks VALUES "
        f"('jdbc.db.t', datetime('now', '-{age} seconds'), 480), ('jdbc.db.u', datetime('now', '-{age} seconds'), 480)",
    )
    if stale:
        with lock(database).held(NAME):
            pass
    else:
        with pytest.raises(paimon.StorageError), lock(database, sleep=lambda _: None).held(NAME):
            pass
    assert ("jdbc.db.u",) in execute(tmp_path, "SELECT lock_id FROM paimon_distributed_locks")


def test_an_owner_whose_lock_expired_does_not_release_the_lock_of_another(database, tmp_path):
    with lock(database).held(NAME):
        execute(tmp_path, "UPDATE paimon_distributed_locks SET acquired_at = '2001-01-01 00:00:00'")
    assert len(execute(tmp_path, "SELECT * FROM paimon_distributed_locks")) == 1


def test_two_locks_are_taken_in_one_order(database):
    one, other = Identifier("db", "a"), Identifier("db", "b")
    with lock(database).held(other, one, one):
        for name in (one, other):
            with pytest.raises(paimon.StorageError), lock(database, timeout=1, sleep=lambda _: None).held(name):
                pass


def test_a_lock_id_that_is_too_long_for_the_database(database):
    with (
        pytest.raises(paimon.InvalidRequest, match="the limit is 255"),
        lock(database).held(Identifier("d" * 200, "t" * 60)),
    ):
        pass


# -- commits under the lock


@pytest.fixture
def catalog(tmp_path):
    options = {"lock.enabled": "true", "lock-acquire-timeout": "1 ms", "lock-check-max-sleep": "1 ms"}
    catalog = paimon.open_catalog(
        tmp_path / "lake", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", options=options
    )
    catalog.create_database("db")
    return catalog


def test_a_commit_waits_for_the_lock_and_writes_nothing_without_it(catalog, tmp_path):
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    publisher = table.context.snapshots.publisher
    assert isinstance(publisher, LockedPublisher)
    assert pickle.loads(pickle.dumps(publisher)) == publisher  # noqa: S301
    execute(tmp_path, "INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES ('jdbc.db.t', 480)")
    with pytest.raises(paimon.StorageError, match="nothing was written"):
        table.write(pa.table({"k": [1]}))
    assert table.latest_snapshot() is None
    execute(tmp_path, "DELETE FROM paimon_distributed_locks")
    assert table.write(pa.table({"k": [1]})).id == 1


def test_a_commit_to_a_table_that_was_renamed(catalog):
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    table.write(pa.table({"k": [1]}))
    publisher, snapshot = table.context.snapshots.publisher, table.latest_snapshot()
    catalog.rename_table("db.t", "db.u")
    with pytest.raises(paimon.TableNotFound, match="renamed or dropped"):
        publisher.publish(table.context.paths.snapshot(2), snapshot, snapshot)
    assert not catalog.storage.exists(table.location)
    assert catalog.table("db.u").write(pa.table({"k": [2]})).id == 2


def test_a_lost_lease_loses_no_commit(catalog):
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    snapshot = table.write(pa.table({"k": [1]}))
    publisher = table.context.snapshots.publisher
    assert publisher.publish(table.context.paths.snapshot(1), snapshot, None) is False
    assert table.context.snapshots.read(1) == snapshot


def test_without_the_option_a_local_catalog_commits_without_lock(tmp_path):
    for name, expected in (("lake", type(None)), ("memory://x", LockedPublisher)):
        place = tmp_path / name if name == "lake" else name
        catalog = paimon.open_catalog(place, type="sql", uri=f"sqlite:///{tmp_path}/{name[:3]}.db")
        catalog.create_database("db")
        assert isinstance(catalog.create_table("db.t", SCHEMA).context.snapshots.publisher, expected)
