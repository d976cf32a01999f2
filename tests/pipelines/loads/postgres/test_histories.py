"""Random histories: sessions whose transactions interleave, loads in between, also during the first copy.

After each load the table is equal to what a new session sees, because no transaction is committed during a load. Loads
die at random between their steps.
"""

from __future__ import annotations

import contextlib
import random

import psycopg
import pytest

from paimon_lake.loads import load as commits
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.loads.postgres import table_copy
from paimon_lake.sources.postgres.server import Server
from tests.support.long_cases import long_cases

KEYS = 8


class History:
    """Random changes by three sessions; a statement that waits for another session is given up."""

    def __init__(self, followed, seed):
        self.followed, self.random = followed, random.Random(seed)
        self.sessions = [followed.connect() for _ in range(3)]

    def change(self):
        session, pick = self.random.choice(self.sessions), self.random
        key, other = pick.randrange(KEYS), pick.randrange(KEYS)
        large = f"(SELECT string_agg(md5((k + {pick.random()})::text), '') FROM generate_series(1, 90) AS k)"
        statements = [
            f"INSERT INTO s.o VALUES ({key}, {pick.randrange(99)}, {large}) ON CONFLICT DO NOTHING",
            f"INSERT INTO s.o VALUES ({key}, {pick.randrange(99)}, 'x') ON CONFLICT (id) DO UPDATE SET n = 7",
            f"UPDATE s.o SET n = n + 1 WHERE id = {key}",
            f"UPDATE s.o SET n = null WHERE id < {key}",
            f"UPDATE s.o SET t = {large} WHERE id = {key}",
            f"UPDATE s.o SET id = {other} WHERE id = {key}",
            f"DELETE FROM s.o WHERE id = {key}",
            "SAVEPOINT a",
            "ROLLBACK TO a",
            "TRUNCATE s.o" if pick.random() < 0.2 else "SELECT 1",
        ]
        statement = pick.choice(statements)
        try:
            session.execute(statement)
            end = 0.1 if statement == "TRUNCATE s.o" else pick.random()  # an open one would block every reader
        except psycopg.Error:
            end = 0.0
        if end < 0.08:
            session.rollback()
        elif end < 0.4:
            session.commit()

    def changes(self, count):
        for _ in range(self.random.randrange(count)):
            self.change()

    def close(self):
        for session in self.sessions:
            session.close()

    def commit(self):
        for session in self.sessions:
            session.commit()

    def load(self, monkeypatch):
        """Load, after a load that died in one case of three."""
        places = ((Server, "advance"), (commits, "commit_load"), (loading, "write_parts"), (table_copy, "write_read"))
        if self.random.random() < 0.33:
            with monkeypatch.context() as patched:
                patched.setattr(*self.random.choice(places), die)
                with contextlib.suppress(KeyboardInterrupt):
                    self.followed.load()
            self.changes(6)
        self.followed.load(reload=self.random.random() < 0.05)


def die(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("seed", [*range(4), *long_cases(range(4, 14))])
def test_after_each_load_the_table_is_equal_to_its_source(followed, monkeypatch, seed):
    identity = ("DEFAULT", "FULL")[seed % 2]
    more = (", split: id, parts: 2, batch_rows: 7", "")[seed % 3 == 0]
    followed.declare("{id: BIGINT, n: INT, t: STRING}", more)
    followed.run(
        "DROP TABLE s.o",
        "CREATE TABLE s.o (id int PRIMARY KEY, n int, t text)",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
        f"ALTER TABLE s.o REPLICA IDENTITY {identity}",
    )
    with contextlib.closing(History(followed, seed)) as history:
        follow(followed, history, monkeypatch)


def follow(followed, history, monkeypatch):
    real = table_copy.write_read

    def copying(*given, **more):
        history.changes(20)
        history.commit()
        return real(*given, **more)

    history.changes(20)
    history.commit()  # the creation of a slot waits for transactions that run
    with monkeypatch.context() as patched:
        patched.setattr(table_copy, "write_read", copying)
        followed.load()
    for _ in range(6):
        history.changes(30)
        if history.random.random() < 0.3:
            history.commit()
        if any(session.info.transaction_status for session in history.sessions):
            followed.load()
        else:
            history.load(monkeypatch)
        followed.check()
