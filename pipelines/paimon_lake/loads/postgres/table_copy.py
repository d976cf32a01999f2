"""Table copy: the load that copies a table of PostgreSQL and records the LSN from which its changes are read.

The copy sees the snapshot that the creation of a temporary slot exports, which has exactly the transactions before its
LSN. The lasting slot is created earlier, so it has all transactions after this LSN.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.database import DatabaseRead, naming, parts_of, write_read
from paimon_lake.loads.ledger.load_snapshot import POSITION
from paimon_lake.loads.postgres.names import PUBLICATION, SLOT
from paimon_lake.loads.postgres.opened_source import OpenedSource
from paimon_lake.loads.postgres.rules import check_publication, check_slot
from paimon_lake.loads.replacement import Replace
from paimon_lake.loads.shapes.added_columns import hold_columns
from paimon_lake.loads.step import LoadStep, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server, connected, exported_snapshot
from paimon_lake.sources.postgres.source_table import read_publication, read_table

WriteCopy = Callable[[LoadStep, DatabaseRead, Sequence[str], str, int], WriteResult]
"""Writes the rows of the source, with one task for the rows of each condition; the last arguments are the snapshot of
the server that the tasks read, and its LSN.
"""


def write_all(step: LoadStep, read: DatabaseRead, parts: Sequence[str], snapshot: str, _: int) -> WriteResult:
    """Write the rows of the source as all rows of the table."""
    return write_read(step, read, parts, snapshot, overwrites=True)


def planned_copy(
    step: LoadStep,
    server: Server,
    source: OpenedSource,
    options: PostgresChangesSource,
    *,
    is_shared: bool,
    write: WriteCopy = write_all,
) -> PlannedLoad:
    """Return the load that replaces all rows by the source rows; ``is_shared``: whether tables share the slot.

    Creates the publication and the slot if they are missing. Raises TableAltered if the table lacked columns that
    changes would have added.
    """
    hold_since(step, server, source, options, _recorded(step))
    version = prepared(server, source, is_shared=is_shared)
    again = [source.text]
    return PlannedLoad(
        lambda: _write(step, source, version, options.parts, write),
        replace=Replace(everything=True),
        rejects_of=again,
        has_more=True,
    )


def hold_since(
    step: LoadStep, server: Server, source: OpenedSource, options: PostgresChangesSource, position: Position | None
) -> None:
    """With ``schema_changes: apply``, add the columns that the source got since a position to the table."""
    if position is not None and options.schema_changes == "apply":
        types = source.columns.types_since(server, position)
        hold_columns(step, types, source.text)


def _recorded(step: LoadStep) -> Position | None:
    try:
        return None if step.ledger.position is None else Position.from_json(step.ledger.position)
    except PipelineError:  # a reload repairs a damaged position
        return None


def prepared(server: Server, source: OpenedSource, *, is_shared: bool) -> str:
    """Create the publication and the slot if they are missing; return the version of the publication."""
    names, text = source.names, source.text
    if PUBLICATION in names.made:
        server.create_publication(names.publication, source.name)
        if is_shared:
            server.add_to_publication(names.publication, source.name)
    found = read_publication(server, names.publication, source.name, source.table.oid)
    declared = PUBLICATION not in names.made
    columns = source.read.rows.columns
    version = check_publication(text, names.publication, found, columns, declared=declared).version
    if SLOT in names.made:
        state = server.slot(names.slot)
        if state is not None and state.wal_status == "lost":
            server.drop_slot(names.slot)
            state = None
        if state is None:
            server.create_slot(names.slot)
    declared = SLOT not in names.made
    check_slot(text, names.slot, server.slot(names.slot), source.facts.database, declared=declared)
    return version


def _write(step: LoadStep, source: OpenedSource, version: str, parts: int, write: WriteCopy) -> WriteResult:
    database = source.read.database
    with (
        naming(step),
        exported_snapshot(database, source.names.slot) as (snapshot, lsn),
        connected(database) as server,
        server.locked(source.name),
    ):
        if read_table(server, source.name) != source.table:
            raise PipelineError(f"{source.text} was altered or truncated at the same time: repeat the load")
        texts = [""]
        if source.read.split:
            with database.connected(snapshot) as connection:
                texts = parts_of(connection, source.read, parts)
        written = write(step, source.read, texts, snapshot, lsn)
        position = source.position(lsn, version, source.table.columns)
        return replace(written, entries={**written.entries, POSITION: json.dumps(position.to_json())})
