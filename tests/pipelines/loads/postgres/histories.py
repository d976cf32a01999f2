"""Random histories of tables of PostgreSQL: the statements of three sessions, and what the tables have at each LSN.

``HISTORIES=100:160`` in the environment plays these seeds instead of those of the tests.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

import psycopg
import pytest

from paimon_lake.loads import load as commits
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.loads.postgres import table_copy
from paimon_lake.protocol import PipelineError, TablesFailed
from paimon_lake.sources.postgres.lsn import lsn_of
from paimon_lake.sources.postgres.server import Server
from tests.support.lakes import SmallLake

KEYS = 8
PLACES: tuple[tuple[Any, str], ...] = (
    (Server, "advance"),
    (commits, "commit_load"),
    (loading, "write_parts"),
    (table_copy, "write_read"),
)
"""Where loads die, between two of their steps."""
WIDER = {"n": ("int", "bigint"), "v": ("varchar(2)", "varchar(5)", "text"), "p": ("numeric(4, 1)", "numeric(9, 1)")}
"""By column, types that are each wider than the one before."""
MOST_ADDED = 4
DEFAULT = -1
"""The default of new columns: only older rows have it, and the log does not contain it."""
_ALONE = ("TRUNCATE", "ALTER")
"""Statements after which a transaction ends at once: an open one would block every reader."""
_LSN = "SELECT (pg_current_wal_{}_lsn() - '0/0')::bigint"


def seeds(count: int) -> range:
    """Return the first seeds, or those that the environment names."""
    first, _, end = os.environ.get("HISTORIES", f"0:{count}").partition(":")
    return range(int(first), int(end))


class History:
    """Random changes by three sessions; a statement that waits for another session is given up."""

    tables: Sequence[str] = ("s.o",)

    def __init__(self, database: Any, seed: int) -> None:
        self.database, self.random = database, random.Random(seed)
        self.open()

    def open(self) -> None:
        """Begin three sessions."""
        self.sessions = [psycopg.connect(self.database.url, options="-c lock_timeout=30") for _ in range(3)]
        for session in self.sessions:
            session.prepare_threshold = None  # a prepared query keeps the columns of its first time

    def close(self) -> None:
        for session in self.sessions:
            session.close()

    def statement(self) -> str:
        """Return the next statement of a session."""
        raise NotImplementedError

    def change(self) -> None:
        session, statement = self.random.choice(self.sessions), self.statement()
        try:
            session.execute(statement)  # type: ignore[arg-type]
            end = self.random.uniform(0.06, 0.45) if statement.startswith(_ALONE) else self.random.random()
        except psycopg.Error:
            end = 0.0
        if end < 0.07:
            session.rollback()
        elif end < 0.45:
            self.end(session)

    def end(self, session: psycopg.Connection[Any]) -> None:
        """Commit the transaction of a session."""
        session.commit()

    def changes(self, count: int) -> None:
        for _ in range(self.random.randrange(count)):
            self.change()

    def commit(self) -> None:
        for session in self.sessions:
            if session.info.transaction_status:
                self.end(session)

    def rows_of(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table as a new session sees them."""
        with self.database.connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            found: list[dict[str, Any]] = cursor.execute(f"SELECT * FROM {table}").fetchall()
        return found

    def has_open(self) -> bool:
        """Whether a session has a transaction that is not committed."""
        return any(session.info.transaction_status for session in self.sessions)


class OrderHistory(History):
    """Changes of one table with keys, numbers and large values."""

    def statement(self) -> str:
        pick = self.random
        key, other = pick.randrange(KEYS), pick.randrange(KEYS)
        large = f"(SELECT string_agg(md5((k + {pick.random()})::text), '') FROM generate_series(1, 90) AS k)"
        return pick.choice(
            (
                f"INSERT INTO s.o (id, n, t) VALUES ({key}, {pick.randrange(99)}, {large}) ON CONFLICT DO NOTHING",
                f"INSERT INTO s.o (id, n, t) VALUES ({key}, 5, 'x') ON CONFLICT (id) DO UPDATE SET n = 7",
                f"UPDATE s.o SET n = n + 1 WHERE id = {key}",
                f"UPDATE s.o SET n = null WHERE id < {key}",
                f"UPDATE s.o SET t = {large} WHERE id = {key}",
                f"UPDATE s.o SET id = {other} WHERE id = {key}",
                f"DELETE FROM s.o WHERE id = {key}",
                "SAVEPOINT a",
                "ROLLBACK TO a",
                "TRUNCATE s.o" if pick.random() < 0.2 else "SELECT 1",
            )
        )


