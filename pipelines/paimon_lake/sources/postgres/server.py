"""Server: connections to a PostgreSQL server, with its facts, publications and replication slots.

A connection commits each statement. Its errors become PipelineErrors without the URL and the password, which say what
the user can do. Names are passed as parameters or quoted by psycopg.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paimon_core.storage.secret import scrubbed
from paimon_lake.extras import missing_extra
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.database import Database
from paimon_lake.sources.postgres.lsn import lsn_of, lsn_text

if TYPE_CHECKING:
    import psycopg

_LOG = logging.getLogger(__name__)
_OPTIONS = "-c idle_in_transaction_session_timeout=0 -c statement_timeout=0 -c client_encoding=UTF8"
_TEXTS = "-c DateStyle=ISO -c TimeZone=UTC -c bytea_output=hex -c extra_float_digits=1"
"""How values are written in messages of pgoutput: ``database_texts`` reads these forms."""
_ADVICE = {
    "42501": "grant the user what is needed: REPLICATION (ALTER ROLE ... REPLICATION), SELECT on the table and, unless "
    "source.publication names one that exists, ownership of the table and CREATE on the database",
    "53400": "raise max_replication_slots, or drop slots that are not used; the first copy needs two for a while",
    "55P03": "another load reads this slot, and did not end within the wait: repeat the load when it has ended",
    "55006": "another load or program reads this slot: repeat the load when it has ended",
}
"""Advice for errors of PostgreSQL, by SQLSTATE."""
_EXISTS = "42710"
_IDLE_SESSIONS = 140000
"""The first version of PostgreSQL in which idle sessions can time out."""
_CANCELED = "57014"
_FLUSH_SECONDS = 30
_FACTS = """
SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('wal_level'),
  system_identifier::text, current_database()::text FROM pg_control_system()
"""
_TIMELINE = "SELECT ('x' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8))::bit(32)::int"
_SLOTS = "FROM pg_replication_slots WHERE slot_name = %s"
_SLOT = f"""
SELECT plugin::text, database::text, temporary, active_pid, wal_status, (confirmed_flush_lsn - '0/0')::bigint,
  (pg_current_wal_flush_lsn() - restart_lsn)::bigint {_SLOTS}
"""


_LOCK = "hashtextextended('paimon_lake ' || %s, 0)"
"""The key of the advisory lock with which a load reserves a slot."""
_READER = f"""
SELECT a.pid::text, a.usename::text, a.application_name, host(a.client_addr),
  to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
FROM pg_locks l JOIN pg_database d ON d.oid = l.database JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND d.datname = current_database()
  AND ((l.classid::bigint << 32) | l.objid::bigint) = {_LOCK}
