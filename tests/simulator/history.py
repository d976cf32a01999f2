"""A history: one table, the actors that work on it, and how their jobs go on after errors, deaths and lost answers."""

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
    """One table and its actors; everything about them is drawn from the world's chance."""

    world: World
    last_identifier: dict[str, int] = field(default_factory=dict)
    """By user, of the jobs handed out."""
    plan: Callable[[str, str], Outcome] | None = None
    """Decides the outcome of each call instead of chance."""
    calm: str | None = None
    """CHECKED: nothing fails, snapshots expire all the time, and the table is checked meanwhile. EXPIRING: the same
    without checks, and processes freeze. "": neither; None: the seed says."""

    CALM: ClassVar[dict[int, str]] = {3: EXPIRING, 7: CHECKED}
    """By the last digit of the seed."""
    WRITERS: ClassVar[int] = 3
    COMPACTORS: ClassVar[int] = 2
    READERS: ClassVar[int] = 2

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
        self.disk.changes.clear()  # the table is older than any delay of a listing
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
        """The table's schema and options."""

    @abstractmethod
    def new_oracle(self) -> Oracle: ...

    @abstractmethod
    def new_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        """A write as it is drawn once, to be done until it succeeds."""

    @abstractmethod
    def survivor_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        """A write that makes one snapshot."""

    @abstractmethod
    def new_compaction(self) -> Job: ...

    @abstractmethod
    def read(self, table: Table, begin: Begin) -> None:
        """Read a snapshot, and fail unless it holds what it was made with, or is said to have expired."""

    # -- processes

    def table(self, actor: Actor | None) -> Table:
        """The table as a new process opens it."""
        storage = SimStorage(self.disk, actor, self.plan)
        return Table(TableContext.of("db.t", storage, ROOT, self.context.schema))

    def job(self, actor: Actor, do: Job, *, tries: int = JOB_TRIES) -> None:
        """Do it as a scheduler does: again after an error or a death, in a new process, until it is done."""
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
                if "too late" not in str(error):
                    self.oracle.fail(actor.call, f"unexpected: {error!r}")
                return
            except CorruptTable as error:
                if "was only partly created or deleted" not in str(error):  # a branch is in the making
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
        """An expiry is no reason for a write, a delete or a compaction to fail: it looks at the latest again."""
        call = actor.call
        if not isinstance(error, SnapshotNotFound) or call is None or call.kind not in WRITING:
            return
        if call.rollbacks == self.oracle.rollbacks and not self.oracle.rollback_runs:
            self.oracle.fail(call, f"I33: a snapshot expired under it: {error}")

    def rest(self) -> None:
        """Between two jobs: mostly little, sometimes up to a day."""
        draw = self.world.draw()
        most = SECOND / 5 if self.calm else SECOND if draw < 0.7 else DAY
        self.world.sleep(long_time(self.world.chance, MILLI, most))

    # -- the actors

    def writer(self, actor: Actor) -> None:
        for _ in range(2 + int(self.world.draw() * 3)):
            self.rest()
            self.write_job(actor)

    def write_job(self, actor: Actor) -> None:
        """Mostly under an identifier; when its process freezes for long, another may take the work over."""
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
        """Checks the table, which is whole at every moment, while others change it."""
        for _ in range(3):
            self.rest()
            self.job(actor, self.inspect)

    def inspect(self, table: Table, begin: Begin) -> None:
        call = begin("fsck")
        before = set(self.oracle.strays)
        report = check(table.context)
        if report.errors and not before | self.oracle.strays.keys():  # such a snapshot is an error until it is gone
            self.oracle.fail(call, f"I35: fsck of a table that is whole: {report.errors[0].sentence()}")
        self.oracle.done(call)

    def cleaner(self, actor: Actor) -> None:
        """Removes orphans; the age must exceed any pause of a writer and what clocks may differ by."""
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
        """A branch from a tag, some commits to it, then forward with it or away with it."""
        tags: list[str] = []

        def create(table: Table, begin: Begin) -> None:
            if not tags:
                tags.extend(t.name for t in table.tags.list()[:1])
            if tags and not tags[0].startswith("paimon-core"):
                call = begin("create branch")
                with contextlib.suppress(AlreadyExists, NotFound):  # an earlier try; the tag went away
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
        with contextlib.suppress(AlreadyExists, NotFound):  # made by an earlier try; expired
            table.tags.create(name, ids[int(self.world.draw() * len(ids))])
            if table.tags.read(name).snapshot.uuid in self.oracle.beside:
                table.tags.delete(name)  # its maker takes that snapshot back
            elif table.context.paths.tag(name) in self.oracle.soft:
                self.oracle.fail(call, f"I21: tag {name} was made, but its files may be gone")
        self.oracle.done(call)

    def delete_tag(self, table: Table, begin: Begin) -> None:
        call = begin("delete tag")
        tags = table.tags.list()
        if tags:
            with contextlib.suppress(NotFound):  # an earlier try did it
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
            with contextlib.suppress(NotFound):  # it expired meanwhile
                table.rollback(**target[0])
            self.oracle.done(call)

        self.job(actor, do)
        for user in self.last_identifier:  # a job that was rolled back starts anew, above what it had
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
        """The latest or any other; None without snapshots. Raises SnapshotNotFound."""
        snapshots = table.context.snapshots
        if self.world.draw() < 0.4:
            return snapshots.latest()
        ids = snapshots.ids()
        return snapshots.read(ids[int(self.world.draw() * len(ids))]) if ids else None

    # -- the whole

    def play(self) -> None:
        """Run all actors to their end, then check what is left; a Violation is in ``world.violation``."""
        world = self.world
        roles: list[tuple[str, Callable[[Actor], None]]] = [("expirer", self.expirer)]
        roles += [(f"writer {n}", self.writer) for n in range(self.WRITERS)]
        roles += [(f"compactor {n}", self.compactor) for n in range(self.COMPACTORS)]
        roles += [(f"reader {n}", self.reader) for n in range(self.READERS)]
        if self.calm:
            roles += [("expirer 2", self.expirer)]
            roles += [("inspector", self.inspector)] if self.calm == CHECKED else []
        elif not self.is_stale:  # listings that lag are no ground for what removes references
            roles += [("admin", self.admin)]
            roles += [("cleaner", self.cleaner)] if world.draw() < 0.4 else []
        for name, run in roles:
            world.spawn(name, run, offset=0 if self.calm or world.draw() < 0.5 else int((world.draw() * 2 - 1) * DAY))
        with contextlib.suppress(Violation, Died):
            world.run()
            check_end(self)
