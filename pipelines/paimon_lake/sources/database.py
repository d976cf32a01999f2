"""Database: connect to PostgreSQL or SQLite by a URL, and read queries as Arrow batches.

The URL may contain a password. So the URL is a ``Secret``, errors of a driver are replaced by errors without the
password, and ``Database.name`` has the URL without user, password and parameters.

A connection to PostgreSQL is one read-only transaction, which sees the database at one moment. Several connections see
the same state when they use the snapshot that one of them exports. With SQLite, each query sees the database at one
moment, and two queries may see different moments.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import adbc_driver_manager
import pyarrow as pa

from paimon_core.storage.secret import Secret, scrubbed
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.database_sql import relation_of

CONNECT_SECONDS = 30
"""The timeout in seconds for connecting to PostgreSQL, unless the URL sets ``connect_timeout``."""
_SQLITE_BATCH_ROWS = 8_192
_CHARACTER = r"(?:[^@/\s%]|%(?!00)[0-9A-Fa-f]{2})"
_HOST = r"(?:[\w.-]*|\[[0-9A-Fa-f:.]+\])(?::\d*)?"
_POSTGRESQL = re.compile(
    rf"postgresql://(?:(?P<user>(?:(?!:){_CHARACTER})*)(?::(?P<password>{_CHARACTER}*))?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)(?P<path>/[\w.~%-]*)?"
    r"(?:\?(?P<parameters>\w+=(?:[^&=@\s%]|%(?!00)[0-9A-Fa-f]{2})*(?:&\w+=(?:[^&=@\s%]|%(?!00)[0-9A-Fa-f]{2})*)*))?"
)
_SNAPSHOT = re.compile(r"[0-9A-Fa-f-]{1,60}")
_PREFIX = re.compile(r"^.*?\b(?:ERROR|FATAL): +|^[A-Z_]+: (?:\[\w+\] )?(?:Failed to [\w ]+: )?", re.DOTALL)
_QUERY_TEXT = re.compile(r"\s+(?:LINE \d+:|Query was:|query:).*", re.DOTALL)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Database:
    """A table or a query of a database. Spark tasks also receive its URL, but errors and logs contain only ``name``."""

    url: Secret
    relation: str
    """The table or query as SQL, to be written after FROM."""
    place: str
    """The URL without user, password and parameters."""
    name: str
    """The place with the name of the table, or with the word ``query``, for errors and results."""
    secrets: tuple[Secret, ...] = ()
    """The texts that errors must not contain."""

    @property
    def is_postgresql(self) -> bool:
        """Whether the database is PostgreSQL, and not SQLite."""
        return self.place.startswith("postgresql:")

    @contextlib.contextmanager
    def connected(self, snapshot: str | None = None) -> Iterator[Connection]:
        """Connect for reading; with ``snapshot``, see the database at the moment of the transaction that exported it.

        Raises PipelineError, which names the database and the reason, when the connection fails.
        """
        opened = self.guarded(self._connect)
        try:
            cursor = opened.cursor()
            try:
                connection = Connection(self, cursor)
                if self.is_postgresql:
                    connection.begin(snapshot)
                else:
                    cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_SQLITE_BATCH_ROWS)})
                yield connection
            finally:
                _close(cursor)
        finally:
            _close(opened)

    def guarded(self, call: Callable[[], _T]) -> _T:
        """Return the result of a call of a driver; its errors become a PipelineError without URL and password."""
        try:
            return call()
        except (adbc_driver_manager.Error, OSError, pa.ArrowException) as error:
            reason = _QUERY_TEXT.sub("", _PREFIX.sub("", str(error)))
        # Raised outside of the except block: the error of the driver, which may contain the password, must not become
        # the context of this error.
        raise PipelineError(f"{self.name}: {scrubbed(' '.join(reason.split()), self.secrets)[:300]}")

    def _connect(self) -> Any:
        if self.is_postgresql:
            import adbc_driver_postgresql.dbapi

            return adbc_driver_postgresql.dbapi.connect(self.url.reveal(), autocommit=True)
        import adbc_driver_sqlite.dbapi

        path = Path(self.url.reveal().removeprefix("sqlite:///"))
        if not path.is_file():  # the error of the driver is misleading: "failed to allocate memory"
            raise OSError("there is no such file")
        return adbc_driver_sqlite.dbapi.connect(f"file:{quote(str(path))}?mode=ro")


@dataclass(frozen=True)
class Connection:
    """An open connection for reading."""

    database: Database
    _cursor: Any

    def begin(self, snapshot: str | None) -> None:
        """Begin the transaction of PostgreSQL in which all queries of this connection run, on ``snapshot`` if given."""
        self._execute("SET client_encoding = 'UTF8'")
        self._execute("SET standard_conforming_strings = on")
        self._execute("SET extra_float_digits = 1")  # arrays are read as texts, and their floats must be exact
        self._execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if snapshot is not None:
            if not _SNAPSHOT.fullmatch(snapshot):
                raise PipelineError(f"{self.database.name}: {snapshot!r:.80} is no snapshot of PostgreSQL")
            self._execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")

    def export_snapshot(self) -> str:
        """Return the id of a PostgreSQL snapshot of this transaction; the id is valid while the connection is open."""
        self._execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        return str(self.rows("SELECT pg_export_snapshot()")[0][0])

    def schema(self) -> pa.Schema:
        """Return the columns of the table or query.

        For SQLite the types are guesses, as its columns have no fixed types.
        """
        with self._reader(f"SELECT * FROM {self.database.relation} AS source LIMIT 0") as reader:
            return reader.schema

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query as tuples; use it only for small results."""
        found: list[tuple[Any, ...]] = []
        for batch in self.batches(sql):
            found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return found

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """Yield the result of a query in Arrow batches, which have about 16 MB for PostgreSQL."""
        with self._reader(sql) as reader:
            while (batch := self.database.guarded(lambda: next(reader, None))) is not None:
                yield batch

    @contextlib.contextmanager
    def _reader(self, sql: str) -> Iterator[pa.RecordBatchReader]:
        self._execute(sql)
        reader = self.database.guarded(self._cursor.fetch_record_batch)
        try:
            yield reader
        finally:
            _close(reader)

    def _execute(self, sql: str) -> None:
        self.database.guarded(lambda: self._cursor.execute(sql))


