"""A PostgreSQL server whose log can be followed, and lakes with a table that follows one of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests.support.lakes import SmallLake
from tests.support.postgres import PASSWORD, PostgresServer, remove_followed, running_server

server = pytest.fixture(running_server, scope="package")


@dataclass
class Followed:
    """A lake whose table ``shop.o`` follows the table ``s.o`` of a server."""

    lake: SmallLake
    url: str
    connection: psycopg.Connection[Any]

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement)  # type: ignore[arg-type]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()  # type: ignore[arg-type]

    def connect(self) -> psycopg.Connection[Any]:
        """Open another session, whose statements are one transaction until it commits."""
        return psycopg.connect(self.url, options="-c lock_timeout=30")

    def declare(self, columns: str = "{id: BIGINT, t: STRING}", more: str = "", rest: str = "") -> None:
        url = self.url.replace(PASSWORD, "${DATABASE_PASSWORD}")
        self.lake.declare(
            "shop.o",
            f"""
            columns: {columns}
            {rest or "primary_key: id"}
            source: {{type: postgres_changes, url: "{url}", table: s.o{more}}}
            """,
        )

    def load(self, **more: Any) -> Any:
        return self.lake.load("shop.o", **more)

    def check(self, query: str = "SELECT * FROM s.o") -> None:
        """Compare the table of the lake with its source."""
        assert self.lake.rows("shop.o") == sorted(self.rows(query))


@pytest.fixture
def followed(quick: SmallLake, server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Followed]:
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    yield from following(quick, server)


@pytest.fixture
def followed_by_spark(lake: SmallLake, server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Followed]:
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    yield from following(lake, server)


def following(lake: SmallLake, server: PostgresServer) -> Iterator[Followed]:
    url = server.uri().replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        remove_followed(connection)  # also what a test left that died
        found = Followed(lake, url, connection)
        found.run("CREATE SCHEMA s", "CREATE TABLE s.o (id int PRIMARY KEY, t text)")
        found.declare()
        yield found
        remove_followed(found.connection)  # a test whose server was killed has another one
        found.connection.close()
