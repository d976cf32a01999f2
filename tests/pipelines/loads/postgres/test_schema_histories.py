"""Random histories in which columns are added and types widened, between and inside of transactions of three sessions.

After each load the table is equal to its source, also when the load died, with its table altered or not. Where older
rows have a default, which the log does not contain, the load is refused, and a reload makes the table equal.
"""

from __future__ import annotations

import contextlib

import pytest

from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.loads.shapes.schema_changes import TableAltered
from paimon_lake.protocol import PipelineError, TablesFailed
from tests.pipelines.loads.postgres.histories import PLACES, WideningHistory, complete, die, dying, seeds
from tests.pipelines.loads.postgres.test_histories import copy_while_sessions_write


@pytest.mark.parametrize("seed", seeds(4))
def test_after_each_load_the_table_is_equal_to_its_source(followed, monkeypatch, seed):
    more = (", split: id, parts: 2, batch_rows: 7", "")[seed % 3 == 0]
    followed.declare(WideningHistory.declared, f"{more}, schema_changes: apply")
    followed.connection.prepare_threshold = None  # a prepared query keeps the columns of its first time
    followed.run(*WideningHistory.create, f"ALTER TABLE s.o REPLICA IDENTITY {('DEFAULT', 'FULL')[seed % 2]}")
    with contextlib.closing(WideningHistory(followed, seed)) as history:
        pick = history.random
        copy_while_sessions_write(history, monkeypatch)
        history.alters = history.widens = True  # columns from before the first copy are not added
        for _ in range(8):
            history.changes(30)
            if pick.random() < 0.3:
                history.commit()
            if history.has_open():
                with contextlib.suppress(PipelineError, TablesFailed):
                    followed.load()
                    followed.check()
                history.commit()
            if pick.random() < 0.5:
                with contextlib.suppress(PipelineError, TablesFailed):
                    die_in_a_load(followed, monkeypatch, pick.choice((*PLACES, None)))
                history.changes(6)
                history.commit()  # a reload waits for transactions that run
            complete(followed.lake, "shop.o", reload=pick.random() < 0.05)
            followed.check()


def die_in_a_load(followed, monkeypatch, place):
    """Begin a load that dies at a place; None: as soon as the table is altered."""
    if place is not None:
        with dying(monkeypatch, place):
            followed.load()
        return
    real = loading.hold_columns

    def altered(*given, **more):
        with contextlib.suppress(TableAltered):
            real(*given, **more)
            return
        die()

    with monkeypatch.context() as patched, contextlib.suppress(KeyboardInterrupt):
        patched.setattr(loading, "hold_columns", altered)
        followed.load()
