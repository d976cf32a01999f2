"""Random histories of several tables in one table: rows move between them, they are truncated, altered, and come later.

After each load the table equals all source tables, also when the load before died or was killed. With ``consistent``
each version of the group is compared, too, where it was made: no transaction is committed during a load.
"""

from __future__ import annotations

import contextlib
import random
import time

import psycopg
import pytest

from paimon_lake.loads import load as commits
from paimon_lake.loads.postgres import several_tables, tables_copy
from paimon_lake.sources.postgres.server import Server
from paimon_lake.tables import open_lake
from tests.support.loader_process import LoaderProcess
from tests.support.postgres import PASSWORD

KEYS = 7
PLACES = (
    (Server, "advance"),
    (Server, "add_to_publication"),
    (commits, "commit_load"),
    (several_tables, "write_parts"),
    (several_tables, "hold"),
    (tables_copy, "write_parts"),
)


def die(*_, **__):
    raise KeyboardInterrupt


class History:
    """Random changes of the tables ``s.o_N`` and of ``s.c`` by three sessions."""

    def __init__(self, followed, seed):
        self.followed, self.random, self.count, self.columns = followed, random.Random(seed), 3, {}
        self.identity = ("DEFAULT", "FULL")[seed % 2]
        followed.run("DROP TABLE s.o", "CREATE TABLE s.c (id int PRIMARY KEY, t text)")
        followed.run(*(one for n in range(3) for one in self.made(n)))
        self.sessions = [followed.connect() for _ in range(3)]
        self.alters = False

    def made(self, number):
        self.columns[number] = 0
        return (
            f"CREATE TABLE s.o_{number} (id int PRIMARY KEY, n int, t text)",
            f"ALTER TABLE s.o_{number} ALTER t SET STORAGE EXTERNAL",
            f"ALTER TABLE s.o_{number} REPLICA IDENTITY {self.identity}",
            f"INSERT INTO s.o_{number} VALUES (1, {number}, 'first')",
        )

    def statement(self):
        pick = self.random.randrange
        key, other, at, to = pick(KEYS), pick(KEYS), pick(self.count), pick(self.count)
        large = f"(SELECT string_agg(md5((k + {pick(99)})::text), '') FROM generate_series(1, 90) AS k)"
        statements = [
            f"INSERT INTO s.o_{at} VALUES ({key}, {pick(99)}, {large}) ON CONFLICT (id) DO UPDATE SET n = 7",
            f"INSERT INTO s.o_{at} VALUES ({key}, {pick(99)}, 'x') ON CONFLICT DO NOTHING",
            f"UPDATE s.o_{at} SET n = n + 1 WHERE id < {key}",
            f"UPDATE s.o_{at} SET t = {large} WHERE id = {key}",
            f"UPDATE s.o_{at} SET id = {other} WHERE id = {key}",
            f"DELETE FROM s.o_{at} WHERE id = {key}",
            f"WITH a AS (DELETE FROM s.o_{at} WHERE id = {key} RETURNING id, n, t) "
            f"INSERT INTO s.o_{to} (id, n, t) SELECT * FROM a ON CONFLICT DO NOTHING",
            f"INSERT INTO s.c VALUES ({key}, 'c') ON CONFLICT (id) DO UPDATE SET t = s.c.t || 'x'",
            "SAVEPOINT a",
            "ROLLBACK TO a",
            f"TRUNCATE s.o_{at}, s.o_{to}" if at < to and pick(2) else f"TRUNCATE s.o_{at}" if pick(2) else "SELECT 1",
        ]
        if self.alters and pick(6) == 0:
            known = self.columns[at]
            column = f"c{pick(known + 1)}" if pick(2) or known > 2 else f"c{known}"
            if column == f"c{known}":
                self.columns[at] += 1
                return f"ALTER TABLE s.o_{at} ADD {column} int"
            return f"UPDATE s.o_{at} SET {column} = {pick(99)}"
        return self.random.choice(statements)

    def change(self):
        session, statement = self.random.choice(self.sessions), self.statement()
        try:
            session.execute(statement)
            excludes = statement.startswith(("TRUNCATE", "ALTER"))
            end = 0.1 if excludes else self.random.random()  # an open one would block every reader
        except psycopg.Error:
            end = 0.0
            if statement.startswith("ALTER"):
                self.columns[int(statement.split("s.o_")[1].split()[0])] -= 1
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

    def later(self):
        """Make another table, in a transaction that also changes another one; the session has no transaction."""
        session = self.sessions[0]
        for statement in self.made(self.count):
            session.execute(statement)
        session.execute("UPDATE s.o_0 SET n = -1")
        session.commit()
        self.count += 1

    def close(self):
        for session in self.sessions:
            session.close()


