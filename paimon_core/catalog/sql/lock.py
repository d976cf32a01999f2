"""SqlLock: locks of Paimon's JDBC catalog, one row for each locked table, and publishers that use them (format 14.8).

A lock is valid for the time that its owner may wait for a lock (``lock-acquire-timeout``). A writer that is paused for
longer can lose the lock. So the publisher does not rely on the lock: it also creates snapshot files with conditional
writes. The lock protects against writers that do not use conditional writes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.sql.connection import SQLITE, SqlConnection
from paimon_core.catalog.sql.names import LOCKS, SqlNames, table_properties
from paimon_core.errors import InvalidRequest, PaimonError, StorageError, TableNotFound
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.schema_store import SchemaPublisher, SchemaStore
from paimon_core.metadata.stores.snapshot_store import Publisher
from paimon_core.schema import TableSchema
from paimon_core.storage.paths import MAIN, TablePaths
from paimon_core.storage.storage import Storage

FIRST_PAUSE_MILLIS = 10
LONGEST_ID = 255


@dataclass(frozen=True)
class SqlLock:
    """The locks of the tables of one catalog."""

    connection: SqlConnection
    key: str
    timeout_millis: int
    """How many milliseconds to wait for a lock; a lock that is not released becomes invalid after the same time."""
    max_sleep_millis: int
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False, repr=False)

    @contextlib.contextmanager
    def held(self, *names: Identifier) -> Iterator[None]:
        """Hold the locks of the tables in the ``with`` block; raises StorageError if a lock is not free in time.

        The locks are always taken in the same order.
        """
        with contextlib.ExitStack() as stack:
            for name in sorted(set(names), key=lambda n: (n.database, n.table)):
                stack.enter_context(self._one(f"{self.key}.{name.database}.{name.table}"))
            yield

    @contextlib.contextmanager
    def _one(self, lock_id: str) -> Iterator[None]:
        if len(lock_id) > LONGEST_ID:
            raise InvalidRequest(f"lock {lock_id!r:.80} has {len(lock_id)} characters, the limit is {LONGEST_ID}")
        stamp = self._acquire(lock_id)
        try:
            yield
        finally:
            with contextlib.suppress(PaimonError):  # the lock becomes invalid anyway
                self._release(lock_id, stamp)

    def _acquire(self, lock_id: str) -> str:
        """Take the lock, with growing pauses between attempts.

        Return the time in its row, which identifies this lock.
        """
        waited, pause = 0, FIRST_PAUSE_MILLIS
        while True:
            stamp = self._try(lock_id)
            if stamp is not None:
                return stamp
            if waited > self.timeout_millis:
                raise StorageError(
                    f"lock {lock_id} of catalog database {self.connection} was not free within "
                    f"{self.timeout_millis} ms (option lock-acquire-timeout); nothing was written",
                    lock=lock_id,
                )
            pause = min(pause, self.max_sleep_millis)
            self.sleep(pause / 1000)
            waited += pause
            pause *= 2

    def _try(self, lock_id: str) -> str | None:
        seconds = self.timeout_millis // 1000
        try:
            with self.connection.transaction() as connection:
                connection.execute(sa.delete(LOCKS).where(LOCKS.c.lock_id == lock_id, self._is_stale(connection)))
                connection.execute(sa.insert(LOCKS).values(lock_id=lock_id, expire_time_seconds=seconds))
                return str(connection.execute(sa.select(_taken_at).where(LOCKS.c.lock_id == lock_id)).scalar_one())
        except IntegrityError:
            return None

    def _release(self, lock_id: str, stamp: str) -> None:
        """Delete the row of this process.

        If the lock became invalid and another process took it, the row of the other process is kept.
        """
        with self.connection.transaction() as connection:
            connection.execute(sa.delete(LOCKS).where(LOCKS.c.lock_id == lock_id, _taken_at == stamp))

    def _is_stale(self, connection: sa.Connection) -> sa.ColumnElement[bool]:
        if connection.dialect.name == SQLITE:
            age = sa.cast(sa.func.strftime("%s", "now"), sa.BigInteger) - sa.cast(
                sa.func.strftime("%s", LOCKS.c.acquired_at), sa.BigInteger
            )
        else:
            age = sa.extract("epoch", sa.func.localtimestamp() - LOCKS.c.acquired_at)
        return age > LOCKS.c.expire_time_seconds


_taken_at = sa.cast(LOCKS.c.acquired_at, sa.String)


@dataclass(frozen=True)
class LockedPublisher(Publisher):
    """Creates snapshot files under the table's lock, for writers that do not create snapshot files conditionally."""

    storage: Storage
    lock: SqlLock
    name: Identifier
    root: str
    opened: TableSchema
    """The schema with which the table was opened: its file identifies the table (``metadata.table_identity``)."""

    def publish(self, path: str, snapshot: Snapshot, base: Snapshot | None) -> bool:
        """Return True when the file was created, False when a concurrent writer has used the id.

        Raises StorageError when the lock was not free in time, TableNotFound when the table was renamed or dropped,
        also when another table has its name now: in these cases, no file was created. Raises CommitStateUnknown when it
        is not known whether the file was created.
        """
        with self.lock.held(self.name):
            if not _is_there(self.lock, self.name, SchemaStore(self.storage, TablePaths(self.root)), self.opened):
                raise TableNotFound(
                    f"table {self.name} was renamed or dropped by another process: nothing was committed",
                    table=str(self.name),
                )
            return self.storage.create_exclusive(path, snapshot.to_json().encode())


@dataclass(frozen=True)
class SqlSchemaPublisher(SchemaPublisher):
    """Creates schema files under the table's lock, and updates the properties of the table in the database."""

    lock: SqlLock
    name: Identifier
    opened: TableSchema
    """See ``LockedPublisher``."""

    def publish(self, schemas: SchemaStore, schema: TableSchema, changes: Sequence[Any]) -> bool:
        """Return True when the file was created, False when a concurrent writer has used the id.

        After an interruption, the properties in the database may be older than the schema; the next alteration updates
        them. Raises StorageError when the lock was not free in time, TableNotFound when the table was renamed or
        dropped, also when another table has its name now: in these cases, no file was created. Raises
        CommitStateUnknown when it is not known whether the file was created.
        """
        names = SqlNames(self.lock.connection, self.lock.key)
        if schemas.paths.branch == MAIN:
            table_properties(schema)
        with self.lock.held(self.name):
            main = SchemaStore(schemas.storage, TablePaths(schemas.paths.root))
            if not _is_there(self.lock, self.name, main, self.opened):
                raise TableNotFound(
                    f"table {self.name} was renamed or dropped by another process: nothing was changed",
                    table=str(self.name),
                )
            if not schemas.publish(schema):
                return False
            if schemas.paths.branch == MAIN:
                names.replace_properties(self.name, schema)
            return True


def _is_there(lock: SqlLock, name: Identifier, schemas: SchemaStore, opened: TableSchema) -> bool:
    """Whether the catalog has the name and its table is the one that was opened; exact while the lock is held."""
    return SqlNames(lock.connection, lock.key).has(name) and schemas.holds(opened.untracked)
