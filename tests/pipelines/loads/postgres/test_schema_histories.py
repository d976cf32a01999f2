"""Random histories in which columns are added and types widened, between and inside of transactions of three sessions.

After each load the table is equal to its source, also when the load died, with its table altered or not. Where older
rows have a default, which the log does not contain, the load is refused, and a reload makes the table equal.
"""

from __future__ import annotations

import contextlib

import psycopg
import pytest

from paimon_lake.loads import load as commits
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.loads.postgres import table_copy
from paimon_lake.loads.schema_changes import TableAltered
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.server import Server
from tests.pipelines.loads.postgres.test_histories import History, die
from tests.support.long_cases import long_cases

WIDER = {"n": ("int", "bigint"), "v": ("varchar(2)", "varchar(5)", "text"), "p": ("numeric(4, 1)", "numeric(9, 1)")}
MOST_ADDED = 5


class SchemaHistory(History):
    """Changes of rows and of columns."""

    def __init__(self, followed, seed):
        super().__init__(followed, seed)
        self.added, self.alters = 0, False

    def change(self):
        pick = self.random
        if not self.alters or pick.random() < 0.8:
            super().change()
            return
        session = pick.choice(self.sessions)
        column = f"c{pick.randrange(self.added + 1)}"
        statements = [f"UPDATE s.o SET {column} = {pick.randrange(99)} WHERE id = {pick.randrange(8)}"] * 3
        statements += ["UPDATE s.o SET v = 'ab', p = 1.5", f"INSERT INTO s.o (id, v) VALUES ({pick.randrange(8)}, 'x')"]
        if pick.random() < 0.5 and self.added < MOST_ADDED:
            default = pick.choice([""] * 5 + ["DEFAULT 5", "NOT NULL DEFAULT 7"])
            statements = [f"ALTER TABLE s.o ADD c{self.added} int {default}"]
        elif pick.random() < 0.5:
            name = pick.choice(sorted(WIDER))
            statements = [f"ALTER TABLE s.o ALTER {name} TYPE {pick.choice(WIDER[name])}"]
        try:
            session.execute(pick.choice(statements))
        except psycopg.Error:
            session.rollback()
            return
        self.added += "ADD" in statements[0]
        if "ALTER" in statements[0]:  # an open one would block every reader
            if pick.random() < 0.5:
                with contextlib.suppress(psycopg.Error):
                    session.execute(f"INSERT INTO s.o (id, n) VALUES ({pick.randrange(8)}, 5000000000)")
            if session.info.transaction_status == psycopg.pq.TransactionStatus.INERROR or pick.random() < 0.1:
                session.rollback()
            else:
                session.commit()

    def load(self, monkeypatch):
        places = (
            (Server, "advance"),
            (commits, "commit_load"),
            (loading, "write_parts"),
            (table_copy, "write_read"),
            (loading, "hold"),
        )
        if self.random.random() < 0.5:
            with monkeypatch.context() as patched:
                place, name = self.random.choice(places)
                real = getattr(place, name)

                def dying(*given, **more):
                    if name == "hold":  # after the alteration
                        with contextlib.suppress(TableAltered):
                            real(*given, **more)
                            return
                    die()

                patched.setattr(place, name, dying)
                with contextlib.suppress(KeyboardInterrupt, PipelineError):
                    self.followed.load()
            self.changes(6)
            self.commit()  # a reload waits for transactions that run
        self.complete()

    def complete(self):
        """Load, and load again with reload where the error says so."""
        refused = ""
        try:
            self.followed.load(reload=self.random.random() < 0.05)
        except PipelineError as error:
            refused = str(error)
        if refused:
            assert "load the table with reload" in refused
            self.commit()
            self.followed.load(reload=True)


@pytest.mark.parametrize("seed", [*range(4), *long_cases(range(4, 14))])
def test_after_each_load_the_table_is_equal_to_its_source(followed, monkeypatch, seed):
    more = (", split: id, parts: 2, batch_rows: 7", "")[seed % 3 == 0]
    followed.declare(
        '{id: BIGINT, n: INT, t: STRING, v: VARCHAR(2), p: "DECIMAL(4, 1)"}', f"{more}, schema_changes: apply"
    )
    followed.connection.prepare_threshold = None  # a prepared query keeps the columns of its first time
    followed.run(
        "DROP TABLE s.o",
        "CREATE TABLE s.o (id int PRIMARY KEY, n int, t text, v varchar(2), p numeric(4, 1))",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
        f"ALTER TABLE s.o REPLICA IDENTITY {('DEFAULT', 'FULL')[seed % 2]}",
    )
    with contextlib.closing(SchemaHistory(followed, seed)) as history:
        real = table_copy.write_read

        def copying(*given, **more):
            history.changes(20)
            history.commit()
            return real(*given, **more)

        history.changes(20)
        history.commit()
        with monkeypatch.context() as patched:
            patched.setattr(table_copy, "write_read", copying)
            followed.load()
        history.alters = True  # columns from before the first copy are not added
        for _ in range(8):
            history.changes(30)
            if history.random.random() < 0.3:
                history.commit()
            if any(session.info.transaction_status for session in history.sessions):
                with contextlib.suppress(PipelineError):
                    followed.load()
                    followed.check()
                history.commit()
            history.load(monkeypatch)
            followed.check()
