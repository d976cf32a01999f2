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
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from paimon_core.spark.reference import TableReference
from paimon_lake.declarations.sources import PostgresChangesSource
from paimon_lake.loads.database import DatabaseRead, naming, parts_of, split_column, write_read
from paimon_lake.loads.ledger.load_snapshot import POSITION
from paimon_lake.loads.postgres.names import PUBLICATION, SLOT, Names, names_of
from paimon_lake.loads.postgres.rules import (
    RELOAD,
    check_confirmed,
    check_generated,
    check_key,
    check_position,
    check_publication,
    check_server,
    check_slot,
    lost_column,
)
from paimon_lake.loads.postgres.source_columns import SourceColumns, sentences
from paimon_lake.loads.postgres.stored_rows import StoredRows
from paimon_lake.loads.replacement import Replace
from paimon_lake.loads.row_shape import shape_of
from paimon_lake.loads.schema_changes import hold
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import KIND, PipelineError, some
from paimon_lake.sources.database import open_database
from paimon_lake.sources.database_rows import DatabaseRows, rows_of_database
from paimon_lake.sources.files.columns import required_columns
from paimon_lake.sources.files.rejects import Parsed
from paimon_lake.sources.postgres.change_rows import ChangeRows, batch_of_changes
from paimon_lake.sources.postgres.lsn import lsn_text
from paimon_lake.sources.postgres.pgoutput import Decoder, LaterColumns, NetChanges, Relation
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server, ServerFacts, connected, exported_snapshot
from paimon_lake.sources.postgres.source_table import SourceTable, read_publication, read_table, type_names

IDLE_BYTES = 16 << 20
"""A load without changes commits its position only when the log has grown by more than this since the last one."""
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
    columns: SourceColumns

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
            self.table.made,
            self.table.file_node,
        )


