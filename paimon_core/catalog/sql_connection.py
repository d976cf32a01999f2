"""SqlConnection: the way to the database of a SQL catalog. The only module that talks to a database driver.

The value travels to workers with the URI, which may hold a password; nothing shows it. Every transaction opens a
connection of its own, so that none is shared between processes or kept open through a long write.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, InterfaceError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from paimon_core.errors import InvalidRequest, StorageError, UnsupportedFeature
from paimon_core.storage.secret import Secret, scrubbed

SQLITE = "sqlite"
POSTGRES = "postgresql"
BUSY_SECONDS = 30
"""How long SQLite waits for another connection that writes."""


@dataclass(frozen=True, repr=False)
class SqlConnection:
    """A database by its SQLAlchemy URI, ``sqlite:///file`` or ``postgresql+psycopg://…``; picklable."""

    uri: Secret

    @staticmethod
    def to(uri: str) -> SqlConnection:
        """Raises InvalidRequest for text that is no such URI, UnsupportedFeature for other databases."""
        if not isinstance(uri, str) or uri.startswith("jdbc:"):
            raise InvalidRequest(
                "uri of a SQL catalog must be SQLAlchemy's, not JDBC's: sqlite:////path/catalog.db or "
                "postgresql+psycopg://user:password@host:5432/database"
            )
        try:
            url = sa.engine.make_url(uri)
            backend = url.get_backend_name()
        except (ArgumentError, ValueError):
            raise InvalidRequest(
                "uri of a SQL catalog cannot be parsed (it is not shown: it may hold a password)"
            ) from None
        if backend not in (SQLITE, POSTGRES):
            raise UnsupportedFeature(f"SQL catalog on {backend!r} is not supported; use sqlite or postgresql")
        if backend == SQLITE and (url.database or ":memory:") == ":memory:":
            raise InvalidRequest("a SQLite catalog in memory ends with its connection: name a file, sqlite:////path")
        if backend == SQLITE and not str(url.database).startswith("file:"):  # other processes have other directories
            url = url.set(database=os.path.abspath(str(url.database)))
            uri = url.render_as_string(hide_password=False)
        try:
            _engine(uri)
        except (ImportError, NoSuchModuleError):
            raise UnsupportedFeature(
                f"the driver of {url.drivername} is not installed: install paimon-core[postgres]"
            ) from None
        except (SQLAlchemyError, TypeError, ValueError):
            raise InvalidRequest(f"uri of a SQL catalog on {backend} has arguments that its driver refuses") from None
        return SqlConnection(Secret(uri))

    def share(self) -> None:
        """Let those that read not stop those that write: Java 1.4 never ends its first reads of a SQLite database."""
        if self._url.get_backend_name() == SQLITE:
            with contextlib.suppress(StorageError), self.transaction() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")

    @property
    def shown(self) -> str:
        """The URI without password and arguments, for messages."""
        return self._url.set(query={}).render_as_string(hide_password=True)

    def __repr__(self) -> str:
        return self.shown

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A connection whose changes stand together when the block ends.

        Raises IntegrityError (SQLAlchemy's) for a row that is there already, StorageError for all else that the
        database refuses; after an error, whether a change at the very end stands has to be looked up.
        """
        try:
            with _engine(self.uri.reveal()).begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            raise StorageError(f"the catalog database {self.shown} failed: {self._reason(error)}") from None

    def _reason(self, error: SQLAlchemyError) -> str:
        """The driver's own words, without the statement and its parameters, and never with a secret."""
        cause: Any = error.orig if isinstance(error, DBAPIError) else error
        text = " ".join(str(cause).split())[:300]
        given = [v for value in self._url.query.values() for v in ((value,) if isinstance(value, str) else value)]
        secrets = (self.uri, Secret(str(self._url.password or "")), *map(Secret, given))
        return scrubbed(text, secrets) or type(error).__name__

    @property
    def _url(self) -> sa.URL:
        return sa.engine.make_url(self.uri.reveal())


@cache
def _engine(uri: str) -> sa.Engine:
    """The engine of a database, one a process; without a pool it is safe in a forked one."""
    url = sa.engine.make_url(uri)
    if url.get_backend_name() == SQLITE:
        return sa.create_engine(url, poolclass=NullPool, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True)
    engine = sa.create_engine(url, poolclass=NullPool, hide_parameters=True)
    event.listen(engine, "connect", _use_local_time)
    return engine


def _use_local_time(connection: Any, _record: Any) -> None:
    """PostgreSQL keeps the locks' times without zone: all clients must mean one, and Java's driver means its own."""
    offset = datetime.datetime.now().astimezone().utcoffset() or datetime.timedelta()
    minutes = int(offset.total_seconds() // 60)
    text = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    assert re.fullmatch(r"[+-]\d\d:\d\d", text)
    statement = f"SET TIME ZONE INTERVAL '{text}' HOUR TO MINUTE"
    try:
        cursor = connection.cursor()
        cursor.execute(statement)
        cursor.close()
        connection.commit()
    except Exception as error:  # a driver's own: SQLAlchemy does not wrap what happens here
        raise InterfaceError(statement, None, error) from None
