"""Event storage: stores Dagster's events in SQLite, with the events of many partitions in one transaction.

Dagster records two events for every partition of a run. Dagster's own SQLite storage opens two databases for each
event, which takes about 15 ms; so a run of 92 days of two tables needs more time for its events than for its rows. With
DAGSTER_EVENT_BATCH_SIZE, Dagster passes events in batches, and this class writes a batch in two transactions. This
class does not wait for the disk after each event. So the newest events may be lost when the machine loses power; but
the databases stay valid, and the tables record what was loaded. The files have the format of Dagster's own storage, so
a lake can go back to that storage at any time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster._core.events import ASSET_EVENTS
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sqlite import SqliteEventLogStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.event import listen

if TYPE_CHECKING:
    from dagster import EventLogEntry
    from dagster._serdes import ConfigurableClassData

BATCH = "DAGSTER_EVENT_BATCH_SIZE"
"""The environment variable with which Dagster passes events to the storage in batches."""
BATCH_SIZE = "1000"


@lru_cache(maxsize=64)
def _engine(url: str) -> Engine:
    """Return the engine of a database; the engine keeps compiled statements and no open connection."""
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS})
    listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=NORMAL"))
    return engine


class BatchedSqliteEvents(SqliteEventLogStorage):
    """The SQLite storage of events under DAGSTER_HOME, which writes batches."""

    @classmethod
    def config_type(cls) -> Any:
        """Return the options in dagster.yaml: none."""
        return {}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> BatchedSqliteEvents:
        """Return the storage, with the paths of Dagster's own storage; set ``BATCH`` if it is not set."""
        os.environ.setdefault(BATCH, BATCH_SIZE)
        home = Path(os.environ["DAGSTER_HOME"]).expanduser()  # Dagster's commands require DAGSTER_HOME
        return cls(str(home / "history" / "runs"), inst_data)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        """Open a transaction on the database of a run or of all runs; Dagster's own class creates new databases."""
        if shard not in self._initialized_dbs:
            with super()._connect(shard):
                pass
        with self._db_lock, _engine(self.conn_string_for_shard(shard)).begin() as connection:
            yield connection

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store the events of one run: asset events together, all other events one by one."""
        assets = [event for event in events if event.dagster_event_type in ASSET_EVENTS]
        for event in events:
            if event.dagster_event_type not in ASSET_EVENTS:
                self.store_event(event)
        if not assets:
            return
        insert, rows = SqlEventLogStorageTable.insert(), [self._event_to_row(event) for event in assets]
        with self.run_connection(assets[0].run_id) as connection:
            connection.execute(insert, rows)
        with self.index_transaction() as connection:
            added = [connection.execute(insert, row) for row in rows]
            numbers = [row.inserted_primary_key[0] for row in added if row.inserted_primary_key is not None]
            self._store_asset_event_tags(connection, assets, numbers)
            # A later event of the same type replaces the whole record about the asset, so only the last event of each
            # type is written into the record.
            last = {(e.dagster_event_type, e.get_dagster_event().asset_key): n for n, e in enumerate(assets)}
            for number in sorted(last.values()):
                self._store_asset_event(connection, assets[number], numbers[number])