def open_database(
    url: str, *, table: str, query: str, folder: Path, connect_seconds: int = CONNECT_SECONDS
) -> Database:
    """Return the table or query of a database without connecting; a relative path of SQLite starts at ``folder``.

    Raises PipelineError, which does not contain the URL, for a URL that has the form of neither database.
    """
    what = table or "query"
    relation = relation_of(table, query)
    if url.startswith("sqlite:///"):
        path = folder.absolute() / url.removeprefix("sqlite:///")
        place = f"sqlite:///{path}"
        return Database(Secret(place), relation, place, f"{place} {what}")
    found = _POSTGRESQL.fullmatch(url)
    if found is None:  # libpq would repeat parts of such a URL in its errors
        raise PipelineError(
            "source.url is not of the form postgresql://user:password@host:port/database or sqlite:///path; in a user "
            "and a password, write @, /, % and spaces as %40, %2F, %25 and %20"
        )
    place = f"postgresql://{found['hosts']}{found['path'] or ''}"
    hidden = [url, found["password"] or ""]
    hidden += [one.partition("=")[2] for one in (found["parameters"] or "").split("&") if "password" in one]
    secrets = tuple(Secret(text) for one in hidden if one for text in dict.fromkeys((one, unquote(one))))
    if "connect_timeout=" not in (found["parameters"] or ""):
        url += f"{'?' if found['parameters'] is None else '&'}connect_timeout={connect_seconds}"
    return Database(Secret(url), relation, place, f"{place} {what}", secrets)


def _close(opened: Any) -> None:
    with contextlib.suppress(adbc_driver_manager.Error, OSError, pa.ArrowException):  # the result is read already
        opened.close()
