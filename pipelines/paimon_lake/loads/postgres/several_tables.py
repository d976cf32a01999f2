"""Several tables: loads of one table from several tables of PostgreSQL; a column of the key contains the name of the
source table.

All tables are copied at one snapshot, and each batch of the log is read once for all of them. A table that is found
later is copied alone, at a snapshot of its own: the transactions before that snapshot are skipped for this table only.
So the rows of each table are complete at any time. The rows of all tables show one moment of the source as soon as the
position has passed the newest copy. A batch ends where the columns of any table change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from paimon_core.spark.reference import TableReference
from paimon_core.types import DataType
from paimon_lake.declarations.sources.schema_changes import is_same_kind, is_wider
from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.database import naming
from paimon_lake.loads.ledger.load_snapshot import POSITION
from paimon_lake.loads.postgres.log_batch import LogBatch, SharedRead
from paimon_lake.loads.postgres.opened_source import OpenedSource, open_source
from paimon_lake.loads.postgres.postgres_changes import PostgresChangesLoads, lag_details, rows_at
from paimon_lake.loads.postgres.rules import RELOAD, check_tables
from paimon_lake.loads.postgres.several_rows import ChangedRows, NamedRows, part_of
from paimon_lake.loads.postgres.source_columns import sentences
from paimon_lake.loads.postgres.stored_rows import StoredRows
from paimon_lake.loads.postgres.table_copy import hold_since
from paimon_lake.loads.postgres.tables_copy import Sources, planned_copies
from paimon_lake.loads.shapes.schema_changes import hold
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import KIND, PipelineError, some
from paimon_lake.sources.database import open_database
from paimon_lake.sources.files.columns import table_schema
from paimon_lake.sources.postgres.change_rows import ChangeRows
from paimon_lake.sources.postgres.column_types import column_type
from paimon_lake.sources.postgres.found_tables import found_tables
from paimon_lake.sources.postgres.lsn import lsn_text
from paimon_lake.sources.postgres.net_changes import NetBatch
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server, ServerFacts, connected
from paimon_lake.sources.postgres.table_positions import TablePositions


class SeveralTablesLoads(PostgresChangesLoads):
    """The loads of a table from several tables of one database of PostgreSQL."""

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the copy of tables that have no position, or the next batch of changes, or why there is nothing to
        load.

        Raises TableAltered when the next rows need columns that the table does not have.
        """
        self.is_cut = False
        options, is_shared = self._source, self._shared is not None
        database = open_database(options.url, table=options.name, query="", folder=step.settings.folder)
        with naming(step), connected(database) as server:
            entry = None if step.reload else step.ledger.position
            at = None if entry is None else TablePositions.from_json(entry)
            there = found_tables(server, options.table)
            if at is not None:
                check_tables(database.name, at.tables, there)
            copies = is_shared and not self._shared_until
            names = there if at is None or not is_shared or copies else list(at.tables)
            facts = server.facts()
            sources = {name: self._opened(step, server, facts, name, at) for name in names}
            _check_same_types(sources)
            first = sources[names[0]]
            self._begin(step, first)
            with self._reserved(server, first):
                later = {} if at is None else {name: sources[name] for name in names if name not in at.tables}
                if at is None:
                    self._hold(step, server, sources)
                self._hold_wider(step, sources, sources if at is None else later)
                if at is None:
                    return planned_copies(step, server, sources, options)
                if later:
                    left_out = self._left_out(step, later, at)
                    return planned_copies(step, server, later, options, at, left_out)
                return NothingToLoad(()) if copies else self._changes_of_all(step, server, sources, at)

    @property
    def _shared_until(self) -> int:
        """The LSN at which the run of a shared slot ends; 0 while tables are copied."""
        return 0 if self._shared is None else self._shared.until

    def _opened(
        self, step: LoadStep, server: Server, facts: ServerFacts, name: str, at: TablePositions | None
    ) -> OpenedSource:
        """Open a source table; it may lack columns that loads added for other source tables."""
        options = self._source.model_copy(update={"table": (name,)})
        database = open_database(options.url, table=name, query="", folder=step.settings.folder)
        position = None if at is None else at.tables.get(name)
        followed = step.spec.columns if position is None else position.columns
        may_lack = {
            field.name
            for field in step.table.schema.fields
            if options.schema_changes == "apply" and field.type.nullable and field.name not in followed
        }
        source = open_source(
            step,
            replace(server, database=database),
            options,
            None if self._shared is None else self._shared.names,
            is_followed=position is not None,
            may_lack=may_lack,
            facts=facts,
        )
        if options.source_column in source.table.columns:
            raise PipelineError(
                f"{source.text} has a column {options.source_column!r} itself: give source.source_column another name"
            )
        return source

    def _hold(self, step: LoadStep, server: Server, sources: Sources) -> None:
        """Before all tables are copied again, add the columns that the source tables got since the recorded
        position.
        """
        try:
            recorded = TablePositions.from_json(step.ledger.position).tables
        except PipelineError:  # there is no position, or a reload repairs a damaged one
            return
        for name, source in sources.items():
            hold_since(step, _of(server, source), source, self._source, recorded.get(name))

    def _hold_wider(self, step: LoadStep, sources: Sources, copied: Sources) -> None:
        """If schema changes are applied, widen the table so that it can hold the source tables to copy; otherwise
        refuse types that the table cannot hold.

        Only types that are wider than the type in another source table are checked: all other types are the declared
        types.
        """
        held = {field.name: field.type.with_nullable(True) for field in step.table.schema.fields}
        types = {name: _types_of(source) for name, source in sources.items()}
        for name, source in copied.items():
            wider = {one: kind for one, kind in types[name].items() if one in held and is_wider(held[one], kind)}
            narrow = {one: other for one in wider for other in types if _is_wider_than(types[other], one, wider[one])}
            if narrow and self._source.schema_changes == "refuse":
                column, other = next(iter(narrow.items()))
                kind = wider[column].sql
                raise PipelineError(
                    f"{source.read.database.place}: the column {column!r} is {kind} in {name} and "
                    f"{types[other][column].sql} in {other}, and {held[column].sql} in the table, which does not hold "
                    f"all of these values: declare it as {kind} and run `paimon-lake apply`, or set "
                    "source.schema_changes: apply, which widens the table, or ignore, which rejects the values"
                )
            if self._source.schema_changes == "apply":
                hold(step.table, {column: wider[column] for column in narrow}, source.text)

    def _left_out(self, step: LoadStep, later: Sources, at: TablePositions) -> list[str]:
        """Return the new columns that are left out: columns that the tables ``later`` have, and the tables that were
        copied before do not have.

        Raises TableAltered when new columns are added to the table, and PipelineError when they are refused.
        """
        known = {column for position in at.tables.values() for column in (*position.known, *position.ignored)}
        ignored: dict[str, None] = {}
        for source in later.values():
            new = [one for one in source.table.columns.values() if one.name not in known and not one.is_generated]
            listed = some([one.name for one in new])
            if new and self._source.schema_changes == "refuse":
                raise PipelineError(
                    f"{source.text} was found after the first copy and has columns that no table of that copy has: "
                    f"{listed}. Add them to the declaration and {RELOAD}, or set source.schema_changes: apply or ignore"
                )
            if self._source.schema_changes == "ignore":
                ignored |= dict.fromkeys(one.name for one in new)
                continue
            types = {one.name: column_type(one.type_name, one.type_modifier) for one in new}
            if unfit := [name for name, kind in types.items() if kind is None]:
                raise PipelineError(
                    f"{source.text}: no column of the table holds the type of its new columns {some(unfit)}: set "
                    "source.schema_changes: ignore, which leaves them out"
                )
            hold(step.table, {name: kind for name, kind in types.items() if kind is not None}, source.text)
        return list(ignored)

    # -- the changes

    def _changes_of_all(
        self, step: LoadStep, server: Server, sources: Sources, at: TablePositions
    ) -> PlannedLoad | NothingToLoad:
        at = self._all_continued(step, server, sources, at)
        behind = [name for name, source in sources.items() if source.columns.is_behind(at.tables[name])]
        catalog = [source.table for source in sources.values()]
        covered = self._cover(server, catalog, at) if behind else None
        ignored = self._ignored(sources, at)
        told: dict[str, str | int | float] = {"position": lsn_text(at.lsn)}
        told |= {"ignored_columns": some(ignored)} if ignored else {}
        batch = self._batch(server, next(iter(sources.values())).names, at)
        if isinstance(batch, str):
            return NothingToLoad([batch], told | lag_details(server, at))
        found, now, end = self._read_all(step, server, sources, at, batch)
        for name in behind:
            if covered is not None and not found[name].changes and end == batch.end >= covered:
                now[name] = self._moved(
                    step, _of(server, sources[name]), sources[name], now[name], sources[name].columns.now
                )
        changes = sum(one.changes for one in found.values())
        is_same = all(now[name].columns == position.columns for name, position in at.tables.items())
        has_skipped = batch.has_changes and at.reach > at.lsn  # otherwise the lag would count changes of later tables
        if not changes and is_same and not has_skipped and (idle := self._idle(server, at, batch, end, told)):
            return idle
        self.is_cut = end < batch.end
        positions = {
            name: replace(source.columns.marked(now[name]), lsn=max(end, at.tables[name].lsn))
            for name, source in sources.items()
        }
        rows = {name: (source.text, self._rows(step, server, source, now[name])) for name, source in sources.items()}
        transactions = max(one.transactions for one in found.values())
        return PlannedLoad(
            partial(self._write_all, step, rows, found, ignored),
            {POSITION: json.dumps(TablePositions(positions).to_json())},
            {"position": lsn_text(end), "changes": changes, "transactions": transactions},
            has_more=True,
            schema_changes=[one for name in sources for one in self._sentences(step, at.tables[name], now[name])],
        )

    def _all_continued(self, step: LoadStep, server: Server, sources: Sources, at: TablePositions) -> TablePositions:
        """Check that all sources continue, and advance the slot to the smallest position unless it is shared."""
        continued = {}
        for name, source in sources.items():
            position = at.tables[name]
            lowest = self._continued(step, _of(server, source), source, replace(position, lsn=at.lsn))
            continued[name] = replace(lowest, lsn=position.lsn)
        return TablePositions(continued)

    def _ignored(self, sources: Sources, at: TablePositions) -> list[str]:
        if self._source.schema_changes != "ignore":
            return []
        found = [one for name, s in sources.items() for one in s.columns.added(at.tables[name], s.columns.now)]
        return list(dict.fromkeys(found))

    def _read_all(
        self, step: LoadStep, server: Server, sources: Sources, at: TablePositions, batch: LogBatch
    ) -> tuple[dict[str, NetBatch], dict[str, Position], int]:
        """Return the changes of each table, the position of each table with the columns, and the LSN at which the
        changes end.

        When the columns of one table change, all tables are read again, up to this change.
        """
        end = batch.end
        while True:
            changes, now, ends = {}, {}, []
            for name, source in sources.items():
                part = replace(batch, end=end)
                position = at.tables[name]
                changes[name], reached, now[name] = self._read(step, _of(server, source), source, position, part)
                ends.append(reached)
            if min(ends) == end:
                return changes, now, end
            end = min(ends)

    def _rows(self, step: LoadStep, server: Server, source: OpenedSource, position: Position) -> ChangeRows:
        key = tuple(column for column in step.spec.primary_key if column != self._source.source_column)
        return ChangeRows(rows_at(_of(server, source), source, position), key)

    def _sentences(self, step: LoadStep, before: Position, after: Position) -> list[str]:
        types = {field.name: field.type for field in step.table.schema.fields}
        found = sentences(before, after, types, self._source.schema_changes)
        return [f"{after.table}: {one}" for one in found]

    def _write_all(
        self,
        step: LoadStep,
        rows: Mapping[str, tuple[str, ChangeRows]],
        found: Mapping[str, NetBatch],
        ignored: list[str],
    ) -> WriteResult:
        changed = tuple(name for name, one in found.items() if one.changes)
        part = part_of(found)
        if not part:
            return WriteResult(ignored_columns=tuple(ignored))
        latest = step.table.latest_snapshot()
        stored = StoredRows(TableReference.of(step.table.context), None if latest is None else latest.id)
        named = NamedRows(table_schema(step.table.schema.fields), self._source.source_column)
        written = write_parts(
            step.spark(),
            [part],
            ChangedRows(rows, named, stored),
            step.table,
            step.rejects,
            step.stamp,
            kinds=KIND,
            overwrites=False,
        )
        return replace(written, ignored_columns=tuple(ignored), source_tables=changed)


