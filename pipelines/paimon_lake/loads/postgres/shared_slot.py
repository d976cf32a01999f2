"""Shared slot: load the tables of one database of PostgreSQL together, from one slot and one read of its log.

First the tables without a position are copied, each by a temporary slot of its own. Then each batch of the log is read
once, and every table commits those changes of the batch that are after its position. The slot is advanced only to the
smallest position of all tables that is committed, before the next batch is read. So a process that ends early loses
nothing and repeats nothing.

With ``consistent`` each table commits the end of each batch as its position. When positions differ, because a table was
copied or a process ended between two commits, all tables are first loaded up to the greatest position. At equal
positions the snapshots of all tables are published as a version of the group with the name of the database.

A table whose columns change in a batch loads the batch in several commits, before the next table. So all tables reach
the end of the batch, no matter which tables changed.

A table is loaded after the tables of the slot in which it looks up rows, so a row finds the rows of its own
transaction. At the end of a run, rows that waited are written as well, and with ``consistent`` a further version shows
them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from paimon_core.errors import NotFound
from paimon_core.group.record import GroupVersion
from paimon_lake.declarations import Settings
from paimon_lake.declarations.agreement.order import in_order
from paimon_lake.declarations.lake.databases import PostgresDatabase, tables_of
from paimon_lake.declarations.sources.lookup import waits
from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.failures import tables_failed
from paimon_lake.loads.groups.group_versions import deleted_old_versions
from paimon_lake.loads.postgres.lag import IDLE_BYTES
from paimon_lake.loads.postgres.log_batch import SharedRead, read_batch
from paimon_lake.loads.postgres.names import names_of
from paimon_lake.loads.postgres.postgres_changes import PostgresChangesLoads
from paimon_lake.loads.postgres.several_tables import changes_loads
from paimon_lake.loads.postgres.slot_keys import naming_keys
from paimon_lake.loads.source_loads import with_lookups
from paimon_lake.loads.step import TableSource
from paimon_lake.protocol import NOT_DELETED, PipelineError, StepResult
from paimon_lake.sources.database import open_database
from paimon_lake.sources.postgres.lsn import lsn_text
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server, connected
from paimon_lake.sources.postgres.table_positions import TablePositions, position_of
from paimon_lake.tables import open_lake

LSN = "postgres.lsn"
"""The property of a version of the group: all transactions whose commit begins before this LSN are loaded."""


class TableLoads(Protocol):
    """The loads of one table in a run."""

    @property
    def loads(self) -> Sequence[object]:
        """The loads that were committed."""

    @property
    def is_reload(self) -> bool:
        """Whether the next load copies the table again."""

    def load(self, source: TableSource) -> bool:
        """Commit the next load; return False when the source has nothing to load."""

    def position(self) -> object:
        """Return the position in the ledger as JSON values; None before the first copy."""

    def snapshot(self) -> int:
        """Return the id of the newest snapshot of a load."""

    def result(self) -> StepResult:
        """Return the result of the run."""


def load_shared(
    settings: Settings, database: str, name: str, asked: TableLoads, begun: Callable[[str], TableLoads]
) -> StepResult:
    """Load all tables of the slot of a table; the result of this table contains the results of the other tables.

    ``asked``: the loads of the table ``name``; ``begun`` opens another table. Raises TablesFailed when the run fails
    after a table was committed, and when another table could not be loaded; otherwise the error that ended the run.
    """
    runs = {name: asked}

    def opened(table: str) -> TableLoads:
        return runs.setdefault(table, begun(table)) if table != name else asked

    shared = SharedLoad(settings, database, _ordered(settings, database, name), name, opened)
    try:
        with naming_keys(database):
            shared.run()
    except Exception as error:  # for any error, because readers already see the earlier commits
        errors = shared.errors if error in shared.errors.values() else {**shared.errors, name: error}
        if committed := [run.result() for run in runs.values() if run.loads]:
            raise tables_failed(errors, committed) from error
        raise
    if shared.errors:
        raise tables_failed(shared.errors, [run.result() for run in runs.values() if run.loads or run is asked])
    told: dict[str, str | int | float] = {} if shared.version is None else {"group_version": shared.version}
    if shared.not_deleted:
        told[NOT_DELETED] = shared.not_deleted
    done, *others = (run.result() for run in runs.values())
    others = [replace(one, details={**one.details, **told}) for one in others]
    return replace(done, details={**done.details, **told}, others=tuple(others))


def _ordered(settings: Settings, database: str, asked: str) -> list[str]:
    """Return the tables of a database, each table after the tables in which it looks up rows; the table ``asked`` comes
    first if this order allows it.
    """
    tables = {name: settings.table(name) for name in tables_of(settings.tables, database)}
    return [name for group in in_order(tables) for name in sorted(group, key=lambda one: one != asked)]


@dataclass
class SharedLoad:
    """One run of loads of the tables of a database."""

    settings: Settings
    database: str
    tables: Collection[str]
    asked: str
    """The table whose failure ends the run. Failures of other tables end the run only if the tables are consistent."""
    opened: Callable[[str], TableLoads]
    """Opens a table for the run."""
    runs: dict[str, TableLoads] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    """The tables that could not be loaded, with the error of each."""
    version: int | None = None
    """The newest version of the group; None unless the tables are consistent."""
    not_deleted: str = ""
    """Why old versions of the group were not deleted after the last publish; "" when they were."""

    def run(self) -> None:
        """Load the tables up to the end of the log when the run began; raises the error of a load that ends the run."""
        for name in self.tables:
            self._guarded(name, partial(self._open, name))
        sources = {name: self._source(name) for name in self.runs}
        first, ends_at = sources[self.asked], time.monotonic() + self._options.run_seconds
        entry = next((found for name in self.runs if (found := self._entry(name)) is not None), None)
        database = open_database(first.url, table=first.name, query="", folder=self.settings.folder)
        shared = SharedRead(names_of(self.settings, self.asked, first, entry))
        loads = {name: changes_loads(source, shared) for name, source in sources.items()}
        with connected(database) as server, server.reserved(shared.names.slot, None):
            self._copy(loads)
            shared.until = server.newest_lsn()
            while True:
                is_over, until = time.monotonic() >= ends_at, shared.until
                refusal, before = self._next_batch(server, shared, loads, is_over=is_over), self._commits
                for name in self._loadable():
                    self._guarded(name, partial(self._load, name, loads[name]))
                if refusal is not None:  # no table raised a more precise error
                    raise refusal
                if shared.batch is None and (is_over or shared.until == until):  # a table may need the log's new end
                    if self._commits > before:  # a version must show the rows that waited
                        self._next_batch(server, shared, loads, is_over=True)
                    return

    def _load(self, name: str, source: PostgresChangesLoads) -> None:
        """Load a table up to the end of the batch, in several loads if its columns change within the batch."""
        whole = with_lookups(self._source(name), source)
        self.runs[name].load(whole)
        while source.is_cut:
            self.runs[name].load(whole)

    @property
    def _commits(self) -> int:
        return sum(len(run.loads) for run in self.runs.values())

    def _copy(self, loads: Mapping[str, PostgresChangesLoads]) -> None:
        """Copy the tables that have no position, and the table that is loaded again.

        A table with several source tables may have found a new source table.
        """
        for name in self.runs:
            may_copy = self._entry(name) is None or bool(self._source(name).source_column)
            if self.runs[name].is_reload or (may_copy and name not in self.errors):
                whole = with_lookups(self._source(name), loads[name])
                self._guarded(name, partial(self.runs[name].load, whole))

    def _open(self, name: str) -> None:
        self.runs[name] = self.opened(name)

    @property
    def _options(self) -> PostgresDatabase:
        return self.settings.postgres[self.database]

    def _source(self, name: str) -> PostgresChangesSource:
        source = self.settings.table(name).source
        assert isinstance(source, PostgresChangesSource)
        return source

    def _loadable(self) -> list[str]:
        return [name for name in self.runs if name not in self.errors]

    def _entry(self, name: str) -> object:
        found: list[object] = []
        self._guarded(name, lambda: found.append(self.runs[name].position()))
        return found[0] if found else None

    def _guarded(self, name: str, step: Callable[[], object]) -> None:
        """Run a step of a table, and record its failure unless the failure ends the run."""
        try:
            with naming_keys(self.database):
                step()
        except Exception as error:  # after any error, the other tables are loaded
            self.errors[name] = error
            if name == self.asked or self._options.consistent:
                raise

    def _positions(self) -> dict[str, Position | TablePositions | None]:
        """Return the positions of the tables, None before the first copy; unreadable positions are left out."""
        found: dict[str, Position | TablePositions | None] = {}

        def read(name: str) -> None:
            entry = self.runs[name].position()
            found[name] = None if entry is None else position_of(entry)

        for name in self.runs:
            self._guarded(name, partial(read, name))
        return found

    def _next_batch(
        self, server: Server, shared: SharedRead, loads: Mapping[str, PostgresChangesLoads], *, is_over: bool
    ) -> PipelineError | None:
        """Advance the slot, publish a version if the tables are consistent and at one position, and read the next
        batch, if there is one.

        Returns the error when the log cannot be read.
        """
        shared.batch = None
        found = self._positions()
        positions = {name: position for name, position in found.items() if position is not None}
        if found.keys() == set(self.tables) and positions:  # the slot may be behind a table that cannot be read
            self._advance(server, shared, positions.values())
        reached = {name: loads[name].reached(positions[name]) for name in self._loadable() if name in positions}
        if not reached:
            return None
        lsns = {lsn for position in positions.values() for lsn in (position.lsn, position.reach)}
        until, differ, is_consistent = shared.until, len(lsns) > 1, self._options.consistent
        start = min(reached.values())
        if is_consistent and differ:
            start, until = min(lsns), max(lsns)  # a table without changes must commit the position as well
        elif is_consistent:
            self._publish(max(lsns))
        if start >= until or is_over or not _is_readable(server, shared.names.slot):
            return None
        names = shared.names.slot, shared.names.publication
        tables = {relation for at in positions.values() for relation in at.relations}
        try:
            batch = read_batch(server, self._source(self.asked), names, tables, start, until)
        except PipelineError as error:
            return error
        shared.batch = batch
        shared.moves_all = is_consistent and (batch.has_changes or differ or batch.end - min(lsns) >= IDLE_BYTES)
        return None

    def _advance(self, server: Server, shared: SharedRead, positions: Collection[Position | TablePositions]) -> None:
        """Advance the slot to the smallest position, unless a position is of another server or slot."""
        facts, slot, lowest = server.facts(), server.slot(shared.names.slot), min(at.lsn for at in positions)
        here = facts.system, facts.timeline, facts.database, shared.names.slot
        if any((at.system, at.timeline, at.database, at.slot) != here or at.lsn > facts.lsn for at in positions):
            return
        if slot is not None and slot.active_pid is None and slot.confirmed is not None and slot.confirmed < lowest:
            server.advance(shared.names.slot, lowest)

    def _publish(self, lsn: int) -> None:
        """Publish the snapshots of all tables at their common position, if the newest version has another position."""
        group = open_lake(self.settings).group(self.database)
        try:
            group.recover()
        except NotFound:  # a snapshot expired, or was rolled back, before the version existed
            group.abandon()
        newest, snapshots = group.latest(), {name: run.snapshot() for name, run in self.runs.items()}
        is_shown = newest is not None and newest.properties.get(LSN) == lsn_text(lsn)
        if newest is None or not is_shown or not self._has_rows(newest, snapshots):
            newest = group.publish_snapshots(snapshots, properties={LSN: lsn_text(lsn)})
            self.not_deleted = deleted_old_versions(group, self._options.keep_versions)
        self.version = newest.number

    def _has_rows(self, version: GroupVersion, snapshots: Mapping[str, int]) -> bool:
        """Whether a version at the common position has all tables, and the newest snapshots of tables whose rows may
        wait.
        """
        waiting = [name for name in self.runs if waits(self.settings.table(name))]
        return version.tables.keys() == self.runs.keys() and all(
            version.tables[name].snapshot == snapshots[name] for name in waiting
        )


def _is_readable(server: Server, name: str) -> bool:
    """Whether a slot can be read; if not, planning the load of each table raises an error that says why."""
    slot = server.slot(name)
    return slot is not None and slot.active_pid is None and slot.wal_status != "lost" and slot.confirmed is not None
