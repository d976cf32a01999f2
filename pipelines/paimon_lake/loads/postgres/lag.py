"""Lag: how far tables that follow PostgreSQL are behind their server, found without Spark and without reading rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from paimon_core.errors import PaimonError
from paimon_lake.declarations import Settings
from paimon_lake.declarations.part_spec import loaded_spec
from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.ledger.recorded_position import recorded_position
from paimon_lake.loads.postgres.rules import check_confirmed, check_position, check_server, check_slot, check_tables
from paimon_lake.loads.postgres.slot_keys import named_keys, naming_keys
from paimon_lake.protocol import PipelineError, some
from paimon_lake.sources.database import Database, open_database
from paimon_lake.sources.lag import Answer, Lag
from paimon_lake.sources.postgres.found_tables import found_tables
from paimon_lake.sources.postgres.log_end import SEARCH_MESSAGES, LogEnd, log_after
from paimon_lake.sources.postgres.lsn import lsn_text
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server, ServerFacts, connected
from paimon_lake.sources.postgres.source_table import read_table
from paimon_lake.sources.postgres.table_positions import TablePositions, position_of

IDLE_BYTES = 16 << 20
"""A load without changes commits its position only when the log grew by more than this number of bytes since the last
position.
"""
IDLE_MESSAGES = SEARCH_MESSAGES // 2
"""A load without changes also commits its position when it has read this many messages of other tables: a search for
the lag ends after ``SEARCH_MESSAGES`` messages."""
CONNECT_SECONDS = 5
"""The time-out of connecting, unless the URL sets ``connect_timeout``."""


def postgres_lags(settings: Settings, names: Sequence[str], deadline: float) -> Iterator[Answer]:
    """Yield the lag of each table or part of a table; all of them have the same ``source.url``, and one connection
    reads all lags.

    ``names`` are load names. ``deadline`` is a monotonic time, after which no further table is asked.
    """
    sources = {name: cast(PostgresChangesSource, loaded_spec(settings.tables, name).source) for name in names}
    try:
        databases = {name: _database(settings, source) for name, source in sources.items()}
        first = next(iter(databases.values()))
        with connected(replace(first, name=first.place)) as server:
            facts = server.facts()
            for name, source in sources.items():
                if time.monotonic() >= deadline:
                    yield (
                        name,
                        PipelineError(f"{databases[name].name}: the lag is not known: other tables took too long"),
                    )
                    continue
                try:
                    with naming_keys(source.database):
                        lag = _lag(settings, name, source, replace(server, database=databases[name]), facts)
                    yield name, lag
                except (PipelineError, PaimonError) as error:  # the sources of the other tables are still asked
                    yield name, error
    except PipelineError as error:
        text = str(error)
        yield from ((name, PipelineError(named_keys(text, one.database))) for name, one in sources.items())


def lag_after(position: Position | TablePositions, held_bytes: int | None, log: LogEnd) -> Lag:
    """Return the lag of a table at a position; ``held_bytes``: the bytes of log that the server keeps for the slot."""
    return Lag(
        lsn_text(position.lsn),
        log.has_changes or log.size_bytes >= IDLE_BYTES,
        log.size_bytes if log.has_changes else 0,
        log.oldest_seconds,
        held_bytes,
        "how long is not known, because the log is too long to search it" if log.oldest_seconds is None else "",
    )


def _database(settings: Settings, source: PostgresChangesSource) -> Database:
    return open_database(
        source.url, table=source.name, query="", folder=settings.folder, connect_seconds=CONNECT_SECONDS
    )


def _lag(settings: Settings, name: str, source: PostgresChangesSource, server: Server, facts: ServerFacts) -> Lag:
    """Return the lag of one table; raises PipelineError when a load of the table would be refused."""
    check_server(server.database.name, facts)
    entry = recorded_position(settings, name)
    while entry is not None:
        try:
            return _lag_at(position_of(entry), source, server, facts)
        except PipelineError:
            before, entry = entry, recorded_position(settings, name)
            if entry == before:
                raise  # the error is not due to a concurrent load
    return Lag("", True)


def _lag_at(
    position: Position | TablePositions, source: PostgresChangesSource, server: Server, facts: ServerFacts
) -> Lag:
    text, facts = server.database.name, replace(facts, lsn=server.newest_lsn())
    names = found_tables(server, source.table) if source.source_column else [source.name]
    positions = position.tables if isinstance(position, TablePositions) else {source.name: position}
    check_tables(text, positions, names)
    for name, one in positions.items():
        check_position(text, one, facts, read_table(server, name.split(".")), one.publication_version)
    slot = server.slot(position.slot)
    reader = None if slot is None else slot.active_pid
    slot = check_slot(
        text, position.slot, slot and replace(slot, active_pid=None), facts.database, declared=bool(source.slot)
    )
    check_confirmed(text, position, slot)
    with server.reserved(position.slot, 0) as is_reserved:
        if is_reserved and reader is None:
            lag = lag_after(position, slot.held_bytes, log_after(server, position))
            later = [one for one in names if one not in positions]
            return replace(lag, is_behind=True, note=f"not copied yet: {some(later)}") if later else lag
    size_bytes = max(0, server.newest_lsn() - position.lsn)
    note = f"the slot is read now, by {f'the process {reader} of the server' if reader is not None else 'a load'}"
    return Lag(lsn_text(position.lsn), size_bytes > 0, size_bytes, None, slot.held_bytes, note, is_read=True)
