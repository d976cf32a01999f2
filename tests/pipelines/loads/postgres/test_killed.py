"""Random histories while the loader, its JVM, its Python workers and the server of PostgreSQL are killed.

The sessions also write, truncate and alter tables during the first copy. Every snapshot of a load equals its source at
the LSN that it has recorded, by count and hash; the tables of a version of a group have the same LSN.
"""

from __future__ import annotations

import contextlib
import time

import psycopg
import pytest

from paimon_lake.loads.postgres.shared_slot import LSN
from tests.pipelines.loads.postgres.conftest import Followed
from tests.pipelines.loads.postgres.histories import (
    GroupColumnHistory,
    States,
    WideningHistory,
    complete,
    seeds,
)
from tests.pipelines.loads.postgres.shared import SharedLake, shared_lake
from tests.support.loader_process import LoaderProcess
from tests.support.postgres import PASSWORD


@pytest.fixture
def shared(quick, server, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    with shared_lake(quick, server) as found:
        yield found


@pytest.mark.parametrize("seed", seeds(2))
def test_a_table_that_follows_its_source(followed: Followed, server, seed):
    more = (", split: id, parts: 2, batch_rows: 40", "")[seed % 3 == 0]
    followed.declare(WideningHistory.declared, f"{more}, schema_changes: apply")
    followed.run(*WideningHistory.create, f"ALTER TABLE s.o REPLICA IDENTITY {('DEFAULT', 'FULL')[seed // 2 % 2]}")
    with contextlib.closing(WideningHistory(followed, seed)) as history:
        play(history, server, ["shop.o"], with_spark=seed % 4 == 0)


@pytest.mark.parametrize("seed", seeds(1))
def test_related_tables_of_one_slot(shared: SharedLake, server, seed):
    shared.settings("consistent: true, keep_versions: 1000, batch_rows: 40")
    shared.declare(", schema_changes: apply")
    with contextlib.closing(GroupColumnHistory(shared, seed)) as history:
        found = play(history, server, shared.names, with_spark=seed % 4 == 1)
    for version in shared.group().versions():
        assert {found[name][member.snapshot] for name, member in version.tables.items()} == {version.properties[LSN]}


def play(history, server, names, *, with_spark: bool) -> dict[str, dict[int, str]]:
    """Play a history and compare all snapshots; return the LSN of each snapshot of each table.

    After each loader the tables are loaded to the end.
    """
    database, pick = history.database, history.random
    history.alters = True
    database.connection.prepare_threshold = None
    states = States(history)
    history.changes(30)
    history.commit()
    for _ in range(2):
        name = pick.choice(names)
        loader = LoaderProcess(database.lake.folder, name, with_spark=with_spark)
        try:
            write_and_kill(history, server, loader, name)
        finally:
            loader.kill()
        history.commit()
        complete(database.lake, pick.choice(names))
        history.widens = True
    return {name: states.check(database.lake, name) for name in names}


def commits_of(lake, name: str) -> int:
    """Return the id of the newest snapshot of a table, 0 before its first one."""
    if not (lake.folder / "warehouse" / name.replace(".", ".db/") / "snapshot").exists():
        return 0
    latest = lake.table(name).latest_snapshot()
    return 0 if latest is None else latest.id


def write_and_kill(history, server, loader: LoaderProcess, name: str) -> None:
    """Write while a loader runs, and kill what it depends on, until the loader ends or is to be killed itself."""
    pick, lake = history.random, history.database.lake
    starts = pick.random() < 0.3  # then the first one is killed while the loader starts

    def write() -> None:
        history.changes(12)
        history.commit()
        time.sleep(0.1)

    for number in range(pick.randrange(1, 4)):
        if number or not starts:
            before = commits_of(lake, name)
            loader.wait(lambda before=before: commits_of(lake, name) > before or "with reload" in loader.text, write)
        ends = time.monotonic() + pick.uniform(0, 6 if starts and not number and loader.with_spark else 1)
        loader.wait(lambda ends=ends: time.monotonic() > ends, write)
        what = pick.choice(("loader", "server", "server", *(("jvm", "worker", "worker") if loader.with_spark else ())))
        if what == "loader" or not loader.is_running:
            return
        if what == "server":
            server.crash()
            database = history.database
            history.close()
            history.open()
            database.connection.close()
            database.connection = psycopg.connect(database.url, autocommit=True, prepare_threshold=None)
        elif what == "worker":
            loader.kill_worker(pick.choice)
        elif loader.kill_jvm():
            loader.wait(lambda: False, write)
            assert loader.text.splitlines()[-1].startswith("paimon-lake follow: "), loader.text[-3000:]
            return