"""
QUIET_SECONDS = 1.5
"""A wait for a slot is logged after this time."""
_TRY_SECONDS = 0.1


class TookTooLong(PipelineError):
    """A statement was canceled, because it took longer than ``statement_timeout``."""


@dataclass(frozen=True)
class ServerFacts:
    """The facts that identify a server and its history, and the newest position of the server."""

    version: int
    in_recovery: bool
    wal_level: str
    system: str
    database: str
    timeline: int = 0
    lsn: int = 0
    """The end of the log on disk, in bytes."""


@dataclass(frozen=True)
class SlotState:
    """A replication slot of the server."""

    plugin: str | None
    database: str | None
    is_temporary: bool
    active_pid: int | None
    wal_status: str | None
    confirmed: int | None
    """The LSN up to which changes are not delivered again."""
    held_bytes: int | None
    """The bytes of the log that the server keeps for the slot."""


@dataclass(frozen=True)
class Server:
    """An open connection to the database of a declared table."""

    database: Database
    _connection: psycopg.Connection[Any]

    def rows(self, sql: Any, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; raises PipelineError when the query fails."""
        with guarded(self.database):
            return self._connection.execute(sql, parameters).fetchall()

    def facts(self) -> ServerFacts:
        """Return the facts of the server; timeline and position are 0 for a server in recovery."""
        found = ServerFacts(*self.rows(_FACTS)[0])
        if found.in_recovery:
            return found
        return ServerFacts(found.version, False, found.wal_level, found.system, found.database, *self._newest())

    def _newest(self) -> tuple[int, int]:
        return self.rows(_TIMELINE)[0][0], self.newest_lsn()

    def newest_lsn(self) -> int:
        """Return the end of the log on disk, in bytes."""
        return int(self.rows("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint")[0][0])

    def end_of_changes(self) -> int:
        """Wait until the server has flushed all changes that this session sees, and return the end of the log on disk.

        Writes a message without a meaning to the log, because a server without writers may not flush it.
        """
        seen = int(self.rows("SELECT (pg_logical_emit_message(true, 'paimon', '') - '0/0')::bigint")[0][0])
        ends = time.monotonic() + _FLUSH_SECONDS
        while (lsn := self.newest_lsn()) < seen:
            if time.monotonic() > ends:
                raise PipelineError(f"{self.database.name}: the server does not flush its log: repeat the load")
            time.sleep(0.05)
        return lsn

    def slot(self, name: str) -> SlotState | None:
        """Return a replication slot; None when the server has none of this name."""
        found = self.rows(_SLOT, [name])
        return SlotState(*found[0]) if found else None

    def idle_slot(self, name: str) -> SlotState | None:
        """Return a slot as ``slot`` does, but wait for at most ``QUIET_SECONDS`` while a session reads it.

        PostgreSQL releases the lock of ``reserved`` a moment before the slot when the session of a killed load ends.
        """
        ends = time.monotonic() + QUIET_SECONDS
        while (found := self.slot(name)) is not None and found.active_pid is not None and time.monotonic() < ends:
            time.sleep(_TRY_SECONDS)
        return found

    def create_slot(self, name: str) -> None:
        """Create a slot that delivers the changes of this database; nothing happens when it exists.

        The call waits until all transactions that run at its beginning have ended.
        """
        self._create("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [name])

    def create_publication(self, name: str, table: Sequence[str]) -> None:
        """Create a publication of one table, given by schema and name; nothing happens when it exists."""
        from psycopg import sql

        statement = sql.SQL("CREATE PUBLICATION {} FOR TABLE ONLY {}")
        self._create(statement.format(sql.Identifier(name), sql.Identifier(*table)), [])

    def add_to_publication(self, name: str, table: Sequence[str]) -> None:
        """Add a table, given by schema and name, to a publication; nothing happens when it has the table."""
        from psycopg import sql

        statement = sql.SQL("ALTER PUBLICATION {} ADD TABLE ONLY {}")
        self._create(statement.format(sql.Identifier(name), sql.Identifier(*table)), [])

    def remove_from_publication(self, name: str, table: Sequence[str]) -> bool:
        """Remove a table, given by schema and name, from a publication; return whether it had the table."""
        from psycopg import sql

        listed = "SELECT FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s AND tablename = %s"
        if not self.rows(listed, [name, *table]):
            return False
        statement = sql.SQL("ALTER PUBLICATION {} DROP TABLE ONLY {}")
        with guarded(self.database):
            self._connection.execute(statement.format(sql.Identifier(name), sql.Identifier(*table)))
        return True

    def _create(self, statement: Any, parameters: Sequence[Any]) -> None:
        import psycopg

        with guarded(self.database), contextlib.suppress(psycopg.errors.lookup(_EXISTS)):
            self._connection.execute(statement, parameters or None)

    @contextlib.contextmanager
    def locked(self, table: Sequence[str]) -> Iterator[None]:
        """Keep a table, given by schema and name, from being altered or truncated; reads and writes go on."""
        from psycopg import sql

        statement = sql.SQL("LOCK TABLE ONLY {} IN ACCESS SHARE MODE").format(sql.Identifier(*table))
        with guarded(self.database), self._connection.transaction():
            self._connection.execute(statement)
            yield

    def drop_slot(self, name: str) -> bool:
        """Drop a slot; return whether it existed.

        A load that has just failed may still read the slot: the call waits for at most ``QUIET_SECONDS``. Raises
        PipelineError when the slot is in use after that.
        """
        if self._is_reserved(name, QUIET_SECONDS):
            self.rows(f"SELECT pg_advisory_unlock({_LOCK})", [name])
        self.idle_slot(name)
        return bool(self.rows(f"SELECT pg_drop_replication_slot(slot_name) {_SLOTS}", [name]))

    def drop_publication(self, name: str) -> bool:
        """Drop a publication; return whether it existed."""
        from psycopg import sql

        exists = bool(self.rows("SELECT FROM pg_publication WHERE pubname = %s", [name]))
        with guarded(self.database):
            self._connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(name)))
        return exists

    def advance(self, slot: str, lsn: int) -> None:
        """Confirm all changes of a slot up to an LSN, so that the server need not keep them."""
        self.rows("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", [slot, lsn_text(lsn)])

    @contextlib.contextmanager
    def reserved(self, slot: str, wait_seconds: int | None) -> Iterator[bool]:
        """Keep other loads, and questions for the lag, from reading a slot; yield whether it is reserved.

        With 0 as ``wait_seconds``, yield False when the slot is reserved elsewhere. Otherwise wait, and raise
        PipelineError after ``wait_seconds``; None waits without a limit. A wait is logged with the session that has the
        slot. PostgreSQL itself refuses a second reader with an error, at once.
        """
        if not self._is_reserved(slot, QUIET_SECONDS if wait_seconds != 0 else 0.0):
            if wait_seconds == 0:
                yield False
                return
            _LOG.warning("waiting for the slot %s of %s, which %s reads", slot, self.database.place, self._reader(slot))
            if wait_seconds is not None:
                self.rows("SELECT set_config('lock_timeout', %s, false)", [f"{wait_seconds}s"])
            self.rows(f"SELECT pg_advisory_lock({_LOCK})", [slot])
            if wait_seconds is not None:
                self.rows("SELECT set_config('lock_timeout', '0', false)")
        try:
            yield True
        finally:
            with contextlib.suppress(PipelineError):  # the lock also ends with the connection
                self.rows(f"SELECT pg_advisory_unlock({_LOCK})", [slot])

    def _is_reserved(self, slot: str, seconds: float) -> bool:
        """Try for ``seconds`` to reserve a slot; return whether this connection has reserved it."""
        ends = time.monotonic() + seconds
        while not self.rows(f"SELECT pg_try_advisory_lock({_LOCK})", [slot])[0][0]:
            if time.monotonic() >= ends:
                return False
            time.sleep(_TRY_SECONDS)
        return True

    def _reader(self, slot: str) -> str:
        """Return a text about the session that has reserved a slot."""
        found = self.rows(_READER, [slot])
        if not found:
            return "another session"
        pid, user, program, place, since = (text or "" for text in found[0])
        where, what = f" at {place}" if place else "", f" ({program})" if program else ""
        begun = f", connected since {since} UTC," if since else ""  # a user without pg_read_all_stats does not see it
        return f"the session {pid} of {user}{where}{what}{begun}"

    def messages(self, slot: str, publication: str, until: int, count: int | None) -> Generator[bytes, None, None]:
        """Yield the messages of pgoutput that a slot has not confirmed, whole transactions in the order of commits.

        The messages end with the transaction that is committed at the LSN ``until`` or with which at least ``count``
        messages are yielded (None: any number). These changes are not confirmed: the next call yields them again.
        """
        from psycopg import sql

        names = sql.Identifier(publication).as_string(self._connection)
        given = {"slot": slot, "until": lsn_text(until), "count": count, "names": names}
        query = sql.SQL(
            "COPY (SELECT data FROM pg_logical_slot_peek_binary_changes({slot}, {until}, {count}, "
            "'proto_version', '1', 'publication_names', {names})) TO STDOUT (FORMAT binary)"
        ).format(**{name: sql.Literal(value) for name, value in given.items()})
        with guarded(self.database), self._connection.cursor() as cursor, cursor.copy(query) as copy:
            copy.set_types(["bytea"])
            for (data,) in copy.rows():
                yield data


