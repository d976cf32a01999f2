"""PostgreSQL changes: loads that copy a table of PostgreSQL once, and then read the changes of its log.

The snapshot of each load has the position in the log up to which it has all transactions (decision 0053). A slot keeps
the log from the position on: it is advanced only to positions that are committed, before the next changes are read. So
committed changes are not read again, and changes that are not committed are read again.

When the columns of the source change in a batch, the load ends before the transaction of that change, and the next load
begins with this transaction (decision 0056).
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from paimon_core.spark.reference import TableReference
from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.database import naming
from paimon_lake.loads.ledger.load_snapshot import POSITION
from paimon_lake.loads.postgres.lag import IDLE_BYTES, IDLE_MESSAGES, lag_after
from paimon_lake.loads.postgres.log_batch import LogBatch, SharedRead, read_batch
from paimon_lake.loads.postgres.names import PUBLICATION, SLOT, Names
from paimon_lake.loads.postgres.opened_source import OpenedSource, open_source
from paimon_lake.loads.postgres.rules import (
    RELOAD,
    check_confirmed,
    check_position,
    check_publication,
    check_slot,
)
from paimon_lake.loads.postgres.source_columns import sentences
from paimon_lake.loads.postgres.stored_rows import NewestRows, StoredRows
from paimon_lake.loads.postgres.table_copy import planned_copy
from paimon_lake.loads.replacement import Replace
from paimon_lake.loads.shapes.added_columns import hold_columns
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import KIND, PipelineError, some
from paimon_lake.sources.database import open_database
from paimon_lake.sources.database_rows import DatabaseRows
from paimon_lake.sources.files.rejects import Parsed
from paimon_lake.sources.postgres.change_rows import ChangeRows, CurrentRows
from paimon_lake.sources.postgres.log_end import LogEnd, log_after
from paimon_lake.sources.postgres.lsn import lsn_text
from paimon_lake.sources.postgres.net_changes import NetBatch, net_changes
from paimon_lake.sources.postgres.pgoutput import Decoder, LaterColumns, Relation
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server, connected
from paimon_lake.sources.postgres.source_table import read_publication, type_names
from paimon_lake.sources.postgres.table_positions import TablePositions

RESERVE_SECONDS = 60
"""How long a load waits for another reader of its slot; a request for the lag reads the slot for at most 10 s."""


class PostgresChangesLoads:
    """The loads of a table from a table of PostgreSQL, in batches up to the end of the log when the first load began.

    ``shared``: the state that the tables of one slot share; None for a table with a slot of its own.
    """

    def __init__(self, source: PostgresChangesSource, shared: SharedRead | None = None) -> None:
        self._source = source
        self._shared = shared
        self._seen: tuple[int, int] = (0, 0)
        """A position, and the LSN up to which the log contains no changes of the table after this position."""
        self._until: int | None = None
        """The end of the log when the first load of this run was planned."""
        self._catalog: tuple[object, int] | None = None
        """The state of the source whose new columns are not in the position yet, and an end of the log that was read
        after this state.
        """
        self.is_cut = False
        """Whether the load that was planned last ends before the end of its batch, because the columns change there."""
        self._ends_at = time.monotonic() + source.run_seconds

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the copy of the source, the next batch of changes, or why nothing is left to load.

        Raises TableAltered when the next changes need columns that the table does not have.
        """
        self.is_cut = False
        database = open_database(self._source.url, table=self._source.name, query="", folder=step.settings.folder)
        with naming(step), connected(database) as server:
            names = None if self._shared is None else self._shared.names
            source = open_source(step, server, self._source, names, is_followed=step.ledger.position is not None)
            self._begin(step, source)
            with self._reserved(server, source):
                if step.ledger.position is None or step.reload:
                    return self._copy(step, server, source)
                return self._changes(step, server, source, Position.from_json(step.ledger.position))

    def _begin(self, step: LoadStep, source: OpenedSource) -> None:
        """Note where the run ends, and refuse a first copy into a table that has rows."""
        self._until = source.facts.lsn if self._until is None else self._until
        if step.ledger.position is None and not step.reload:
            self._check_empty(step)

    def _reserved(self, server: Server, source: OpenedSource) -> contextlib.AbstractContextManager[object]:
        """Reserve the slot; the run has reserved a shared slot already."""
        if self._shared is not None:
            return contextlib.nullcontext()
        return server.reserved(source.names.slot, RESERVE_SECONDS)

    def _check_empty(self, step: LoadStep) -> None:
        latest = step.table.latest_snapshot()
        if latest is not None and latest.total_record_count:
            raise PipelineError(f"the table has rows of another source: {RELOAD} and replaces these rows")

    def _copy(self, step: LoadStep, server: Server, source: OpenedSource) -> PlannedLoad:
        return planned_copy(step, server, source, self._source, is_shared=self._shared is not None)

    # -- the changes

    def _changes(
        self, step: LoadStep, server: Server, source: OpenedSource, position: Position
    ) -> PlannedLoad | NothingToLoad:
        columns = source.columns
        position = self._continued(step, server, source, position)
        covered = self._cover(server, source.table, position) if columns.is_behind(position) else None
        ignored = columns.added(position, columns.now) if self._source.schema_changes == "ignore" else []
        told: dict[str, str | int | float] = {"position": lsn_text(position.lsn)}
        told |= {"ignored_columns": some(ignored)} if ignored else {}
        batch = self._batch(server, source.names, position)
        if isinstance(batch, str):
            return NothingToLoad([batch], told | lag_details(server, position))
        found, end, now = self._read(step, server, source, position, batch)
        if covered is not None and not found.changes and batch.end >= covered:
            now = self._moved(step, server, source, now, columns.now)
        is_same = now.columns == position.columns
        if not found.changes and is_same and (idle := self._idle(server, position, batch, end, told)):
            return idle
        self.is_cut = end < batch.end
        entry = {POSITION: json.dumps(replace(columns.marked(now), lsn=end).to_json())}
        counts = {"changes": found.changes, "transactions": found.transactions}
        types = {field.name: field.type for field in step.table.schema.fields}
        rows = rows_at(server, source, now)
        return PlannedLoad(
            lambda: self._write(step, source.text, rows, found, ignored),
            entry,
            {"position": lsn_text(end), **counts},
            Replace(everything=True) if found.is_truncated else None,
            has_more=True,
            schema_changes=() if is_same else sentences(position, now, types, self._source.schema_changes),
        )

    def _idle(
        self,
        server: Server,
        position: Position | TablePositions,
        batch: LogBatch,
        end: int,
        told: Mapping[str, str | int | float],
    ) -> NothingToLoad | None:
        """Return why a batch without changes up to ``end`` is not committed; None to commit its end as the position."""
        is_moved = not batch.is_last if self._shared is None else self._shared.moves_all
        if is_moved or end - position.lsn >= IDLE_BYTES or batch.transactions.read >= IDLE_MESSAGES:
            return None
        self._seen = position.lsn, end
        lag = lag_details(server, position, LogEnd(end - position.lsn, False, 0.0)) if batch.is_last else {}
        return NothingToLoad([f"no changes of {server.database.name} up to {lsn_text(end)}"], {**told, **lag})

    def _continued(self, step: LoadStep, server: Server, source: OpenedSource, position: Position) -> Position:
        """Return the position with only the columns that the load fills, and with the present name of the source."""
        names = {name for name in step.table.schema.names if step.spec.fills(name)}
        kept = {name: column for name, column in position.columns.items() if name in names}
        position = replace(position, columns=kept, table=".".join(source.name))
        return replace(position, publication_version=self._checked(server, source, position))

    def _cover(self, server: Server, catalog: object, position: Position | TablePositions) -> int:
        """Return an LSN after the position and after all changes of the catalog; move the end of the run to this LSN.

        ``catalog``: the current source tables.
        """
        if self._catalog is None or self._catalog[0] != catalog or self._catalog[1] <= self.reached(position):
            self._catalog = catalog, server.end_of_changes()
        covered = self._catalog[1]
        if self._shared is None:
            self._until = max(self._until or 0, covered)
        else:
            self._shared.until = max(self._shared.until, covered)
        return covered

    def _batch(self, server: Server, of_slot: Names, position: Position | TablePositions) -> LogBatch | str:
        """Return the batch to load, or a text that says why none is left."""
        shared, until = self._shared, self._until
        assert until is not None
        if shared is None:
            if position.lsn < until and time.monotonic() < self._ends_at:
                names = of_slot.slot, of_slot.publication
                return read_batch(server, self._source, names, position.relations, position.lsn, until)
        elif shared.batch is not None and self.reached(position) >= shared.batch.start:
            if position.lsn < shared.batch.end:
                return shared.batch
        elif shared.batch is not None:
            return "another table of the slot is behind, or was loaded at the same time"
        else:
            until = shared.until
        if self.reached(position) < until:
            return f"source.run_seconds is over: {until - position.lsn:,} bytes of the log are left to the next load"
        return f"all changes of {server.database.name} up to {lsn_text(position.lsn)} are loaded"

    def reached(self, position: Position | TablePositions) -> int:
        """Return the LSN up to which this run has read the log and found no further changes of the table."""
        return self._seen[1] if self._seen[0] == position.lsn else position.lsn

    def _checked(self, server: Server, source: OpenedSource, position: Position) -> str:
        """Check that the source continues at the position, and advance its slot to it unless other tables share it.

        Returns the version of the publication.
        """
        text, names, table = source.text, source.names, source.table
        for what, name in ((SLOT, names.slot), (PUBLICATION, names.publication)):
            if getattr(position, what) != name:
                raise PipelineError(
                    f"source.{what} is {name!r}, but the earlier changes were read from {getattr(position, what)!r}: "
                    f"run `paimon-lake release` if loads made that {what}, because nothing else drops it, and {RELOAD}"
                )
        found = read_publication(server, names.publication, source.name, table.oid)
        columns, declared = source.read.rows.columns, PUBLICATION not in names.made
        version = check_publication(text, names.publication, found, columns, declared=declared).version
        check_position(text, position, source.facts, table, version)
        state = server.idle_slot(names.slot)
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
        if self._shared is None and slot.confirmed is not None and slot.confirmed < position.lsn:
            server.advance(names.slot, position.lsn)
        return version

    def _read(
        self, step: LoadStep, server: Server, source: OpenedSource, position: Position, batch: LogBatch
    ) -> tuple[NetBatch, int, Position]:
        """Return the changes of a batch, the LSN at which they end, and the position with the columns of the source."""
        columns, end, now = source.read.rows.columns, batch.end, position
        may_lack = frozenset(columns) - {name for name, *_ in position.columns.values()}
        earlier = [position]
        while True:
            check = partial(source.columns.check, earlier, now)
            most_bytes = self._source.transaction_bytes
            decoder = Decoder(source.table.oid, columns, source.key, check, most_bytes, may_lack)
            try:
                return net_changes(batch.transactions, decoder, position.lsn, end), end, now
            except LaterColumns as later:
                if later.follows:
                    end = later.lsn
                else:
                    now = self._moved(step, server, source, now, later.relation)
                    earlier.append(now)

    def _moved(
        self, step: LoadStep, server: Server, source: OpenedSource, position: Position, to: Relation
    ) -> Position:
        """Return a position with the columns of a later relation if the table can hold these columns; otherwise alter
        the table, and raise TableAltered.
        """
        moved, types = source.columns.moved(server, position, to)
        if self._source.schema_changes == "apply":
            hold_columns(step, types, source.text)
        return moved

    def _write(
        self, step: LoadStep, name: str, rows: DatabaseRows, found: NetBatch, ignored: Sequence[str]
    ) -> WriteResult:
        batch = found.batch
        retries = step.lookups is not None and step.lookups.retries and not found.is_truncated
        if not len(batch) and not retries:
            return WriteResult(ignored_columns=tuple(ignored))
        latest = step.table.latest_snapshot()
        stored = StoredRows(TableReference.of(step.table.context), None if latest is None else latest.id)
        waiting = None if step.lookups is None else step.lookups.waiting
        written = write_parts(
            step.spark(),
            [encoded(batch)] if len(batch) else [],
            _Reader(ChangeRows(rows, step.spec.primary_key), NewestRows.of(stored, waiting), name),
            step.table,
            step.rejects,
            step.stamp,
            kinds=KIND,
            overwrites=found.is_truncated,
            lookups=step.lookups,
        )
        return replace(written, ignored_columns=tuple(ignored))


