"""Random histories of related tables: concurrent transactions, loaders that are killed or die between two steps.

After each complete load the version of the group equals the source at its LSN, by rows and hash, and no row of the lake
lacks the row that it references. Versions from between are compared by their references only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import time

import psycopg
import pytest

from paimon_lake.loads import load as commits
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.loads.postgres import table_copy
from paimon_lake.protocol import PipelineError, TablesFailed
from paimon_lake.sources.postgres.server import Server
from tests.pipelines.loads.postgres.shared import shared_lake
from tests.support.long_cases import long_cases
from tests.support.postgres import PASSWORD

KEYS = 7
PLACES = (
    (Server, "advance"),
    (commits, "commit_load"),
    (loading, "write_parts"),
    (table_copy, "write_read"),
    ("paimon_core.group.store.GroupStore", "create_intent"),
    ("paimon_core.group.store.GroupStore", "create_version"),
    ("paimon_core.group.group", "commit_part"),
)


@pytest.fixture
def shared(quick, server, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    with shared_lake(quick, server) as found:
        yield found


class History:
    """Random changes of customers, orders and items by three sessions."""

    def __init__(self, shared, seed):
        self.random = random.Random(seed)
        self.sessions = [psycopg.connect(shared.url, options="-c lock_timeout=30") for _ in range(3)]

    def change(self):
        pick, session = self.random.randrange, self.random.choice(self.sessions)
        key, other = pick(KEYS), pick(KEYS)
        statements = [
            f"INSERT INTO s.c VALUES ({key}, '{other}') ON CONFLICT (id) DO UPDATE SET t = s.c.t || 'x'",
            f"INSERT INTO s.o VALUES ({key}, {other}) ON CONFLICT (id) DO UPDATE SET c = {other}",
            f"INSERT INTO s.i VALUES ({key}, {other}, {pick(99)}) ON CONFLICT (o, line) DO UPDATE SET n = s.i.n + 1",
            f"WITH a AS (INSERT INTO s.c VALUES ({key}, 'n') RETURNING id) SELECT 1",
            f"UPDATE s.c SET id = {other} WHERE id = {key}",
            f"UPDATE s.o SET id = {other} WHERE id = {key}",
            f"DELETE FROM s.c WHERE id = {key}",
            f"DELETE FROM s.o WHERE id = {key}",
            f"UPDATE s.i SET n = -n WHERE o = {key}",
            "TRUNCATE s.i" if pick(5) == 0 else "SAVEPOINT a",
            "TRUNCATE s.c CASCADE" if pick(9) == 0 else "ROLLBACK TO a",
        ]
        statement = self.random.choice(statements)
        try:
            session.execute(statement)
            end = 0.1 if statement.startswith("TRUNCATE") else self.random.random()
        except psycopg.Error:
            end = 0.0
        if end < 0.06:
            session.rollback()
        elif end < 0.5:
            session.commit()

    def changes(self, count):
        for _ in range(self.random.randrange(count)):
            self.change()

    def commit(self):
        for session in self.sessions:
            session.commit()

    def close(self):
        for session in self.sessions:
            session.close()


def die(*_, **__):
    raise KeyboardInterrupt


def digest(rows):
    return len(rows), hashlib.sha256(repr(sorted(map(tuple, rows))).encode()).hexdigest()


def tables_of(shared, number=None):
    group = shared.group()
    return {
        name: [tuple(row.values()) for row in group.table(name, number).scan().to_arrow().to_pylist()]
        for name in shared.names
    }


def check_references(found):
    customers, orders = {row[0] for row in found["shop.c"]}, {row[0] for row in found["shop.o"]}
    assert {row[1] for row in found["shop.o"]} <= customers
    assert {row[0] for row in found["shop.i"]} <= orders


def check(shared):
    """Compare the newest version with what a new session sees: no transaction is committed meanwhile."""
    found = tables_of(shared)
    for name, rows in found.items():
        assert digest(rows) == digest(shared.rows(f"SELECT * FROM s.{name[-1]}")), name
    check_references(found)
    assert len({shared.position(name) for name in shared.names}) == 1


class SchemaHistory(History):
    """Changes of rows and new columns; ``added``: the number of new columns, none before ``alters``."""

    def __init__(self, shared, seed):
        super().__init__(shared, seed)
        self.alters, self.added = False, dict.fromkeys("coi", 0)

    def change(self):
        pick = self.random
        table = pick.choice("coi")
        if not self.alters or pick.random() < 0.7:
            super().change()
            return
        session, column = pick.choice(self.sessions), f"c{pick.randrange(self.added[table] + 1)}"
        adds = pick.random() < 0.3 and self.added[table] < 4
        try:
            if adds:
                default = "DEFAULT 5" if pick.random() < 0.1 else ""
                session.execute(f"ALTER TABLE s.{table} ADD c{self.added[table]} int {default}")
                self.added[table] += 1
                if pick.random() < 0.5:
                    session.execute(f"UPDATE s.{table} SET c{self.added[table] - 1} = {pick.randrange(99)}")
            else:
                session.execute(f"UPDATE s.{table} SET {column} = {pick.randrange(99)}")
        except psycopg.Error:
            session.rollback()
            self.count()
        if adds:  # an ALTER that is not committed would block every reader
            session.commit()

    def count(self):
        """Count the new columns again, because an ALTER may have been rolled back."""
        with psycopg.connect(self.sessions[0].info.dsn, password=PASSWORD) as session:
            for table in self.added:
                query = "SELECT count(*) FROM pg_attribute WHERE attrelid = %s::regclass AND attname ~ '^c[0-9]'"
                (self.added[table],) = session.execute(query, [f"s.{table}"]).fetchone()


@pytest.mark.parametrize("seed", [*range(3), *long_cases(range(3, 10))])
def test_each_version_is_a_state_of_the_source_whose_columns_change(shared, monkeypatch, seed):
    shared.settings(f"consistent: true, keep_versions: 50{', batch_rows: 5' if seed % 2 else ''}")
    shared.declare(", schema_changes: apply")
    shared.connection.prepare_threshold = None  # a prepared query keeps the columns of its first time
    with contextlib.closing(SchemaHistory(shared, seed)) as history:
        pick = history.random
        for round_number in range(8):
            history.changes(40)
            if round_number == 0 or pick.random() < 0.4:
                history.commit()  # the first copy waits for transactions that run
            if pick.random() < 0.6:
                dying(shared, monkeypatch, pick.choice((*PLACES, (loading, "hold"))), pick.randrange(3))
                history.changes(10)
            history.commit()
            complete(shared, pick.choice(shared.names))
            check(shared)
            history.alters = True  # columns from before the first copy are not added
    for version in shared.group().versions():
        if len(version.tables) == 3:
            check_references(tables_of(shared, version.number))


def complete(shared, name):
    """Load, and load again with reload each table whose error says so."""
    reload = False
    for _ in range(4):
        try:
            shared.load(name, reload=reload)
            return
        except (PipelineError, TablesFailed) as error:
            if "load the table with reload" not in str(error):
                raise
            name, reload = str(error).split(":")[0], True
    pytest.fail("a load was refused again and again")


@pytest.mark.parametrize("seed", [*range(3), *long_cases(range(3, 14))])
def test_each_version_is_a_state_of_the_source(shared, monkeypatch, seed):
    shared.settings(f"consistent: true, keep_versions: 50{', batch_rows: 5' if seed % 2 else ''}")
    if seed % 3 == 0:
        shared.run(*(f"ALTER TABLE s.{one} REPLICA IDENTITY FULL" for one in "coi"))
    later = shared.lake.folder / "later.yaml"
    declared = shared.lake.folder / "tables" / "shop.o.yaml"
    with contextlib.closing(History(shared, seed)) as history:
        pick = history.random
        for round_number in range(8):
            history.changes(40)
            if round_number == 0 or pick.random() < 0.4:
                history.commit()
            if round_number == 3 and seed % 4 == 1:  # the table is not declared for a while, and then copied again
                declared.rename(later)
                history.commit()
                shared.load("shop.c")
                history.changes(20)
                history.commit()
                later.rename(declared)
                shared.load("shop.o", reload=True)
            if pick.random() < 0.6:
                place, skipped = pick.choice(PLACES), pick.randrange(3)
                dying(shared, monkeypatch, place, skipped)
                history.changes(10)
            history.commit()
            shared.load(pick.choice(shared.names), reload=pick.random() < 0.07)
            check(shared)
    for version in shared.group().versions():
        if len(version.tables) == 3:
            check_references(tables_of(shared, version.number))


def dying(shared, monkeypatch, place, skipped):
    """Begin a load that dies at a place, after the place was passed a number of times."""
    where, name = place
    if isinstance(where, str):
        import importlib

        module, _, owner = where.rpartition(".")
        where = getattr(importlib.import_module(module), owner)
    real, passed = getattr(where, name), []

    def counted(*given, **more):
        passed.append(None)
        if len(passed) > skipped:
            raise KeyboardInterrupt
        return real(*given, **more)

    with monkeypatch.context() as patched, contextlib.suppress(KeyboardInterrupt, PipelineError, TablesFailed):
        patched.setattr(where, name, counted)
        shared.load("shop.c")


FOLLOWER = """
import sys
from types import SimpleNamespace
from paimon_core.spark import tasks
from paimon_lake.declarations import load_settings
from paimon_lake.loads import load, write_tasks
write_tasks.collect_tasks = lambda spark, payloads, work: [work(one) for one in payloads]
spark = lambda: SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
while True:
    load.load_table(spark, load_settings("local", configs=sys.argv[1]), sys.argv[2])
    print("loaded", flush=True)
"""


@pytest.mark.parametrize("seed", [0, *long_cases(range(1, 2))])
def test_loaders_that_are_killed(shared, seed):
    """Processes that load without a pause, while sessions write, are killed at random moments."""
    shared.settings("consistent: true, keep_versions: 200, batch_rows: 20")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with contextlib.closing(History(shared, seed)) as history:
        history.changes(30)
        history.commit()
        shared.load("shop.c")
        for _ in range(6):
            command = [sys.executable, "-c", FOLLOWER, str(shared.lake.folder), history.random.choice(shared.names)]
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                assert process.stdout.readline() == b"loaded\n", process.stderr.read().decode()[-2000:]
                ends = time.monotonic() + history.random.uniform(0.2, 2)
                while time.monotonic() < ends:
                    history.changes(20)
                    history.commit()
            finally:
                process.send_signal(signal.SIGKILL)
                process.communicate()
            history.commit()
            shared.load("shop.i")
            check(shared)
        for version in shared.group().versions():
            check_references(tables_of(shared, version.number))
