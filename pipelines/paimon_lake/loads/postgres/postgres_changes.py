"""PostgreSQL changes: loads that copy a table of PostgreSQL once, and then read the changes of its log.

The snapshot of each load has the position in the log up to which it has all transactions (decision 0053). A slot keeps
the log from the position on: it is advanced only to positions that are committed, before the next changes are read. So
what is committed is not read again, and what is not committed is.

The first copy sees the snapshot that the creation of a temporary slot exports, which has exactly the transactions
before its LSN. The lasting slot is created earlier, so it has all transactions after that.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_core.spark.reference import TableReference
from paimon_lake.declarations.sources import PostgresChangesSource
from paimon_lake.loads.database import DatabaseRead, naming, parts_of, split_column, write_read
from paimon_lake.loads.ledger.load_snapshot import POSITION
from paimon_lake.loads.postgres.lag import IDLE_BYTES, lag_after
from paimon_lake.loads.postgres.log_batch import LogBatch, SharedRead, read_batch
from paimon_lake.loads.postgres.names import PUBLICATION, SLOT, Names, names_of
from paimon_lake.loads.postgres.rules import (
    RELOAD,
    added_columns,
    check_confirmed,
    check_generated,
    check_key,
    check_position,
    check_publication,
    check_server,
    check_slot,
)
from paimon_lake.loads.postgres.stored_rows import StoredRows
from paimon_lake.loads.replacement import Replace
from paimon_lake.loads.row_shape import shape_of
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import KIND, PipelineError
from paimon_lake.sources.database import open_database
from paimon_lake.sources.database_rows import rows_of_database
from paimon_lake.sources.files.columns import required_columns
from paimon_lake.sources.files.rejects import Parsed
from paimon_lake.sources.postgres.change_rows import ChangeRows
from paimon_lake.sources.postgres.log_end import LogEnd, log_after
from paimon_lake.sources.postgres.lsn import lsn_text
from paimon_lake.sources.postgres.net_changes import NetBatch, net_changes
from paimon_lake.sources.postgres.pgoutput import Decoder, Relation
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server, ServerFacts, connected, exported_snapshot
from paimon_lake.sources.postgres.source_table import SourceTable, read_publication, read_table

RESERVE_SECONDS = 60
"""How long a load waits for another reading of its slot; a question for the lag reads it for at most 10 s."""
_SLICE_ROWS = 16_384
"""How many changes a task converts at once."""


@dataclass(frozen=True)
class _Source:
    """The source of a load as it is now, with the slot and publication to use."""

    name: tuple[str, ...]
    facts: ServerFacts
    table: SourceTable
    read: DatabaseRead
    key: tuple[str, ...]
    """The columns of the source that are the primary key of the table."""
    names: Names

    @property
    def text(self) -> str:
        return self.read.database.name

    def position(self, lsn: int, version: str, known: Collection[str]) -> Position:
        """Return the position ``lsn`` in this source; ``version``: of its publication, ``known``: see ``Position``."""
        columns = {}
        for declared, name in zip(self.read.rows.schema.names, self.read.rows.columns, strict=True):
            column = self.table.columns[name]
            columns[declared] = [name, column.number, column.type_oid, column.type_modifier]
        return Position(
            lsn,
            self.facts.system,
            self.facts.timeline,
            self.facts.database,
            ".".join(self.name),
            self.table.oid,
            columns,
            list(known),
            self.names.slot,
            self.names.publication,
            version,
        )


class PostgresChangesLoads:
    """The loads of a table from a table of PostgreSQL, batch by batch until what the log had when the first began.

    ``shared``: what the tables of one slot share; None for a table with a slot of its own.
    """

    def __init__(self, source: PostgresChangesSource, shared: SharedRead | None = None) -> None:
        self._source = source
        self._shared = shared
        self._seen: tuple[int, int] = (0, 0)
        """A position, and the LSN up to which the log has no changes of the table after it."""
        self._until: int | None = None
        """The end of the log when the first load of this run was planned."""
        self._ends_at = time.monotonic() + source.run_seconds

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the copy of the source or the next batch of changes, or why there is none."""
        database = open_database(self._source.url, table=self._source.table, query="", folder=step.settings.folder)
        with naming(step), connected(database) as server:
            source = self._opened(step, server)
            self._until = source.facts.lsn if self._until is None else self._until
            if step.ledger.position is None and not step.reload:
                self._check_empty(step)
            alone = server.reserved(source.names.slot, RESERVE_SECONDS)
            with alone if self._shared is None else contextlib.nullcontext():  # the run has reserved a shared slot
                if step.ledger.position is None or step.reload:
                    return self._copy(step, server, source)
                return self._changes(step, server, source, Position.from_json(step.ledger.position))

    def _opened(self, step: LoadStep, server: Server) -> _Source:
        database, name = server.database, tuple(self._source.table.split("."))
        facts = server.facts()
        check_server(database.name, facts)
        table, shape = read_table(server, name), shape_of(step.spec, self._source, step.table, step.lookups)
        required = required_columns(shape.file_schema, shape.rules) | set(step.spec.primary_key)
        advice = "remove it from the declaration"
        rows = rows_of_database(
            database.name, table.schema(), shape.file_schema, required, is_postgresql=True, advice=advice
        )
        by_name = dict(zip(shape.file_schema.names, rows.columns, strict=True))
        key = tuple(by_name[column] for column in step.spec.primary_key)
        check_key(database.name, table, key)
        check_generated(database.name, table, rows.columns)
        split = self._source.split
        split = split and split_column(database.name, table.schema(), split, is_postgresql=True)
        read = DatabaseRead(database, shape, rows, (), split)
        names = names_of(step.settings, step.spec.name, self._source, step.ledger.position)
        return _Source(name, facts, table, read, key, names if self._shared is None else self._shared.names)

    def _check_empty(self, step: LoadStep) -> None:
        latest = step.table.latest_snapshot()
        if latest is not None and latest.total_record_count:
            raise PipelineError(f"the table has rows of another source: {RELOAD} and replaces these rows")

    # -- the copy

    def _copy(self, step: LoadStep, server: Server, source: _Source) -> PlannedLoad:
        version = self._prepared(server, source)
        again = [source.text]
        return PlannedLoad(
            lambda: self._write_copy(step, source, version),
            replace=Replace(everything=True),
            rejects_of=again,
            has_more=True,
        )

    def _prepared(self, server: Server, source: _Source) -> str:
        """Create the publication and the slot where they are missing; return the version of the publication."""
        names, text = source.names, source.text
        if PUBLICATION in names.made:
            server.create_publication(names.publication, source.name)
            if self._shared is not None:
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

    def _write_copy(self, step: LoadStep, source: _Source, version: str) -> WriteResult:
        database = source.read.database
        with (
            naming(step),
            exported_snapshot(database, source.names.slot) as (snapshot, lsn),
            connected(database) as server,
            server.locked(source.name),
        ):
            if read_table(server, source.name) != source.table:
                raise PipelineError(f"{source.text} was altered or truncated at the same time: repeat the load")
            parts = [""]
            if source.read.split:
                with database.connected(snapshot) as connection:
                    parts = parts_of(connection, source.read, self._source.parts)
            written = write_read(step, source.read, parts, snapshot, overwrites=True)
            return replace(
                written, entries={POSITION: json.dumps(source.position(lsn, version, source.table.columns).to_json())}
            )

    # -- the changes

    def _changes(
        self, step: LoadStep, server: Server, source: _Source, position: Position
    ) -> PlannedLoad | NothingToLoad:
        assert self._until is not None
        added, version = self._checked(server, source, position)
        told: dict[str, str | int | float] = {"position": lsn_text(position.lsn)}
        batch = self._batch(server, source, position)
        if isinstance(batch, str):
            return NothingToLoad([batch], told | _lag(server, position))
        found = net_changes(batch.transactions, self._decoder(source, position), position.lsn)
        is_moved = not batch.is_last if self._shared is None else self._shared.moves_all
        if not found.changes and not is_moved and batch.end - position.lsn < IDLE_BYTES:
            self._seen = position.lsn, batch.end
            if batch.is_last:
                told |= _lag(server, position, LogEnd(batch.end - position.lsn, False, 0.0))
            return NothingToLoad([f"no changes of {source.text} up to {lsn_text(batch.end)}"], told)
        entry = {POSITION: json.dumps(source.position(batch.end, version, position.known).to_json())}
        counts = {"changes": found.changes, "transactions": found.transactions}
        return PlannedLoad(
            lambda: self._write(step, source, found, added),
            entry,
            {"position": lsn_text(batch.end), **counts},
            Replace(everything=True) if found.is_truncated else None,
            has_more=True,
        )

    def _batch(self, server: Server, source: _Source, position: Position) -> LogBatch | str:
        """Return the batch to load, or why there is none."""
        shared, until = self._shared, self._until
        assert until is not None
        if shared is None:
            if position.lsn < until and time.monotonic() < self._ends_at:
                names = source.names.slot, source.names.publication
                return read_batch(server, self._source, names, [source.table.oid], position.lsn, until)
        elif shared.batch is not None and self.reached(position) >= shared.batch.start:
            if position.lsn < shared.batch.end:
                return shared.batch
        elif shared.batch is not None:
            return "another table of the slot is behind, or was loaded at the same time"
        else:
            until = shared.until
        if self.reached(position) < until:
            return f"source.run_seconds is over: {until - position.lsn:,} bytes of the log are left to the next load"
        return f"all changes of {source.text} up to {lsn_text(position.lsn)} are loaded"

    def reached(self, position: Position) -> int:
        """Return the LSN up to which the log has no further changes of the table, as far as this run has read it."""
        return self._seen[1] if self._seen[0] == position.lsn else position.lsn

    def _checked(self, server: Server, source: _Source, position: Position) -> tuple[list[str], str]:
        """Check that the source continues at the position, and advance its slot to it unless other tables share it.

        Returns the columns that are ignored, and the version of the publication.
        """
        text, names, table = source.text, source.names, source.table
        for what, name in ((SLOT, names.slot), (PUBLICATION, names.publication)):
            if getattr(position, what) != name:
                raise PipelineError(
                    f"source.{what} is {name!r}, and changes came from {getattr(position, what)!r}: run `paimon-lake "
                    f"release` if loads made that {what}, because nothing else drops it, and {RELOAD}"
                )
        found = read_publication(server, names.publication, source.name, table.oid)
        columns, declared = source.read.rows.columns, PUBLICATION not in names.made
        version = check_publication(text, names.publication, found, columns, declared=declared).version
        check_position(text, position, source.facts, table, version)
        state = server.slot(names.slot)
        slot = check_slot(text, names.slot, state, source.facts.database, declared=SLOT not in names.made)
        check_confirmed(text, position, slot)
        if missing := [name for name in source.read.rows.schema.names if name not in position.columns]:
            raise PipelineError(f"{text}: the column {missing[0]!r} is declared and was not copied: {RELOAD}")
        now = [(c.name, c.type_oid, c.type_modifier, c.name in table.identity_key) for c in table.columns.values()]
        added = self._added(source, position, Relation(table.identity, now))
        for name, number, *_ in position.columns.values():
            if table.columns[name].number != number:
                raise PipelineError(f"{text}: the column {name!r} was dropped and added again: {RELOAD}")
        if self._shared is None and slot.confirmed is not None and slot.confirmed < position.lsn:
            server.advance(names.slot, position.lsn)
        return added, version

    def _added(self, source: _Source, position: Position, relation: Relation) -> list[str]:
        ignore = self._source.schema_changes == "ignore"
        return added_columns(source.text, position, relation, source.key, ignore=ignore)

    def _decoder(self, source: _Source, position: Position) -> Decoder:
        return Decoder(
            source.table.oid,
            source.read.rows.columns,
            source.key,
            lambda relation: self._added(source, position, relation),
            self._source.transaction_bytes,
        )

    def _write(self, step: LoadStep, source: _Source, found: NetBatch, added: list[str]) -> WriteResult:
        ignored, batch, rows = tuple(added), found.batch, source.read.rows
        retries = step.lookups is not None and step.lookups.retries and not found.is_truncated
        if not len(batch) and not retries:
            return WriteResult(ignored_columns=ignored)
        latest = step.table.latest_snapshot()
        stored = StoredRows(TableReference.of(step.table.context), None if latest is None else latest.id)
        payload = pa.BufferOutputStream()
        with pa.ipc.new_stream(payload, batch.schema) as writer:
            writer.write_batch(batch)
        written = write_parts(
            step.spark(),
            [payload.getvalue().to_pybytes()] if len(batch) else [],
            _Reader(ChangeRows(rows, step.spec.primary_key), stored, source.text),
            step.table,
            step.rejects,
            step.stamp,
            kinds=KIND,
            overwrites=found.is_truncated,
            lookups=step.lookups,
        )
        return replace(written, ignored_columns=ignored)


@dataclass(frozen=True)
class _Reader:
    """Converts a batch of changes in a task."""

    rows: ChangeRows
    stored: StoredRows
    name: str
    """The name of the source in rejects."""

    def __call__(self, payload: bytes) -> Iterator[Parsed]:
        for batch in pa.ipc.open_stream(payload):
            for start in range(0, len(batch), _SLICE_ROWS):
                yield replace(self.rows.parsed(batch.slice(start, _SLICE_ROWS), self.stored), file=self.name)


def _lag(server: Server, position: Position, log: LogEnd | None = None) -> dict[str, int | float]:
    """Return the numbers of the lag; without those that the server refuses, because the load has committed already.

    ``log``: what is known of the log after the position, None when it must be searched.
    """
    try:
        slot = server.slot(position.slot)
        held_bytes = None if slot is None else slot.held_bytes
        return lag_after(position, held_bytes, log or log_after(server, position)).details
    except PipelineError:
        return {}