class GroupHistory(History):
    """Changes of customers, their orders and the items of orders."""

    tables = ("s.c", "s.o", "s.i")

    def statement(self) -> str:
        pick = self.random.randrange
        key, other = pick(KEYS - 1), pick(KEYS - 1)
        return self.random.choice(
            (
                f"INSERT INTO s.c VALUES ({key}, '{other}') ON CONFLICT (id) DO UPDATE SET t = s.c.t || 'x'",
                f"INSERT INTO s.o VALUES ({key}, {other}) ON CONFLICT (id) DO UPDATE SET c = {other}",
                f"INSERT INTO s.i VALUES ({key}, {other}, {pick(99)}) ON CONFLICT (o, line) DO UPDATE SET n = s.i.n+1",
                f"WITH a AS (INSERT INTO s.c VALUES ({key}, 'n') RETURNING id) SELECT 1",
                f"UPDATE s.c SET id = {other} WHERE id = {key}",
                f"UPDATE s.o SET id = {other} WHERE id = {key}",
                f"DELETE FROM s.c WHERE id = {key}",
                f"DELETE FROM s.o WHERE id = {key}",
                f"UPDATE s.i SET n = -n WHERE o = {key}",
                "TRUNCATE s.i" if pick(5) == 0 else "SAVEPOINT a",
                "TRUNCATE s.c CASCADE" if pick(9) == 0 else "ROLLBACK TO a",
            )
        )


class ColumnChanges(History):
    """New columns and wider types between the changes of another history, and in its transactions."""

    wider: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Types of columns of the table ``s.o``, each wider than the one before."""
    alters = False
    """Whether columns are added: the first copy leaves those out that are not declared."""
    widens = False
    """Whether types are widened: values of types that are wider than the declared ones do not fit in the first copy."""

    def statement(self) -> str:
        pick = self.random
        if not self.alters or pick.random() < 0.75:
            return super().statement()
        table = pick.choice(self.tables)
        query = f"SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attname ~ '^c[0-9]'"
        added = [name for (name,) in self.database.rows(query)]
        column = pick.choice([*added, f"c{len(added)}"])
        values = f"UPDATE {table} SET {column} = {pick.randrange(99)}"
        if self.wider and self.widens and pick.random() < 0.6:
            name = pick.choice(sorted(self.wider))
            values = pick.choice(self.wide_values())
            alteration = f"ALTER TABLE s.o ALTER {name} TYPE {pick.choice(self.wider[name])}"
        else:
            default = pick.choice([""] * 8 + [f"DEFAULT {DEFAULT}", f"NOT NULL DEFAULT {DEFAULT}"])
            alteration = f"ALTER TABLE {table} ADD c{len(added)} int {default}"
        if len(added) == MOST_ADDED or pick.random() < 0.6:
            return values
        return f"{alteration}; {values}" if pick.random() < 0.5 else alteration

    def wide_values(self) -> Sequence[str]:
        """Return statements whose values need wider types."""
        return ()


class WideningHistory(ColumnChanges, OrderHistory):
    """Changes of one table and its columns ``n``, ``v`` and ``p``."""

    wider: ClassVar = WIDER
    declared = '{id: BIGINT, n: INT, t: STRING, v: VARCHAR(2), p: "DECIMAL(4, 1)"}'
    create = (
        "DROP TABLE s.o",
        "CREATE TABLE s.o (id int PRIMARY KEY, n int, t text, v varchar(2), p numeric(4, 1))",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
    )

    def wide_values(self) -> Sequence[str]:
        key = self.random.randrange(KEYS)
        return (
            "UPDATE s.o SET v = 'ab', p = 1.5",
            f"INSERT INTO s.o (id, v) VALUES ({key}, 'abcd') ON CONFLICT (id) DO UPDATE SET v = 'abc'",
            f"INSERT INTO s.o (id, n) VALUES ({key}, 5000000000) ON CONFLICT (id) DO UPDATE SET p = 12345.5",
        )


class GroupColumnHistory(ColumnChanges, GroupHistory):
    """Changes of the related tables, which get new columns."""


def die(*_: Any, **__: Any) -> None:
    """Be a step of a load whose process dies."""
    raise KeyboardInterrupt


def complete(lake: SmallLake, name: str, *, reload: bool = False) -> None:
    """Load, and load again with reload each table whose error says so."""
    for _ in range(4):
        try:
            lake.load(name, reload=reload)
            return
        except (PipelineError, TablesFailed) as error:
            if "load the table with reload" not in str(error):
                raise
            name, reload = str(error).split(":")[0], True
    pytest.fail("a load was refused again and again")


# -- what the sources had


def lines_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return rows as sorted lines; a null is the same as a column that is not there."""
    return sorted(
        repr(sorted((name, _plain(value)) for name, value in row.items() if value is not None)) for row in rows
    )


