"""Random histories of a wide table of two tables of PostgreSQL against their join, while loads and loaders are killed.

Each snapshot of a load has, in the columns of its part, what the table of the part had at the LSN that it has recorded.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any

import pytest

from paimon_core.table.view import TableView
from paimon_lake.loads import load as commits
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.postgres import part_changes
from paimon_lake.sources.postgres.lsn import lsn_of
from paimon_lake.sources.postgres.server import Server
from paimon_lake.steps.upkeep.expiry import expire
from tests.pipelines.loads.postgres.histories import KEYS, History, States, dying, seeds
from tests.support.loader_process import LoaderProcess
from tests.support.postgres import PASSWORD

NAME = "shop.w"
WIDE = """
columns: {id: BIGINT, n: INT, t: STRING, o_at: BIGINT, b: STRING, m: INT, p_at: BIGINT}
primary_key: id
options: {num-sorted-run.compaction-trigger: '3', bucket: 'BUCKETS'}
parts:
  o: {source: {type: postgres_changes, url: "URL", table: s.o SPLIT}, columns: [n, t], order_by: o_at}
  p: {source: {type: postgres_changes, url: "URL", table: s.p}, columns: [b, m], order_by: p_at}
"""
COLUMNS = {"o": ("n", "t"), "p": ("b", "m")}
PLACES: tuple[tuple[Any, str], ...] = (
    (Server, "advance"),
    (commits, "commit_load"),
    (part_changes, "write_parts"),
)
CALLS = ("open", "fsync", "link", "unlink", "replace", "mkdir")


class PartHistory(History):
    """Changes of two tables with large values, often of both in one transaction."""

    tables = ("s.o", "s.p")

    def statement(self) -> str:
        pick = self.random
        table, text, number = pick.choice((("s.o", "t", "n"), ("s.p", "b", "m")))
        key, other = pick.randrange(KEYS), pick.randrange(KEYS)
        large = f"(SELECT string_agg(md5((k + {pick.random()})::text), '') FROM generate_series(1, 90) AS k)"
        return pick.choice(
            (
                f"INSERT INTO {table} (id, {number}, {text}) VALUES ({key}, 1, {large}) ON CONFLICT DO NOTHING",
                f"INSERT INTO {table} (id, {text}) VALUES ({key}, 'x') ON CONFLICT (id) DO UPDATE SET {number} = 7",
                f"UPDATE {table} SET {number} = coalesce({number}, 0) + 1 WHERE id = {key}",
                f"UPDATE {table} SET {number} = null WHERE id < {key}",
                f"UPDATE {table} SET {text} = {large} WHERE id = {key}",
                f"UPDATE {table} SET id = {other} WHERE id = {key}",
                f"DELETE FROM {table} WHERE id = {key}",
                "SAVEPOINT a",
                "ROLLBACK TO a",
                f"TRUNCATE {table}" if pick.random() < 0.3 else "SELECT 1",
            )
        )


class WideStates(States):
    """Compares the columns of each part with its table at the LSN that the part has recorded."""

    def check_part(self, table: TableView, part: str, lsn: int) -> None:
        rows = table.scan().to_arrow().to_pylist()
        found = values_of(rows, part)
        expected = [values_of(state, part) for state in self._at(f"s.{part}", lsn)]
        assert found in expected, f"{part} at {lsn}: {found} is not {expected}"
        keys = {row["id"] for row in rows}
        assert any(keys >= {row["id"] for row in state} for state in self._at(f"s.{part}", lsn))

    def check_newest(self, lake: Any) -> None:
        """Compare the newest snapshot, also after a load that died."""
        table = lake.table(NAME)
        for part in COLUMNS:
            position: Any = read_ledger(table, f"{NAME} part {part}").position
            if position is not None:
                self.check_part(table, part, lsn_of(position["lsn"]))

    def check_all(self, lake: Any) -> int:
        """Compare the snapshots of all loads, and the newest one with the join as it is now; return their number."""
        table, count = lake.table(NAME), 0
        for snapshot in table.inspect.snapshots().to_pylist():
            position = dict(snapshot["properties"] or ()).get("pipeline.position")
            if position is not None:
                part = snapshot["commit_user"][-1]
                self.check_part(table.at(snapshot=snapshot["snapshot_id"]), part, lsn_of(json.loads(position)["lsn"]))
                count += 1
        joined = self._history.database.rows("SELECT id, n, t, b, m FROM s.o FULL JOIN s.p USING (id)")
        wanted = {row[0]: row[1:] for row in joined if any(value is not None for value in row[1:])}
        rows = table.scan(["id", "n", "t", "b", "m"]).to_arrow().to_pylist()
        found = {row.pop("id"): tuple(row.values()) for row in rows}
        assert {key: row for key, row in found.items() if any(one is not None for one in row)} == wanted
        return count


def values_of(rows: list[dict[str, Any]], part: str) -> Mapping[int, tuple[Any, ...]]:
    """Return the values of a part by key, without rows in which all of them are null."""
    found = {row["id"]: tuple(row[name] for name in COLUMNS[part]) for row in rows}
    return {key: values for key, values in found.items() if any(value is not None for value in values)}


@pytest.fixture
def wide(followed):
    followed.run(
        "ALTER TABLE s.o ADD n int",
        "CREATE TABLE s.p (id int PRIMARY KEY, b text, m int)",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
        "ALTER TABLE s.p ALTER b SET STORAGE EXTERNAL",
    )
    return followed


def declare(wide, seed: int, more: str = "") -> None:
    url = wide.url.replace(PASSWORD, "${DATABASE_PASSWORD}")
    split = (", split: id, parts: 2, batch_rows: 7", "")[seed % 3 == 0]
    text = WIDE.replace(
        "BUCKETS", ("2", "-1")[seed % 5 == 2]
    )  # -1: dynamic buckets, whose rows are placed by later tasks
    wide.lake.declare(NAME, text.replace("URL", url).replace(" SPLIT", split) + more)
    wide.run(f"ALTER TABLE s.o REPLICA IDENTITY {('DEFAULT', 'FULL')[seed % 2]}")


class Died(BaseException):
    """The process died; nothing handles it."""


@contextlib.contextmanager
def killed(number: int):
    """Let a call that changes the disk be the last one of a load, in any of its threads."""
    patched, made = pytest.MonkeyPatch(), [0]

    def counted(original):
        def call(*args, **kwargs):
            made[0] += 1
            if made[0] >= number:
                raise Died
            return original(*args, **kwargs)

        return call

    for name in CALLS:
        patched.setattr(os, name, counted(getattr(os, name)))
    try:
        with contextlib.suppress(Died):
            yield
    finally:
        patched.undo()


@pytest.mark.parametrize("seed", seeds(3))
def test_any_history_of_two_tables_is_their_join(wide, monkeypatch, seed):
    expires = seed % 4 == 1
    declare(wide, seed, "retention: {keep_snapshots: 1, keep_hours: 0}\n" if expires else "")
    with contextlib.closing(PartHistory(wide, seed)) as history:
        states, pick, lake = WideStates(history), history.random, wide.lake
        lake.create(NAME)
        for part in COLUMNS:
            copy_while_sessions_write(history, monkeypatch, part)
            states.check_newest(lake)
        for _ in range(7):
            history.changes(30)
            what = pick.choice(("load", "load", "dying", "killed", "killed", "part", "reload", "compact"))
            if what in ("dying", "killed", "reload"):  # a copy waits for the transactions that run
                history.commit()
            part = pick.choice(("", *COLUMNS))
            again = what == "reload" or (what == "killed" and pick.random() < 0.3)
            if what == "dying":
                with dying(monkeypatch, pick.choice(PLACES), pick.randrange(2)):
                    lake.load(NAME, part=part)
            elif what == "killed":
                with killed(pick.randrange(1, 70)):
                    lake.load(NAME, part=part, reload=again)
            elif what == "compact" and expires:
                expire(lake.spark, lake.settings, NAME)
            elif what == "compact":
                lake.create(NAME).compact(full=pick.random() < 0.5)
            else:
                lake.load(NAME, part=part, reload=again)
            states.check_newest(lake)
        history.commit()
        lake.load(NAME)
        assert states.check_all(lake) > (0 if expires else 4)


def copy_while_sessions_write(history, monkeypatch, part: str) -> None:
    """Load a part for the first time, with changes that are committed after the snapshot of the copy."""
    real = part_changes.write_parts

    def copying(*given, **more):
        history.changes(20)
        history.commit()
        return real(*given, **more)

    history.changes(20)
    history.commit()
    with monkeypatch.context() as patched:
        patched.setattr(part_changes, "write_parts", copying)
        history.database.lake.load(NAME, part=part)


def test_a_loader_that_is_killed_loses_and_doubles_nothing(wide):
    declare(wide, 1)
    with contextlib.closing(PartHistory(wide, 11)) as history:
        states, pick, lake = WideStates(history), history.random, wide.lake
        lake.create(NAME)
        for _ in range(2):
            history.commit()
            loader = LoaderProcess(lake.folder, NAME, with_spark=False)
            try:
                before = lake.table(NAME).latest_snapshot()

                def write() -> None:
                    history.changes(12)
                    history.commit()
                    time.sleep(0.05)

                loader.wait(lambda before=before: lake.table(NAME).latest_snapshot() != before, write)
                ends = time.monotonic() + pick.uniform(0, 2)
                loader.wait(lambda ends=ends: time.monotonic() > ends, write)
            finally:
                loader.kill()
            states.check_newest(lake)
        lake.load(NAME)
        assert states.check_all(lake) > 3
