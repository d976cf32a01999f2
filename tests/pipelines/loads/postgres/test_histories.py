"""Random histories: sessions whose transactions interleave, loads in between, also during the first copy.

After each load the table is equal to what a new session sees, because no transaction is committed during a load. Loads
die at random between their steps.
"""

from __future__ import annotations

import contextlib

import pytest

from paimon_lake.loads.postgres import table_copy
from tests.pipelines.loads.postgres.histories import PLACES, OrderHistory, dying, seeds


@pytest.mark.parametrize("seed", seeds(4))
def test_after_each_load_the_table_is_equal_to_its_source(followed, monkeypatch, seed):
    more = (", split: id, parts: 2, batch_rows: 7", "")[seed % 3 == 0]
    followed.declare("{id: BIGINT, n: INT, t: STRING}", more)
    followed.run(
        "DROP TABLE s.o",
        "CREATE TABLE s.o (id int PRIMARY KEY, n int, t text)",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
        f"ALTER TABLE s.o REPLICA IDENTITY {('DEFAULT', 'FULL')[seed % 2]}",
    )
    with contextlib.closing(OrderHistory(followed, seed)) as history:
        copy_while_sessions_write(history, monkeypatch)
        for _ in range(6):
            history.changes(30)
            if history.random.random() < 0.3:
                history.commit()
            if not history.has_open() and history.random.random() < 0.33:
                with dying(monkeypatch, history.random.choice(PLACES)):
                    followed.load()
                history.changes(6)
            followed.load(reload=not history.has_open() and history.random.random() < 0.05)
            followed.check()


def copy_while_sessions_write(history, monkeypatch):
    """Load a table for the first time, with changes that are committed after the snapshot of the copy."""
    real = table_copy.write_read

    def copying(*given, **more):
        history.changes(20)
        history.commit()
        return real(*given, **more)

    history.changes(20)
    history.commit()  # the creation of a slot waits for transactions that run
    with monkeypatch.context() as patched:
        patched.setattr(table_copy, "write_read", copying)
        history.database.load()
