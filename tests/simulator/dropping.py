"""Histories of a table that is dropped and re-created while other processes have handles of the old table.

Every operation that starts with an old handle after the drop raises TableNotFound: a read must not return rows of
another table with the same name, and a write or removal must not change it. An operation that runs during the drop may
raise any documented error.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from paimon_core import col
from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.errors import InvalidRequest, PaimonError, TableNotFound
from paimon_core.table.table import Table
from tests.simulator.store import OBJECTS, POSIX, Disk, SimStorage
from tests.simulator.world import MILLI, SECOND, Actor, Chances, Died, Violation, World, long_time, simulated

NAME = "db.t"
SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
OTHER_SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int32()), ("x", pa.string())])
ROWS = [{"p": "a", "k": 1, "v": 1}]
DAY = datetime.timedelta(days=1)


def _commit(table: Table) -> object:
    with table.writer() as writer:
        writer.write(pa.Table.from_pylist(ROWS, SCHEMA))
        return table.commit(writer.flush())


Operation = Callable[[Table, Table], Any]
"""An operation on an old handle and on the same handle pinned to a snapshot."""

READS: dict[str, Operation] = {
    "scan": lambda t, pinned: t.scan().to_arrow(),
    "scan with a filter": lambda t, pinned: t.scan(columns=["k"], where=col("k") == 1).to_arrow(),
    "count": lambda t, pinned: t.scan().count(),
    "latest snapshot": lambda t, pinned: t.latest_snapshot(),
    "at a snapshot": lambda t, pinned: t.at(snapshot=1).scan().to_arrow(),
    "at a tag": lambda t, pinned: t.at(tag="kept").scan().to_arrow(),
    "a branch": lambda t, pinned: t.branch("side").scan().to_arrow(),
    "changes": lambda t, pinned: t.changes().to_arrow(),
    "pinned scan": lambda t, pinned: pinned.scan().to_arrow(),
    "pinned changes": lambda t, pinned: pinned.changes().to_arrow(),
    "inspect snapshots": lambda t, pinned: t.inspect.snapshots(),
    "inspect files": lambda t, pinned: t.inspect.files(),
    "list tags": lambda t, pinned: t.tags.list(),
    "list branches": lambda t, pinned: t.branches.list(),
    "check": lambda t, pinned: t.maintenance.check(),
}
CHANGES: dict[str, Operation] = {
    "write": lambda t, pinned: t.write(pa.Table.from_pylist(ROWS, SCHEMA)),
    "overwrite": lambda t, pinned: t.overwrite(pa.Table.from_pylist(ROWS, SCHEMA)),
    "delete": lambda t, pinned: t.delete(col("v") == 1),
    "delete a partition": lambda t, pinned: t.delete(col("p") == "a"),
    "compact": lambda t, pinned: t.compact(full=True),
    "commit messages": lambda t, pinned: _commit(t),
    "prepare": lambda t, pinned: t.prepare(pa.Table.from_pylist(ROWS, SCHEMA)),
    "analyze": lambda t, pinned: t.analyze(),
    "expire": lambda t, pinned: t.expire_snapshots(keep_last=1, older_than=datetime.timedelta(0)),
    "rollback": lambda t, pinned: t.rollback(snapshot=1),
    "create a tag": lambda t, pinned: t.tags.create("new"),
    "delete a tag": lambda t, pinned: t.tags.delete("kept"),
    "create a branch": lambda t, pinned: t.branches.create("new"),
    "delete a branch": lambda t, pinned: t.branches.delete("side"),
    "compact manifests": lambda t, pinned: t.maintenance.compact_manifests(),
    "plan a removal of orphans": lambda t, pinned: t.maintenance.plan_orphan_removal(older_than=DAY),
    "plan a rollback": lambda t, pinned: t.maintenance.plan_rollback(snapshot=1),
    "repair hints": lambda t, pinned: t.maintenance.repair_hints(),
}
OPERATIONS = READS | CHANGES


def make(catalog: FilesystemCatalog, first: int, schema: pa.Schema = SCHEMA) -> Table:
    """Create the table with three snapshots, whose keys start at ``first``."""
    table = catalog.create_table(
        NAME, schema, primary_key=["p", "k"], partition_by=["p"], options={"bucket": "1", "write-only": "true"}
    )
    for number in range(3):
        value = {"v": number} if schema is SCHEMA else {"x": "new"}
        table.write(pa.Table.from_pylist([{"p": "a", "k": first + number} | value], schema))
    return table


def with_references(table: Table) -> Table:
    """Add a tag and a branch to the table."""
    table.tags.create("kept", 2)
    table.branches.create("side", tag="kept")
    return table


@dataclass
class DropHistory:
    """One table, an actor that drops and re-creates it, and actors with old handles."""

    world: World
    disk: Disk = field(init=False)
    is_gone: bool = False
    """Whether the table was dropped."""
    overlapped: bool = False
    """Whether a change of the table was running during the drop: it may affect the new table."""

    HOLDERS = 3
    COMMITS_OF_THE_NEW = 3

    def __post_init__(self) -> None:
        draw = self.world.draw
        self.world.chances = Chances(stick=(0.0, 0.5, 0.9)[int(draw() * 3)])
        self.disk = Disk(self.world, (OBJECTS, POSIX)[int(draw() * 2)])
        self.schema = SCHEMA if draw() < 0.7 else OTHER_SCHEMA
        catalog = self.catalog(None)
        catalog.create_database("db")
        with_references(make(catalog, 0))

    def catalog(self, actor: Actor | None) -> FilesystemCatalog:
        return FilesystemCatalog(SimStorage(self.disk, actor), "/w")

    def rest(self) -> None:
        self.world.sleep(long_time(self.world.chance, MILLI, 2 * SECOND))

    def drop(self, actor: Actor) -> None:
        self.rest()
        catalog = self.catalog(actor)
        catalog.drop_table(NAME)
        self.is_gone = True
        self.rest()
        try:
            make(catalog, 1000, self.schema)
        except InvalidRequest as error:  # a concurrent commit has left a snapshot: the name is not free
            self.overlapped = True
            if f"Call drop_table({NAME!r})" not in str(error):
                self.world.fail(f"I36: the error does not say how to free the name: {error}")
            with contextlib.suppress(TableNotFound, InvalidRequest):  # another commit is running
                catalog.drop_table(NAME)
                make(catalog, 1000, self.schema)

    def hold(self, actor: Actor) -> None:
        table = self.catalog(actor).table(NAME)
        pinned = table.at(snapshot=2)
        for _ in range(4):
            self.rest()
            name = sorted(OPERATIONS)[int(self.world.draw() * len(OPERATIONS))]
            was_gone = self.is_gone
            try:
                found = OPERATIONS[name](table, pinned)
            except TableNotFound:
                continue
            except PaimonError as error:
                if was_gone:
                    self.world.fail(f"I36: {name} with a handle of a dropped table raises {error!r}")
            else:
                # A snapshot without a schema, left by a concurrent commit, looks like a damaged table.
                is_told = name == "check" and found.errors
                if was_gone and not is_told:
                    self.world.fail(f"I36: {name} with a handle of a dropped table gives {found!s:.200}")
            self.overlapped |= name in CHANGES and self.is_gone and not was_gone

    def play(self) -> None:
        world = self.world
        with contextlib.suppress(Violation, Died):
            for number in range(self.HOLDERS):
                world.spawn(f"holder {number}", self.hold)
            world.spawn("dropper", self.drop, after=SECOND)  # all actors have opened the table by then
            world.run()
            self.check_end()

    def check_end(self) -> None:
        """Check that the new table has only its own rows and references."""
        if self.overlapped:
            return
        table = self.catalog(None).table(NAME)
        keys = sorted(table.scan().to_arrow()["k"].to_pylist())
        state = (keys, [t.name for t in table.tags.list()], table.branches.list(), len(table.inspect.snapshots()))
        wanted = ([1000, 1001, 1002], [], [], self.COMMITS_OF_THE_NEW)
        if state != wanted:
            self.world.fail(f"I36: the new table holds {state}, not {wanted}")


def play(seed: int, *, keep: bool = False) -> DropHistory:
    """Run one history; a violation is in ``history.world.violation``."""
    world = World(seed, keep=keep)
    with simulated(world):
        history = DropHistory(world)
        history.play()
    return history