def digest(lines: Sequence[str]) -> tuple[int, str]:
    """Return the count and the hash of rows."""
    return len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return str(value.normalize()) if isinstance(value, Decimal) else value


def _short(lines: Iterable[str]) -> str:
    return re.sub(r"[0-9a-f]{32,}", lambda found: f"{found[0][:8]}...", "; ".join(sorted(lines)))


def _left_out(position: Mapping[str, Any]) -> set[str]:
    """Return the columns that the source had before its copy, and that are not declared."""
    return {*position["known"]} - {column for column, *_ in position["columns"].values()}


def _visible(row: Mapping[str, Any], position: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a load at a position must have of a row: a default is not known before a change with its column."""
    left_out, known = _left_out(position), position["known"]
    return {k: v for k, v in row.items() if k not in left_out and (k in known or v != DEFAULT)}


class States:
    """What the tables of a history had after each commit, to compare a lake with it at the LSN that it has recorded."""

    def __init__(self, history: History) -> None:
        self._history, self._commit = history, history.end
        history.end = self._end  # type: ignore[method-assign]
        self._begins, self._ends = [0], [0]
        self._rows = [self._read()]

    def _read(self) -> dict[str, list[dict[str, Any]]]:
        return {name: self._history.rows_of(name) for name in self._history.tables}

    def _end(self, session: psycopg.Connection[Any]) -> None:
        ((begin,),) = self._history.database.rows(_LSN.format("insert"))
        self._commit(session)
        ((end,),) = self._history.database.rows(_LSN.format("flush"))
        self._begins.append(begin)
        self._ends.append(end)
        self._rows.append(self._read())

    def _at(self, table: str, lsn: int) -> Iterator[list[dict[str, Any]]]:
        """Yield what a table had before an LSN; two states when it is inside of the end of a transaction."""
        last = max(number for number, begin in enumerate(self._begins) if begin < max(lsn, 1))
        first = max(number for number, end in enumerate(self._ends) if end <= lsn)
        for number in range(min(first, last), last + 1):
            yield self._rows[number][table]

    def check(self, lake: SmallLake, name: str) -> dict[int, str]:
        """Compare each snapshot of a load with the source at its LSN, and the newest with the source as it is now.

        Return the LSN of each snapshot.
        """
        table, source, lsns = lake.table(name), f"s.{name[-1]}", dict[int, str]()
        for snapshot in table.inspect.snapshots().to_pylist():
            properties = dict(snapshot["properties"] or ())
            if "pipeline.position" not in properties:  # of a compaction
                continue
            position = json.loads(properties["pipeline.position"])
            found = lines_of(table.at(snapshot=snapshot["snapshot_id"]).scan().to_arrow().to_pylist())
            states = self._at(source, lsn_of(position["lsn"]))
            expected = [lines_of(_visible(row, position) for row in rows) for rows in states]
            assert digest(found) in map(digest, expected), (
                f"snapshot {snapshot['snapshot_id']} of {name} at {position['lsn']}: "
                f"{_short({*found} - {*expected[0]})}, in the source {_short({*expected[0]} - {*found})}"
            )
            lsns[snapshot["snapshot_id"]] = position["lsn"]
        now = [{k: v for k, v in row.items() if k not in _left_out(position)} for row in self._rows[-1][source]]
        assert found == lines_of(now), f"{name} is not loaded to the end"
        return lsns


@contextlib.contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], skipped: int = 0) -> Iterator[None]:
    """Let the process die at a place, after the place was passed a number of times."""
    where, name = place
    real, passed = getattr(where, name), 0

    def counted(*given: Any, **more: Any) -> Any:
        nonlocal passed
        passed += 1
        if passed > skipped:
            raise KeyboardInterrupt
        return real(*given, **more)

    with monkeypatch.context() as patched, contextlib.suppress(KeyboardInterrupt):
        patched.setattr(where, name, counted)
        yield
