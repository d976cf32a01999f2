"""SqlConnection: transactions on the database of a SQL catalog. No other module uses a database driver.

A SqlConnection can be pickled and sent to workers; it contains the URI with its password, which is never shown. Every
transaction opens a new connection, so that no connection is shared between processes or kept open during a long write.
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
"""The milliseconds that SQLite waits for another connection to end its write."""
ANSWER_MILLIS = 60_000
"""The time limit of PostgreSQL for connecting, and for a transaction, in milliseconds."""


@dataclass(frozen=True, repr=False)
class SqlConnection:
    """A database with a SQLAlchemy URI, ``sqlite:///file`` or ``postgresql+psycopg://…``; can be pickled."""

    uri: Secret
    timeout_millis: int | None = None
    """The time limit in milliseconds; None: ``BUSY_MILLIS`` for SQLite, ``ANSWER_MILLIS`` for PostgreSQL."""

    @staticmethod
    def to(uri: str, timeout_millis: int | None = None) -> SqlConnection:
        """Return the connection for a URI.

        Raises InvalidRequest for an invalid URI, UnsupportedFeature for a database other than SQLite and PostgreSQL and
        for a driver that is not installed.
        """
        if not isinstance(uri, str) or uri.startswith("jdbc:"):
            raise InvalidRequest(
                "uri of a SQL catalog must be a SQLAlchemy URI, not a JDBC URI: sqlite:////path/catalog.db or "
                "postgresql+psycopg://user:password@host:5432/database"
            )
        try:
            url = sa.engine.make_url(uri)
            backend = url.get_backend_name()
        except (ArgumentError, ValueError):
            raise InvalidRequest(
                "uri of a SQL catalog cannot be parsed (it is not shown, as it may contain a password)"
            ) from None
        if backend not in (SQLITE, POSTGRES):
            raise UnsupportedFeature(f"SQL catalog on {backend!r} is not supported; use sqlite or postgresql")
        if backend == SQLITE and (url.database or ":memory:") == ":memory:":
            raise InvalidRequest(
                "a SQLite catalog in memory is lost when its connection closes: use a file, sqlite:////path"
            )
        if backend == SQLITE and not str(url.database).startswith(
            "file:"
        ):  # other processes have other working directories
            url = url.set(database=os.path.abspath(str(url.database)))
            uri = url.render_as_string(hide_password=False)
        try:
            _engine(uri, timeout_millis)
        except (ImportError, NoSuchModuleError):
            raise UnsupportedFeature(
                f"the driver of {url.drivername} is not installed: install paimon-core[postgres]"
            ) from None
        except (SQLAlchemyError, TypeError, ValueError):
            raise InvalidRequest(
                f"uri of a SQL catalog on {backend} has arguments that its driver does not accept"
            ) from None
        return SqlConnection(Secret(uri), timeout_millis)

    def share(self) -> None:
        """Set SQLite to WAL mode, so that reads do not block writes: Java 1.4 does not end all read transactions."""
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
        """Open a connection for one transaction, which is committed when the block ends.

        Raises SQLAlchemy's IntegrityError for a row that already exists, StorageError for any other failure of the
        database and when the time limit has passed. When the commit at the end of the ``with`` block raises an error,
        the caller must check whether the change was committed.
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
        """Return the driver's message, without the statement, its parameters and secrets."""
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
    """The time limit of a transaction; without a limit, a driver may wait forever for a server that does not answer."""

    seconds: float
    has_passed: bool = False
    _cleanup: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def problem(self) -> str:
        """The part of the error message that states that the deadline has passed."""
        return f"no answer within {self.seconds:g} s (option request-timeout)"

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Apply the limit to one transaction: at the deadline, shut down the connection that the block has opened."""
        token = _deadline.set(self)
        try:
            with self._cleanup:
                yield
        finally:
            _deadline.reset(token)

    def start(self, connection: Any) -> None:
        """Start the timer that shuts down the connection; if it has no socket, only the driver's time-out applies."""
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
"""The deadline of the current transaction, for the connection that it opens."""


def _connect(dialect: Any, _record: Any, arguments: Any, named: Any) -> Any:
    """Open a connection, and start its deadline before SQLAlchemy sends its first statements."""
    connection = dialect.connect(*arguments, **named)
    if (deadline := _deadline.get()) is not None:
        deadline.start(connection)
    return connection


def _seconds(url: sa.URL, timeout_millis: int | None) -> float:
    return (timeout_millis or (BUSY_MILLIS if url.get_backend_name() == SQLITE else ANSWER_MILLIS)) / 1000


@cache
def _engine(uri: str, timeout_millis: int | None) -> sa.Engine:
    """Return the engine of a database, one per process.

    It has no connection pool, so that forked processes may use it.
    """
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
    """Set the session to the local time zone, as Java's driver does: lock times are stored without a zone."""
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
    except Exception as error:  # SQLAlchemy does not wrap exceptions of the driver in this event
        raise InterfaceError(statement, None, error) from None
