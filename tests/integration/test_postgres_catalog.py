"""The SQL catalog on a real PostgreSQL server: processes that commit, create and rename at once; nothing lost."""

import datetime
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

import paimon_core as paimon
from paimon_core.catalog.sql.connection import SqlConnection
from paimon_core.catalog.sql.names import LOCKS
from tests.support.postgres import PASSWORD, running_server

COMMITS = 50
ROOT = Path(__file__).resolve().parents[2]
SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
OPEN = """
import sys
import pyarrow as pa
import paimon_core as paimon

warehouse, uri, who, count = *sys.argv[1:4], int(sys.argv[4])
catalog = paimon.open_catalog(warehouse, type="sql", uri=uri, options={"lock.enabled": "true"})
"""
COMMIT = (
    OPEN
    + """
table = catalog.table("db.t")
for number in range(count):
    rows = pa.table({"k": [f"{who}-{number}"], "n": pa.array([number], pa.int64())})
    table.write(rows, user=who, identifier=number)
"""
)
CREATE = (
    OPEN
    + """
schema = pa.schema([("k", pa.string())])
for number in range(count):
    try:
        catalog.create_database(f"d{number}")
        print("database", number)
    except paimon.AlreadyExists:
        pass
    try:
        catalog.create_table(f"d{number}.t", schema, comment=who)
        print("table", number)
    except paimon.AlreadyExists:
        pass
"""
)


server = pytest.fixture(running_server, scope="module")


@pytest.fixture
def catalog(server, tmp_path):
    key = tmp_path.name
    return paimon.open_catalog(
        tmp_path / "lake", type="sql", uri=server.uri(), options={"lock.enabled": "true", "catalog-key": key}
    )


def run_parallel(server, tmp_path, key, code, count):
    """What two processes print, each with a name of its own."""
    code = code.replace('{"lock.enabled": "true"}', f'{{"lock.enabled": "true", "catalog-key": {key!r}}}')
    command = [sys.executable, "-c", code, str(tmp_path / "lake"), server.uri()]
    workers = [
        subprocess.Popen([*command, who, str(count)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for who in ("one", "two")
    ]
    answers = [worker.communicate(timeout=300) for worker in workers]
    for worker, (_, stderr) in zip(workers, answers, strict=True):
        assert worker.returncode == 0, stderr.decode()[-2000:]
    return [stdout.decode().splitlines() for stdout, _ in answers]


def test_two_processes_commit_under_the_lock_and_nothing_is_lost(server, catalog, tmp_path):
    catalog.create_database("db")
    options = {"write-only": "true", "commit.max-retries": "1000"}
    table = catalog.create_table("db.t", SCHEMA, options=options)
    run_parallel(server, tmp_path, catalog.names.key, COMMIT, COMMITS)
    snapshots = table.inspect.snapshots()
    assert snapshots["snapshot_id"].to_pylist() == list(range(1, 2 * COMMITS + 1))
    made = zip(snapshots["commit_user"].to_pylist(), snapshots["commit_identifier"].to_pylist(), strict=True)
    assert sorted(made) == [(who, n) for who in ("one", "two") for n in range(COMMITS)]
    keys = table.scan().to_arrow()["k"].to_pylist()
    assert sorted(keys) == sorted(f"{who}-{n}" for who in ("one", "two") for n in range(COMMITS))
    with catalog.names.connection.transaction() as connection:
        assert connection.execute(LOCKS.select()).all() == []


def test_of_two_that_make_one_table_one_wins(server, catalog, tmp_path):
    count = 6
    printed = run_parallel(server, tmp_path, catalog.names.key, CREATE, count)
    for what in ("database", "table"):
        winners = [line for lines in printed for line in lines if line.startswith(what)]
        assert sorted(winners) == sorted(f"{what} {number}" for number in range(count))
    assert catalog.list_databases() == sorted(f"d{number}" for number in range(count))
    for who, lines in zip(("one", "two"), printed, strict=True):
        for number in (line.split()[1] for line in lines if line.startswith("table")):
            assert catalog.table(f"d{number}.t").schema.comment == who


def test_the_tables_of_a_new_database_are_made_once(server, tmp_path):
    engine = sa.create_engine(server.uri(), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE DATABASE fresh")

    def opened(_):
        return paimon.open_catalog(tmp_path, type="sql", uri=server.uri(database="fresh")).list_databases()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(opened, range(4))) == [[]] * 4


def test_names(catalog):
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA, options={"write-only": "true"}).write(pa.table({"k": ["a"], "n": [1]}))
    for name in ("x'; DROP TABLE paimon_tables; --", "%", "ünïcödé 数据"):
        catalog.create_database(name)
        catalog.rename_table("db.t", f"{name}.{name}")
        assert catalog.table(f"{name}.{name}").scan().count() == 1
        catalog.rename_table(f"{name}.{name}", "db.t")
        catalog.drop_database(name)
    with pytest.raises(paimon.AlreadyExists, match="conflicts with the existing"):
        catalog.create_database("DB")
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == []


@pytest.mark.parametrize(("age", "stale"), [(470, False), (490, True)])
def test_a_lock_that_ran_out(catalog, age, stale):
    name = paimon.Identifier("db", "t")
    lock_id = f"{catalog.names.key}.db.t"
    taken = datetime.datetime.now() - datetime.timedelta(seconds=age)
    with catalog.names.connection.transaction() as connection:
        connection.execute(LOCKS.insert().values(lock_id=lock_id, acquired_at=taken, expire_time_seconds=480))
    assert (catalog.lock._try(lock_id) is not None) == stale
    assert not catalog.names.has(name)


def test_the_password_is_never_shown(server, tmp_path):
    wrong = f"{PASSWORD}-wrong"
    with pytest.raises(paimon.StorageError, match="password authentication failed") as error:
        paimon.open_catalog(tmp_path, type="sql", uri=server.uri(wrong))
    assert PASSWORD not in f"{error.value!r} {error.value} {error.value.__cause__}"
    catalog = paimon.open_catalog(tmp_path, type="sql", uri=server.uri())
    assert PASSWORD not in f"{catalog!r} {catalog.lock!r} {SqlConnection.to(server.uri())!r}"
