"""A lake with three tables that follow related tables of PostgreSQL through one slot."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from paimon_core.group.group import Group
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.postgres.postgres_changes import PostgresChangesLoads
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.lsn import lsn_of
from paimon_lake.tables import open_lake
from tests.support.lakes import SmallLake
from tests.support.postgres import PASSWORD, PostgresServer, remove_followed

TABLES = {
    "shop.c": ("{id: BIGINT, t: STRING}", "id", "CREATE TABLE s.c (id int PRIMARY KEY, t text)"),
    "shop.o": (
        "{id: BIGINT, c: BIGINT}",
        "id",
        "CREATE TABLE s.o (id int PRIMARY KEY, c int NOT NULL REFERENCES s.c ON UPDATE CASCADE ON DELETE CASCADE)",
    ),
    "shop.i": (
        "{o: BIGINT, line: INT, n: INT}",
        "[o, line]",
        "CREATE TABLE s.i (o int REFERENCES s.o ON UPDATE CASCADE ON DELETE CASCADE, line int, n int, "
        "PRIMARY KEY (o, line))",
    ),
}
"""The columns and the key of each declaration, and the statement that makes its source."""


@dataclass
class SharedLake:
    """Customers, orders of customers and items of orders, in the schema ``s`` of a server and in the lake."""

    lake: SmallLake
    url: str
    connection: psycopg.Connection[Any]
    names: tuple[str, ...] = tuple(TABLES)

    def settings(self, more: str = "") -> None:
        """Write the settings of the database."""
        url = self.url.replace(PASSWORD, "${DATABASE_PASSWORD}")
        (self.lake.folder / "base.yaml").write_text(
            f"warehouse: warehouse\npostgres: {{shop: {{url: '{url}'{', ' if more else ''}{more}}}}}\n"
        )

    def declare(self, more: str = "") -> None:
        """Declare all tables; ``more``: further keys of their sources."""
        for name, (columns, key, _) in TABLES.items():
            source = f"{{type: postgres_changes, database: shop, table: s.{name[-1]}{more}}}"
            self.lake.declare(name, f"columns: {columns}\nprimary_key: {key}\nsource: {source}\n")

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement)  # type: ignore[arg-type]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()  # type: ignore[arg-type]

    def load(self, name: str, **more: Any) -> Any:
        return self.lake.load(name, **more)

    def check(self, *names: str) -> None:
        """Compare tables of the lake, by default all, with their sources."""
        for name in names or self.names:
            assert self.lake.rows(name) == sorted(self.rows(f"SELECT * FROM s.{name[-1]}"))

    def position(self, name: str) -> int:
        found: Any = read_ledger(self.lake.table(name)).position
        return lsn_of(found["lsn"])

    def slot(self) -> str:
        return str(self.rows("SELECT slot_name FROM pg_replication_slots")[0][0])

    def publication(self) -> str:
        return str(self.rows("SELECT pubname FROM pg_publication")[0][0])

    def confirmed(self) -> int:
        return int(self.rows("SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots")[0][0])

    def group(self) -> Group:
        return open_lake(self.lake.settings).group("shop")

    def version(self) -> dict[str, int]:
        """The number of rows of each table in the newest version of the group."""
        group = self.group()
        return {name: group.table(name).scan().to_arrow().num_rows for name in self.names}

    @contextlib.contextmanager
    def failing(self, name: str, monkeypatch: Any) -> Iterator[None]:
        """Refuse each load of changes of a table."""
        real = PostgresChangesLoads._changes

        def refusing(loads: Any, step: Any, *given: Any) -> Any:
            if step.spec.name == name:
                raise PipelineError(f"{name}: refused")
            return real(loads, step, *given)

        with monkeypatch.context() as patched:
            patched.setattr(PostgresChangesLoads, "_changes", refusing)
            yield


@contextlib.contextmanager
def shared_lake(lake: SmallLake, server: PostgresServer) -> Iterator[SharedLake]:
    """Yield the lake, and remove its sources and slots afterwards."""
    url = server.uri().replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        remove_followed(connection)  # also what a test left that died
        found = SharedLake(lake, url, connection)
        found.settings()
        found.run("CREATE SCHEMA s")
        found.run(*(statement for *_, statement in TABLES.values()))
        found.declare()
        try:
            yield found
        finally:
            remove_followed(found.connection)  # a test whose server was killed has another one
            found.connection.close()