def changes_loads(source: PostgresChangesSource, shared: SharedRead | None = None) -> PostgresChangesLoads:
    """Return the loads of a table that follows one or several source tables; ``shared``: the state that the tables of
    one slot share.
    """
    return (SeveralTablesLoads if source.source_column else PostgresChangesLoads)(source, shared)


def _of(server: Server, source: OpenedSource) -> Server:
    """Return the connection to the server, whose errors then name this source table."""
    return replace(server, database=source.read.database)


def _types_of(source: OpenedSource) -> dict[str, DataType]:
    """Return the types of the declared columns in a source table, without types that no column of a table can hold."""
    columns = zip(source.read.rows.schema.names, source.read.rows.columns, strict=True)
    there = {declared: source.table.columns[column] for declared, column in columns}
    found = {declared: column_type(one.type_name, one.type_modifier) for declared, one in there.items()}
    return {declared: kind.with_nullable(True) for declared, kind in found.items() if kind is not None}


def _is_wider_than(types: Mapping[str, DataType], column: str, kind: DataType) -> bool:
    """Whether ``kind`` is wider than the type of ``column`` in ``types``; False if ``types`` lacks the column."""
    return column in types and is_wider(types[column], kind)


def _check_same_types(sources: Sources) -> None:
    """Refuse columns of which two source tables have values of different kinds, such as numbers and texts."""
    first: dict[str, tuple[str, OpenedSource]] = {}
    for name, source in sources.items():
        for declared, column in zip(source.read.rows.schema.names, source.read.rows.columns, strict=True):
            other_name, other = first.setdefault(declared, (name, source))
            at = other.read.rows.columns[other.read.rows.schema.get_field_index(declared)]
            here, there = source.table.columns[column], other.table.columns[at]
            one, two = (column_type(found.type_name, found.type_modifier) for found in (there, here))
            if here.type_name == there.type_name or one is None or two is None or is_same_kind(one, two):
                continue
            raise PipelineError(
                f"{source.read.database.place}: the column {declared!r} is {there.type_name} in {other_name} and "
                f"{here.type_name} in {name}: tables of one source need types of one kind; alter one of them, or leave "
                "it out of source.table"
            )
