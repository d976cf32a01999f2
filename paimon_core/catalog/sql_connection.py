"""SqlConnection: the way to the database of a SQL catalog. The only module that talks to a database driver.

The value travels to workers with the URI, which may hold a password; nothing shows it. Every transaction opens a
connection of its own, so that none is shared between processes or kept open through a long write.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
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
BUSY_MILLIS = 30_000
"""How long SQLite waits for another connection that writes."""
ANSWER_MILLIS = 60_000
"""How long PostgreSQL may take to connect, and how long a transaction may take."""


@dataclass(frozen=True, repr=False)
class SqlConnection:
    """A database by its SQLAlchemy URI, ``sqlite:///file`` or ``postgresql+psycopg://…``; picklable."""

    uri: Secret
    timeout_millis: int | None = None
    """None: ``BUSY_MILLIS`` for SQLite, ``ANSWER_MILLIS`` for PostgreSQL."""

    @staticmethod
    def to(uri: str, timeout_millis: int | None = None) -> SqlConnection:
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
            _engine(uri, timeout_millis)
        except (ImportError, NoSuchModuleError):
            raise UnsupportedFeature(
                f"the driver of {url.drivername} is not installed: install paimon-core[postgres]"
            ) from None
        except (SQLAlchemyError, TypeError, ValueError):
            raise InvalidRequest(f"uri of a SQL catalog on {backend} has arguments that its driver refuses") from None
        return SqlConnection(Secret(uri), timeout_millis)

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

        Raises IntegrityError (SQLAlchemy's) for a row that exists already, StorageError for everything else that the
        database refuses and for no answer in time. After an error at the end of the block the caller must look up
        whether the change was made.
        """
        deadline = _Deadline(_seconds(self._url, self.timeout_millis))
        try:
            with deadline.applied(), _engine(self.uri.reveal(), self.timeout_millis).begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            if deadline.has_passed or "timeout expired" in str(error):
                raise StorageError(f"the catalog database {self.shown} failed: {deadline.problem}") from None
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


@dataclass
class _Deadline:
    """The time limit of a transaction; without one a driver may wait for ever for a server that does not answer."""

    seconds: float
    has_passed: bool = False
    _cleanup: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def problem(self) -> str:
        """The part of the error message when the deadline has passed."""
        return f"no answer within {self.seconds:g} s (option request-timeout)"

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Around one transaction: the connection that it opens is shut down at the deadline."""
        token = _deadline.set(self)
        try:
            with self._cleanup:
                yield
        finally:
            _deadline.reset(token)

    def start(self, connection: Any) -> None:
        """Start the timer; a connection without a socket has the time-out of its driver only."""
        if hasattr(connection, "fileno"):
            duplicate = self._cleanup.enter_context(socket.socket(fileno=os.dup(connection.fileno())))
            timer = threading.Timer(self.seconds, self._shut_down, (duplicate,))
            timer.daemon = True
            self._cleanup.callback(timer.cancel)
            timer.start()

    def _shut_down(self, connection: socket.socket) -> None:
        self.has_passed = True
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


_deadline: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)
"""The deadline of the transaction that is opening its connection."""


def _connect(dialect: Any, _record: Any, arguments: Any, named: Any) -> Any:
    """A connection under the deadline, before SQLAlchemy sends statements of its own."""
    connection = dialect.connect(*arguments, **named)
    if (deadline := _deadline.get()) is not None:
        deadline.start(connection)
    return connection


def _seconds(url: sa.URL, timeout_millis: int | None) -> float:
    return (timeout_millis or (BUSY_MILLIS if url.get_backend_name() == SQLITE else ANSWER_MILLIS)) / 1000


@cache
def _engine(uri: str, timeout_millis: int | None) -> sa.Engine:
    """The engine of a database, one a process; without a pool it is safe in a forked one."""
    url = sa.engine.make_url(uri)
    seconds = _seconds(url, timeout_millis)
    if url.get_backend_name() == SQLITE:
        return sa.create_engine(url, poolclass=NullPool, connect_args={"timeout": seconds}, hide_parameters=True)
    wait = {} if "connect_timeout" in url.query else {"connect_timeout": math.ceil(seconds)}
    is_libpq = url.get_driver_name().startswith("psycopg")
    engine = sa.create_engine(url, poolclass=NullPool, connect_args=wait if is_libpq else {}, hide_parameters=True)
    event.listen(engine, "do_connect", _connect)
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