@contextlib.contextmanager
def connected(database: Database) -> Iterator[Server]:
    """Connect to the server of a table.

    Raises PipelineError, which names the database and the reason, when the connection fails.
    """
    with _connection(database, options=f"{_OPTIONS} {_TEXTS}") as connection:
        if connection.info.server_version >= _IDLE_SESSIONS:  # the connection may hold a lock during a long load
            connection.execute("SELECT set_config('idle_session_timeout', '0', false)")
        yield Server(database, connection)


@contextlib.contextmanager
def exported_snapshot(database: Database, name: str) -> Iterator[tuple[str, int]]:
    """Yield a snapshot of the database and its LSN: the snapshot has exactly the transactions that were committed
    before this LSN.

    The snapshot is valid as long as the context is open. The snapshot comes from a temporary slot, whose name begins
    with ``name``: only the creation of a slot relates a snapshot to an LSN. The call waits until all transactions that
    run at its beginning have ended.
    """
    with _connection(database, options=_OPTIONS, replication="database") as connection:
        slot = f"{name[:54]}_{secrets.token_hex(4)}"
        command = f'CREATE_REPLICATION_SLOT "{slot}" TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT'
        with guarded(database):
            found = connection.pgconn.exec_(command.encode())
            if found.ntuples != 1:
                raise _error(connection, found)
        point, snapshot = found.get_value(0, 1), found.get_value(0, 2)
        assert point is not None
        assert snapshot is not None
        yield snapshot.decode(), lsn_of(point.decode())


def _error(connection: Any, result: Any) -> Exception:
    import psycopg

    return psycopg.errors.error_from_result(result, encoding=connection.info.encoding)


@contextlib.contextmanager
def _connection(database: Database, **more: Any) -> Iterator[psycopg.Connection[Any]]:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise PipelineError(missing_extra(error) or str(error)) from None
    with guarded(database):
        program = f"paimon-lake, process {os.getpid()} on {socket.gethostname()}"
        connection = psycopg.connect(database.url.reveal(), autocommit=True, fallback_application_name=program, **more)
    try:
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def guarded(database: Database) -> Iterator[None]:
    """Replace errors of psycopg by a PipelineError, which has no URL and no password and says what to do."""
    import psycopg

    try:
        yield
        return
    except psycopg.Error as error:
        reason = error.diag.message_primary or str(error)
        hint, advice = error.diag.message_hint, _ADVICE.get(error.sqlstate or "", "")
        kind = TookTooLong if error.sqlstate == _CANCELED else PipelineError
    # Raised here, and not in the except block, so that the error of the driver is not attached to the new error.
    text = "; ".join(one for one in (reason, advice or hint) if one)
    raise kind(f"{database.name}: {scrubbed(' '.join(text.split()), database.secrets)[:500]}")