class PostgresChangesLoads:
    """The loads of a table from a table of PostgreSQL, batch by batch until what the log had when the first began."""

    def __init__(self, source: PostgresChangesSource) -> None:
        self._source = source
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
            if step.ledger.position is None or step.reload:
                self._hold_before_copy(step, server, source)
                return self._copy(step, server, source)
            return self._changes(step, server, source, Position.from_json(step.ledger.position))

    def _opened(self, step: LoadStep, server: Server) -> _Source:
        database, name = server.database, tuple(self._source.table.split("."))
        facts = server.facts()
        check_server(database.name, facts)
        table, shape = read_table(server, name), shape_of(step.spec, self._source, step.table)
        if step.ledger.position is not None:
            folded = {column.casefold() for column in table.columns}
            for column in shape.file_schema.names:
                if column.casefold() not in folded:
                    raise lost_column(database.name, column, table.columns)
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
        columns = SourceColumns(database.name, name, table, key, self._source.schema_changes)
        return _Source(name, facts, table, read, key, names, columns)

    def _check_empty(self, step: LoadStep) -> None:
        latest = step.table.latest_snapshot()
        if latest is not None and latest.total_record_count:
            raise PipelineError(f"the table has rows of another source: {RELOAD} and replaces these rows")

    # -- the copy

    def _hold_before_copy(self, step: LoadStep, server: Server, source: _Source) -> None:
        """Add the columns to the table that the source has got since the position, where changes are applied."""
        if step.ledger.position is None or self._source.schema_changes != "apply":
            return
        try:
            position = Position.from_json(step.ledger.position)
        except PipelineError:  # a reload mends a damaged position
            return
        hold(step.table, source.columns.types_since(server, position), source.text)

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
        columns = source.columns
        kept = {name: column for name, column in position.columns.items() if name in step.table.schema.names}
        position = replace(position, columns=kept, table=".".join(source.name))
        position = replace(position, publication_version=self._checked(step, server, source, position))
        is_behind, ignored = columns.is_behind(position), self._ignored(source, position)
        if is_behind:
            self._until = max(self._until, server.end_of_changes())
        told: dict[str, str | int | float] = {"position": lsn_text(position.lsn), **_lag(server, position)}
        told |= {"ignored_columns": some(ignored)} if ignored else {}
        if position.lsn >= self._until and not is_behind:
            return NothingToLoad([f"all changes of {source.text} up to {lsn_text(position.lsn)} are loaded"], told)
        if time.monotonic() >= self._ends_at:
            rest = f"{self._until - position.lsn:,} bytes of the log are left to the next load"
            return NothingToLoad([f"source.run_seconds is over: {rest}"], told)
        found, is_complete, now = self._read(step, server, source, position)
        if is_complete and not found.changes and is_behind:
            now = self._moved(step, server, source, now, columns.now)
        lsn = max(position.lsn, found.end, self._until if is_complete else 0)
        is_same = now.columns == position.columns
        if not found.changes and is_complete and is_same and lsn - position.lsn < IDLE_BYTES:
            return NothingToLoad([f"no changes of {source.text} up to {lsn_text(lsn)}"], told)
        entry = {POSITION: json.dumps(replace(columns.marked(now), lsn=lsn).to_json())}
        counts = {"changes": found.changes, "transactions": found.transactions}
        types = {field.name: field.type for field in step.table.schema.fields}
        rows = _rows_at(server, source, now)
        return PlannedLoad(
            lambda: self._write(step, source, rows, found, ignored),
            entry,
            {"position": lsn_text(lsn), **counts},
            Replace(everything=True) if found.is_truncated else None,
            has_more=True,
            schema_changes=() if is_same else sentences(position, now, types, self._source.schema_changes),
        )

    def _checked(self, step: LoadStep, server: Server, source: _Source, position: Position) -> str:
        """Check that the source continues at the position, and advance its slot to it.

        Returns the version of the publication.
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
        for declared_name, name in zip(source.read.rows.schema.names, columns, strict=True):
            is_new = self._source.schema_changes == "apply" and 0 < position.made < table.columns[name].number
            if declared_name not in position.columns and not is_new:
                raise PipelineError(f"{text}: the column {declared_name!r} is declared and was not copied: {RELOAD}")
        with contextlib.suppress(LaterColumns):
            source.columns.check([position], position, source.columns.now)
        for name, number, *_ in position.columns.values():
            if table.columns[name].number != number:
                raise PipelineError(f"{text}: the column {name!r} was dropped and added again: {RELOAD}")
        if slot.confirmed is not None and slot.confirmed < position.lsn:
            server.advance(names.slot, position.lsn)
        return version

    def _ignored(self, source: _Source, position: Position) -> list[str]:
        is_ignored = self._source.schema_changes == "ignore"
        return source.columns.added(position, source.columns.now) if is_ignored else []

    def _read(
        self, step: LoadStep, server: Server, source: _Source, position: Position
    ) -> tuple[NetChanges, bool, Position]:
        """Return the changes of a batch, whether the log has no more of them, and the position with their columns."""
        assert self._until is not None
        options, names, now, before = self._source, source.names, position, None
        earlier = [position]
        while True:
            columns = source.read.rows.columns
            decoder = Decoder(
                source.table.oid,
                columns,
                source.key,
                partial(source.columns.check, earlier, now),
                options.transaction_bytes,
                frozenset(columns) - {name for name, *_ in position.columns.values()},
            )
            messages = server.messages(names.slot, names.publication, self._until, options.batch_rows)
            try:
                with contextlib.closing(messages):
                    found, is_read = decoder.read(
                        messages, position.lsn, rows=options.batch_rows, size_bytes=options.batch_bytes, before=before
                    )
                return found, is_read and found.messages < options.batch_rows, now
            except LaterColumns as later:
                if later.follows:
                    before = later.lsn
                else:
                    now = self._moved(step, server, source, now, later.relation)
                    earlier.append(now)

    def _moved(self, step: LoadStep, server: Server, source: _Source, position: Position, to: Relation) -> Position:
        """Return a position with the columns of a later relation, when the table holds them; else alter the table."""
        moved, types = source.columns.moved(server, position, to)
        if self._source.schema_changes == "apply":
            hold(step.table, types, source.text)
        return moved

    def _write(
        self, step: LoadStep, source: _Source, rows: DatabaseRows, found: NetChanges, ignored: Sequence[str]
    ) -> WriteResult:
        if not found.rows:
            return WriteResult(ignored_columns=tuple(ignored))
        places = [rows.columns.index(column) for column in source.key]
        batch = batch_of_changes(found.rows, len(rows.columns), places)
        latest = step.table.latest_snapshot()
        stored = StoredRows(TableReference.of(step.table.context), None if latest is None else latest.id)
        payload = pa.BufferOutputStream()
        with pa.ipc.new_stream(payload, batch.schema) as writer:
            writer.write_batch(batch)
        written = write_parts(
            step.spark(),
            [payload.getvalue().to_pybytes()],
            _Reader(ChangeRows(rows, step.spec.primary_key), stored),
            step.table,
            step.rejects,
            step.stamp,
            kinds=KIND,
            overwrites=found.is_truncated,
        )
        return replace(written, ignored_columns=tuple(ignored))


def _rows_at(server: Server, source: _Source, position: Position) -> DatabaseRows:
    """Return how rows are read whose columns have the types of a position, which the source may not have any more."""
    rows = source.read.rows
    then = {column[0]: column[2] for column in position.columns.values()}
    other = {oid for name, oid in then.items() if source.table.columns[name].type_oid != oid}
    names = type_names(server, other) if other else {}
    types = [names.get(then.get(name, 0), kind) for name, kind in zip(rows.columns, rows.types, strict=True)]
    return replace(rows, types=tuple(types))


@dataclass(frozen=True)
class _Reader:
    """Converts a batch of changes in a task."""

    rows: ChangeRows
    stored: StoredRows

    def __call__(self, payload: bytes) -> Iterator[Parsed]:
        for batch in pa.ipc.open_stream(payload):
            for start in range(0, len(batch), _SLICE_ROWS):
                yield self.rows.parsed(batch.slice(start, _SLICE_ROWS), self.stored)


def _lag(server: Server, position: Position) -> dict[str, int]:
    """Return the bytes of the log after the position, and the bytes that the server keeps for the slot."""
    slot = server.slot(position.slot)
    held = 0 if slot is None else slot.held_bytes or 0
    return {"lag_bytes": max(0, server.newest_lsn() - position.lsn), "slot_bytes": held}