def declare(followed, more="", shares=False):
    url = followed.url.replace(PASSWORD, "${DATABASE_PASSWORD}")
    (followed.lake.folder / "base.yaml").write_text(
        f"warehouse: warehouse\npostgres: {{shop: {{url: '{url}', consistent: true, batch_rows: 30}}}}\n"
    )
    where = "database: shop" if shares else f"url: '{url}', batch_rows: 9"
    columns, source = "shard: STRING, id: BIGINT, n: INT, t: STRING", f"type: postgres_changes, {where}"
    followed.lake.declare(
        "shop.o",
        f"columns: {{{columns}}}\nprimary_key: [shard, id]\n"
        f"source: {{{source}, table: s.o_*, source_column: shard{more}}}\n",
    )
    if shares:
        followed.lake.declare(
            "shop.c", f"columns: {{id: BIGINT, t: STRING}}\nprimary_key: id\nsource: {{{source}, table: s.c}}\n"
        )


def check(followed, history):
    """Compare the table with its sources, and the newest version of the group."""
    wanted = []
    names = followed.lake.table("shop.o").schema.names[4:]
    for number in range(history.count):
        has = [f"c{one}" for one in range(history.columns[number])]
        own = ", ".join(name if name in has else "NULL" for name in names)
        wanted += followed.rows(f"SELECT 's.o_{number}', id, n, t{', ' if own else ''}{own} FROM s.o_{number}")
    assert sorted(followed.lake.rows("shop.o"), key=repr) == sorted(wanted, key=repr)
    if "shop.c" not in followed.lake.settings.tables:
        return
    group = open_lake(followed.lake.settings).group("shop")
    found = [tuple(row.values()) for row in group.table("shop.o").scan().to_arrow().to_pylist()]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert group.table("shop.c").scan().to_arrow().num_rows == len(followed.rows("SELECT FROM s.c"))


def dying(followed, history, monkeypatch):
    where, name = history.random.choice(PLACES)
    real, left = getattr(where, name), [history.random.randrange(3)]

    def counted(*given, **more):
        left[0] -= 1
        return die() if left[0] < 0 else real(*given, **more)

    with monkeypatch.context() as patched, contextlib.suppress(KeyboardInterrupt):
        patched.setattr(where, name, counted)
        followed.load()


@pytest.mark.parametrize("seed", [1, 2])
def test_after_each_load_the_table_equals_all_its_sources(followed, monkeypatch, seed):
    is_altered, shares = seed % 4 >= 2, seed % 3 == 1
    followed.connection.prepare_threshold = None  # a prepared query keeps the columns of its first time
    real = tables_copy.write_parts
    with contextlib.closing(History(followed, seed)) as history:
        declare(followed, ", schema_changes: apply" if is_altered else ", split: id, parts: 2", shares)

        def copying(*given, **more):
            history.changes(20)
            history.commit()
            return real(*given, **more)

        history.changes(20)
        history.commit()
        with monkeypatch.context() as patched:
            patched.setattr(tables_copy, "write_parts", copying)
            followed.load()
        followed.load()
        check(followed, history)
        history.alters = is_altered
        for number in range(5):
            history.changes(30)
            if number in (1, 3):
                history.commit()
                history.later()
                history.changes(10)
                history.commit()  # the creation of a slot waits for transactions that run
            if history.random.random() < 0.5:
                history.commit()
                dying(followed, history, monkeypatch)
                history.changes(10)
            history.commit()
            followed.load(reload=history.random.random() < 0.05)
            check(followed, history)


def test_loaders_that_are_killed(followed):
    """Processes that load without a pause, while sessions write and tables are made, are killed at random moments."""
    with contextlib.closing(History(followed, 0)) as history:
        declare(followed, shares=True)
        followed.load()
        for number in range(2):
            loader = LoaderProcess(followed.lake.folder, "shop.o", with_spark=False)
            try:
                loader.wait_for_load()
                ends = time.monotonic() + history.random.uniform(0.2, 2)
                if number % 2:
                    history.commit()
                    history.later()
                while time.monotonic() < ends:
                    history.changes(20)
                    history.commit()
                assert loader.is_running, loader.text[-2000:]
            finally:
                loader.kill()
            history.commit()
            followed.load()
            check(followed, history)