def rows_at(server: Server, source: OpenedSource, position: Position) -> DatabaseRows:
    """Return the reader of rows that have the column types of ``position``; the source may have other types now."""
    rows = source.read.rows
    then = {column[0]: column[2] for column in position.columns.values()}
    other = {oid for name, oid in then.items() if source.table.columns[name].type_oid != oid}
    names = type_names(server, other) if other else {}
    types = [names.get(then.get(name, 0), kind) for name, kind in zip(rows.columns, rows.types, strict=True)]
    return replace(rows, types=tuple(types))


def encoded(batch: pa.RecordBatch) -> bytes:
    """Return a batch as a stream for a task."""
    payload = pa.BufferOutputStream()
    with pa.ipc.new_stream(payload, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = payload.getvalue().to_pybytes()
    return data


@dataclass(frozen=True)
class _Reader:
    """Converts a batch of changes in a task."""

    rows: ChangeRows
    stored: CurrentRows
    name: str
    """The name of the source in rejects."""

    def __call__(self, payload: bytes) -> Iterator[Parsed]:
        for batch in pa.ipc.open_stream(payload):
            for parsed in self.rows.in_slices(batch, self.stored):
                yield replace(parsed, file=self.name)


def lag_details(
    server: Server, position: Position | TablePositions, log: LogEnd | None = None
) -> dict[str, int | float]:
    """Return the numbers of the lag; {} after an error of the server, which must not fail a run at its end.

    ``log`` describes the log after the position; None: search the log.
    """
    try:
        slot = server.slot(position.slot)
        held_bytes = None if slot is None else slot.held_bytes
        return lag_after(position, held_bytes, log or log_after(server, position)).details
    except PipelineError:
        return {}
