"""A history: one table, the actors that work on it, and their jobs, which continue after errors and crashes."""

from __future__ import annotations

import contextlib
import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from paimon_core.errors import (
    AlreadyExists,
    CommitConflict,
    CommitStateUnknown,
    CorruptTable,
    InvalidRequest,
    NotFound,
    PlanOutdated,
    SnapshotNotFound,
    StorageError,
)
from paimon_core.fsck.check import check
from paimon_core.metadata.context import TableContext
from paimon_core.schema import TableSchema
from paimon_core.table.table import Table
from tests.simulator.final import check_end
from tests.simulator.oracle import WRITING, Call, Oracle
from tests.simulator.store import OBJECTS, POSIX, STALE, Disk, Outcome, Profile, SimStorage
from tests.simulator.world import DAY, HOUR, MILLI, SECOND, Actor, Chances, Died, Violation, World, long_time

ROOT = "/w/db.db/t"
JOB_TRIES = 12
CHECKED, EXPIRING = "checked", "expiring"
Begin = Callable[..., Call]
Job = Callable[[Table, Begin], object]


@dataclass
class History(ABC):
    """One table and its actors; all their properties are drawn from the world's random numbers."""

    world: World
    last_identifier: dict[str, int] = field(default_factory=dict)
    """The last used identifier by user."""
    plan: Callable[[str, str], Outcome] | None = None
    """Decides the outcome of each call instead of chance."""
    calm: str | None = None
    """CHECKED: no faults, frequent expiry, and concurrent checks of the table. EXPIRING: the same without checks, and
    processes are paused. "": neither. None: the seed decides."""

    CALM: ClassVar[dict[int, str]] = {3: EXPIRING, 7: CHECKED}
    """The value of ``calm`` by the last digit of the seed."""
    WRITERS: ClassVar[int] = 3
    COMPACTORS: ClassVar[int] = 2
    READERS: ClassVar[int] = 2
    SURVIVOR_TRIES: ClassVar[int] = 1
    """How often a writer may try at the end, when nothing fails."""

    def __post_init__(self) -> None:
        world, draw = self.world, self.world.draw
        if self.calm is None:
            self.calm = self.CALM.get(world.seed % 10, "")
        world.chances = self.draw_chances()
        profile = self.draw_profile()
        if self.calm:
            world.chances = Chances(stick=world.chances.stick, freeze=0.01 if self.calm == EXPIRING else 0.0)
            profile = (OBJECTS, POSIX)[int(draw() * 2)]
        self.is_stale = profile is STALE
        self.retain = 1 if self.calm else 1 + int(draw() * 3)
        self.disk = Disk(world, profile)
        schema = self.draw_schema()
        self.context = TableContext.of("db.t", SimStorage(self.disk), ROOT, schema)
        assert self.context.schemas.publish(schema)
        self.disk.changes.clear()  # listings are never so stale that the table is missing
        self.oracle = self.new_oracle()
        self.disk.watch = self.oracle.watch

    def draw_profile(self) -> Profile:
        return (OBJECTS, OBJECTS, POSIX, POSIX, STALE)[int(self.world.draw() * 5)]

    def draw_chances(self) -> Chances:
        draw = self.world.draw
        heavy = (0.0, 0.4, 1.0, 2.5)[int(draw() * 4)]
        return Chances(
            fail=0.012 * heavy,
            lose=0.025 * heavy,
            die=0.012 * heavy,
            freeze=(0.0, 0.002, 0.01)[int(draw() * 3)],
            step=(0.0, 0.002)[int(draw() * 2)],
            stick=(0.0, 0.5, 0.9)[int(draw() * 3)],
        )

    # -- what differs between kinds of histories

    @abstractmethod
    def draw_schema(self) -> TableSchema:
        """Return the schema and options of the table."""

    @abstractmethod
    def new_oracle(self) -> Oracle: ...

    @abstractmethod
    def new_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        """Draw a write, which is repeated until it succeeds."""

    @abstractmethod
    def survivor_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        """Draw a write that creates exactly one snapshot."""

    @abstractmethod
    def new_compaction(self) -> Job: ...

    @abstractmethod
    def read(self, table: Table, begin: Begin) -> None:
        """Read a snapshot, and fail unless its content is right or the error says that it has expired."""

    def check_more(self, table: Table) -> None:  # noqa: B027 - most kinds have no more
        """Check what only some kinds of histories have; called last, without faults."""

    # -- processes

    def table(self, actor: Actor | None) -> Table:
        """Return the table as a new process opens it."""
        storage = SimStorage(self.disk, actor, self.plan)
        return Table(TableContext.of("db.t", storage, ROOT, self.context.schema))

    def job(self, actor: Actor, do: Job, *, tries: int = JOB_TRIES) -> None:
        """Run a job as a scheduler does: repeat it after an error or (in a new process) a crash until it succeeds."""
        table = self.table(actor)

        def begin(kind: str, **known: Any) -> Call:
            actor.call = self.oracle.begin(actor.name, kind, **known)
            return actor.call

        for _ in range(tries):
            try:
                do(table, begin)
                return
            except Died:
                if self.world.closed or self.world.violation is not None:
                    raise
                self._undecided(actor)
                actor.dead = False
                table = self.table(actor)
            except CommitStateUnknown:
                self._undecided(actor)
            except (CommitConflict, NotFound, PlanOutdated, StorageError) as error:
                self._refused(actor, error)
                self._check_expired(actor, error)
            except InvalidRequest as error:
                self._refused(actor, error)
                if "is too low" not in str(error):
                    self.oracle.fail(actor.call, f"unexpected: {error!r}")
                return
            except CorruptTable as error:
                if "was only partly created or deleted" not in str(error):  # a branch is being created
                    self.oracle.fail(actor.call, f"unexpected: {error!r}")
                self._refused(actor, error)
            except Exception as error:
                self.oracle.fail(actor.call, f"unexpected: {error!r}")
            self.world.sleep(long_time(self.world.chance, 10 * MILLI, 600 * SECOND))

    def _undecided(self, actor: Actor) -> None:
        if actor.call is not None and actor.call.outcome == "running":
            self.oracle.undecided(actor.call)

    def _refused(self, actor: Actor, error: Exception) -> None:
        if actor.call is not None and actor.call.outcome == "running":
            self.oracle.refused(actor.call, error)

    def _check_expired(self, actor: Actor, error: Exception) -> None:
        """I33: a write, delete or compaction must not fail because a snapshot expires; it reads the latest again."""
        call = actor.call
        if not isinstance(error, SnapshotNotFound) or call is None or call.kind not in WRITING:
            return
        if call.rollbacks == self.oracle.rollbacks and not self.oracle.rollback_runs:
            self.oracle.fail(call, f"I33: a snapshot expired under it: {error}")

    def rest(self) -> None:
        """Sleep between two jobs, mostly for a short time, sometimes up to a day."""
        draw = self.world.draw()
        most = SECOND / 5 if self.calm else SECOND if draw < 0.7 else DAY
        self.world.sleep(long_time(self.world.chance, MILLI, most))

    # -- the actors

    def writer(self, actor: Actor) -> None:
        for _ in range(2 + int(self.world.draw() * 3)):
            self.rest()
            self.write_job(actor)

    def write_job(self, actor: Actor) -> None:
        """Run a write, usually with an identifier; when its process is paused for long, another may take it over."""
        counted = self.world.draw() < self.COUNTED
        user, identifier = actor.name, None
        if counted:
            identifier = self.last_identifier.get(user, 0) + 1
            self.last_identifier[user] = identifier
        write = self.new_write(actor)

        def do(table: Table, begin: Begin) -> None:
            write(table, begin, user, identifier)

        def take_over() -> None:
            if counted and actor.wake_at - self.world.now > HOUR and self.world.draw() < 0.5:
                second = self.world.spawn(f"{actor.name}'", lambda a: self.job(a, do), after=10 * SECOND)
                second.faults = False

        actor.frozen = take_over
        self.job(actor, do, tries=JOB_TRIES if counted else 1)
        actor.frozen = None

    COUNTED: ClassVar[float] = 0.75

    def compactor(self, actor: Actor) -> None:
        for _ in range(1 + int(self.world.draw() * 2)):
            self.rest()
            self.job(actor, self.new_compaction(), tries=3)

    def expirer(self, actor: Actor) -> None:
        for _ in range(8 if self.calm else 2 + int(self.world.draw() * 2)):
            self.rest()
            self.job(actor, self.expire, tries=3)

    def expire(self, table: Table, begin: Begin) -> None:
        call = begin("expire", retain=self.retain)
        age = datetime.timedelta(0) if self.world.draw() < 0.7 else datetime.timedelta(hours=1)
        table.expire_snapshots(keep_last=self.retain, older_than=age)
        self.oracle.done(call)

    def inspector(self, actor: Actor) -> None:
        """Check the table during concurrent changes; it must be complete at every moment."""
        for _ in range(3):
            self.rest()
            self.job(actor, self.inspect)

    def inspect(self, table: Table, begin: Begin) -> None:
        call = begin("fsck")
        before = set(self.oracle.orphaned)
        report = check(table.context)
        # An orphaned snapshot is an error until it is deleted.
        if report.errors and not before | self.oracle.orphaned.keys():
            self.oracle.fail(call, f"I35: fsck of a table that is whole: {report.errors[0].sentence()}")
        self.oracle.done(call)

    def cleaner(self, actor: Actor) -> None:
        """Remove orphans; the age must exceed the longest pause of a writer and the difference of clocks."""
        longest = 2 if not self.world.chances.freeze else 9
        for _ in range(2):
            self.world.sleep(long_time(self.world.chance, HOUR, longest * 2 * DAY))
            self.job(actor, lambda t, b: self.clean(t, b, datetime.timedelta(days=longest)), tries=3)

    def clean(self, table: Table, begin: Begin, age: datetime.timedelta) -> None:
        call = begin("clean")
        mode = "delete" if self.world.draw() < 0.5 else "quarantine"
        plan = table.maintenance.plan_orphan_removal(older_than=age, mode=mode)
        table.maintenance.apply(plan)
        self.oracle.done(call)

    def admin(self, actor: Actor) -> None:
        for number in range(2 + int(self.world.draw() * 3)):
            self.rest()
            what = self.world.draw()
            if what < 0.4:
                self.job(actor, lambda t, b, n=number: self.tag(t, b, f"t{n}"))
            elif what < 0.6:
                self.job(actor, self.delete_tag)
            elif what < 0.8:
                self.branch_job(actor, f"b{number}")
            else:
                self.rollback_job(actor)

    def branch_job(self, actor: Actor, name: str) -> None:
        """Create a branch from a tag, commit to it, then fast-forward to it or delete it."""
        tags: list[str] = []

        def create(table: Table, begin: Begin) -> None:
            if not tags:
                tags.extend(t.name for t in table.tags.list()[:1])
            if tags and not tags[0].startswith("paimon-core"):
                call = begin("create branch")
                with contextlib.suppress(AlreadyExists, NotFound):  # created by an earlier try; or the tag was deleted
                    table.branches.create(name, tag=tags[0])
                self.oracle.done(call)

        self.job(actor, create)
        if name not in self.table(None).branches.list():
            return
        for number in range(1 + int(self.world.draw() * 2)):
            write = self.survivor_write(actor)
            user = f"{actor.name} on {name}"
            self.job(actor, lambda t, b, w=write, n=number, u=user: w(t.branch(name), b, u, n))
            self.rest()
        forward = self.world.draw() < 0.5

        def end(table: Table, begin: Begin) -> None:
            call = begin("fast forward" if forward else "delete branch")
            if forward:
                table.branches.fast_forward(name)
            else:
                with contextlib.suppress(NotFound):  # an earlier try
                    table.branches.delete(name)
            self.oracle.done(call)

        self.job(actor, end, tries=3 if forward else JOB_TRIES)

    def tag(self, table: Table, begin: Begin, name: str) -> None:
        call = begin("create tag")
        ids = table.context.snapshots.ids()
        if not ids:
            return
        with contextlib.suppress(AlreadyExists, NotFound):  # created by an earlier try; or expired
            table.tags.create(name, ids[int(self.world.draw() * len(ids))])
            if table.tags.read(name).snapshot.uuid in self.oracle.orphaned_uuids:
                table.tags.delete(name)  # its writer withdraws that snapshot
            elif table.context.paths.tag(name) in self.oracle.unprotected:
                self.oracle.fail(call, f"I21: tag {name} was made, but its files may be gone")
        self.oracle.done(call)

    def delete_tag(self, table: Table, begin: Begin) -> None:
        call = begin("delete tag")
        tags = table.tags.list()
        if tags:
            with contextlib.suppress(NotFound):  # deleted by an earlier try
                table.tags.delete(tags[int(self.world.draw() * len(tags))].name)
        self.oracle.done(call)

    def rollback_job(self, actor: Actor) -> None:
        target: list[dict[str, Any]] = []

        def do(table: Table, begin: Begin) -> None:
            if not target:
                found: list[dict[str, Any]] = [{"tag": t.name} for t in table.tags.list()]
                found += [{"snapshot": i} for i in table.context.snapshots.ids()[-4:]]
                if not found:
                    return
                target.append(found[int(self.world.draw() * len(found))])
            call = begin("rollback")
            with contextlib.suppress(NotFound):  # it has expired
                table.rollback(**target[0])
            self.oracle.done(call)

        self.job(actor, do)
        for user in self.last_identifier:  # a job that was rolled back starts again with higher identifiers
            self.last_identifier[user] += 1000

    def reader(self, actor: Actor) -> None:
        for _ in range(3):
            self.rest()
            self.job(actor, self._read, tries=2)

    def _read(self, table: Table, begin: Begin) -> None:
        call = begin("read")
        try:
            self.read(table, begin)
        except NotFound:
            return
        except CorruptTable as error:
            self.oracle.fail(call, f"I26: a reader finds {error}")

    def pick_snapshot(self, table: Table) -> Any:
        """Return the latest snapshot or any other; None without snapshots. Raises SnapshotNotFound."""
        snapshots = table.context.snapshots
        if self.world.draw() < 0.4:
            return snapshots.latest()
        ids = snapshots.ids()
        return snapshots.read(ids[int(self.world.draw() * len(ids))]) if ids else None

    # -- the whole

    def play(self) -> None:
        """Run all actors to their end, then check the table; a violation is in ``world.violation``."""
        world = self.world
        roles: list[tuple[str, Callable[[Actor], None]]] = [("expirer", self.expirer)]
        roles += [(f"writer {n}", self.writer) for n in range(self.WRITERS)]
        roles += [(f"compactor {n}", self.compactor) for n in range(self.COMPACTORS)]
        roles += [(f"reader {n}", self.reader) for n in range(self.READERS)]
        if self.calm:
            roles += [("expirer 2", self.expirer)]
            roles += [("inspector", self.inspector)] if self.calm == CHECKED else []
        elif not self.is_stale:  # with stale listings, removals of references are not safe
            roles += [("admin", self.admin)]
            roles += [("cleaner", self.cleaner)] if world.draw() < 0.4 else []
        for name, run in roles:
            world.spawn(name, run, offset=0 if self.calm or world.draw() < 0.5 else int((world.draw() * 2 - 1) * DAY))
        with contextlib.suppress(Violation, Died):
            world.run()
            check_end(self)
