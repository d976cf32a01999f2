"""Exhaustive tests: inject every fault at every call of an operation, repeat the operation, and check the table.

The operations run alone on a table with some history. The faults of a call: its process ends before, during or after
it; it fails once, or it and the following calls fail; its answer is lost, or the client repeats the request and
returns the second answer.
"""

from __future__ import annotations

import contextlib
import datetime
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.errors import AlreadyExists, TableNotFound
from paimon_core.table.table import Table
from tests.simulator.cheap import cheap_manifests
from tests.simulator.dropping import make, with_references
from tests.simulator.final import check_end
from tests.simulator.history import Begin, Job
from tests.simulator.metadata import MetadataHistory
from tests.simulator.store import MUTATIONS, OBJECTS, POSIX, Outcome, Profile
from tests.simulator.world import DAY, Actor, Chances, Died, Violation, World, simulated
from tests.support.fake_tables import fake_rows

ERRORS_IN_A_ROW = 8
"""The number of consecutive calls that fail when an error persists."""


class Scripted(MetadataHistory):
    """A history without random decisions; the profile alternates with the seed."""

    def draw_chances(self) -> Chances:
        return Chances()

    def draw_profile(self) -> Profile:
        return (OBJECTS, POSIX)[self.world.seed % 2]

    def run(self, name: str, do: Callable[[Actor], None]) -> None:
        """Run one actor to its end."""
        self.world.spawn(name, do)
        self.world.run()


@dataclass(frozen=True)
class Operation:
    """An operation, and the preparation of its table."""

    name: str
    prepare: Callable[[Scripted, Actor], None]
    run: Callable[[Scripted, Actor], None]


@dataclass(frozen=True)
class Fault:
    """A fault at a call (from 0); ``again``: the process ends a second time, this many calls after the first."""

    call: int
    outcome: Outcome
    calls: int = 1
    again: int | None = None

    def outcome_of(self, number: int) -> Outcome:
        if self.call <= number < self.call + self.calls:
            return self.outcome
        return Outcome.DIE_AFTER if self.again is not None and number == self.call + self.again else Outcome.OK


def _write(kind: str) -> Callable[[Scripted, Actor], None]:
    def run(history: Scripted, actor: Actor) -> None:
        number = history.last_identifier[actor.name] = history.last_identifier.get(actor.name, 0) + 1

        def do(table: Table, begin: Begin) -> None:
            history.write(table, begin, actor.name, number, kind)

        history.job(actor, do)

    return run


def _job(make: Callable[[Scripted], Job]) -> Callable[[Scripted, Actor], None]:
    return lambda history, actor: history.job(actor, make(history))


def _some_history(history: Scripted, actor: Actor) -> None:
    for kind in ("append", "append and compact", "append", "overwrite", "append", "append"):
        _write(kind)(history, actor)


def _with_tag(history: Scripted, actor: Actor) -> None:
    """Prepare a tag whose snapshot has expired."""
    _some_history(history, actor)
    history.job(actor, lambda t, b: _tag(history, t, b, "kept", 2))
    history.retain = 1
    history.job(actor, history.expire)
    _write("append")(history, actor)
    history.job(actor, lambda t, b: _tag(history, t, b, "new", t.context.snapshots.latest_id() or 0))
    _write("append")(history, actor)


def _with_branch(history: Scripted, actor: Actor) -> None:
    _with_tag(history, actor)
    history.job(actor, lambda t, b: _rollback(history, t, b, {"tag": "new"}))
    history.job(actor, lambda t, b: _branch(history, t, b, "create", "new"))
    for number in range(2):
        history.job(actor, lambda t, b, n=number: history.write(t.branch("side"), b, "on side", n))


def _with_garbage(history: Scripted, actor: Actor) -> None:
    for kind in ("append", "append and compact"):
        _write(kind)(history, actor)
    history.job(actor, lambda t, b: _tag(history, t, b, "x", 1))
    table = history.table(actor)
    for _ in range(2):
        history.file(table, ("a", 0), set())
    table.context.manifests.write_list([])
    history.world.sleep(3 * DAY)


def _tag(history: Scripted, table: Table, begin: Begin, name: str, snapshot: int) -> None:
    call = begin("create tag")
    with contextlib.suppress(AlreadyExists):
        table.tags.create(name, snapshot)
    history.oracle.done(call)


def _delete_tag(history: Scripted, table: Table, begin: Begin) -> None:
    call = begin("delete tag")
    with contextlib.suppress(LookupError):
        table.tags.delete("kept")
    history.oracle.done(call)


def _rollback(history: Scripted, table: Table, begin: Begin, to: dict[str, Any]) -> None:
    call = begin("rollback")
    table.rollback(**to)
    history.oracle.done(call)


def _branch(history: Scripted, table: Table, begin: Begin, what: str, tag: str = "") -> None:
    call = begin({"create": "create branch", "forward": "fast forward", "delete": "delete branch"}[what])
    with contextlib.suppress(AlreadyExists, LookupError):
        if what == "create":
            table.branches.create("side", tag=tag)
        elif what == "forward":
            table.branches.fast_forward("side")
        else:
            table.branches.delete("side")
    history.oracle.done(call)


def _then_days_go_by(history: Scripted, actor: Actor) -> None:
    _some_history(history, actor)
    history.world.sleep(3 * DAY)


def _expire_partitions(history: Scripted, table: Table, begin: Begin) -> None:
    call = begin("expire partitions", apply=lambda state: frozenset())
    maintenance = table.maintenance
    plan = maintenance.plan_partition_expiry(older_than=datetime.timedelta(days=1), strategy="update-time")
    maintenance.apply(plan)
    history.oracle.done(call)
    if history.oracle.latest().state:  # type: ignore[union-attr]
        history.oracle.fail(call, "the partitions have not expired")


def _clean(mode: str) -> Callable[[Scripted, Actor], None]:
    def do(history: Scripted, table: Table, begin: Begin) -> None:
        call = begin("clean")
        plan = table.maintenance.plan_orphan_removal(older_than=datetime.timedelta(days=1), mode=mode)
        table.maintenance.apply(plan)
        history.oracle.done(call)

    return lambda history, actor: history.job(actor, lambda t, b: do(history, t, b))


def _create_table(history: Scripted, actor: Actor) -> None:
    def do(table: Table, begin: Begin) -> None:
        call = begin("create table")
        catalog = FilesystemCatalog(table.context.storage, "/w2")
        catalog.create_database("db", ignore_if_exists=True)
        schema = table.context.schema.arrow
        made = catalog.create_table("db.t2", schema, options={"bucket": "-1"}, ignore_if_exists=True)
        if made.schema.names != table.schema.names or len(made.context.schemas.ids()) != 1:
            history.oracle.fail(call, f"I25: made {made.schema}")
        history.oracle.done(call)

    history.job(actor, do)
    if not history.disk.remove("/w2/db.db/t2/schema/schema-0"):
        history.oracle.fail(actor.call, "I25: the table was not made")


def _with_another_table(history: Scripted, actor: Actor) -> None:
    """Create a second small table with a tag and a branch."""
    catalog = FilesystemCatalog(history.table(None).context.storage, "/w2")
    catalog.create_database("db", ignore_if_exists=True)
    with_references(make(catalog, 0))


def _drop_table(history: Scripted, actor: Actor) -> None:
    """Drop a table, in a new process after a crash; then check that no file is left and that the name is free."""

    def do(table: Table, begin: Begin) -> None:
        call = begin("drop table")
        with contextlib.suppress(TableNotFound):  # an earlier try has dropped it
            FilesystemCatalog(table.context.storage, "/w2").drop_table("db.t")
        history.oracle.done(call)

    history.job(actor, do)
    left = [f.path for f in history.disk.below("/w2/db.db/t")]
    if left:
        history.oracle.fail(actor.call, f"I37: {len(left)} files of a dropped table are left, such as {left[0]}")
    catalog = FilesystemCatalog(history.table(None).context.storage, "/w2")
    if catalog.list_tables("db") or make(catalog, 5).scan().count() != 3:
        history.oracle.fail(actor.call, "I37: the name of a dropped table is not free")
    catalog.drop_table("db.t")


OPERATIONS = (
    Operation("append", _some_history, _write("append")),
    Operation("append and compact", _some_history, _write("append and compact")),
    Operation("overwrite", _some_history, _write("overwrite")),
    Operation("compact", _some_history, _job(lambda h: lambda t, b: h.compact(t, b, ("a", 0)))),
    Operation("expire", _some_history, _job(lambda h: h.expire)),
    Operation("create tag", _some_history, _job(lambda h: lambda t, b: _tag(h, t, b, "x", 3))),
    Operation("delete tag", _with_tag, _job(lambda h: lambda t, b: _delete_tag(h, t, b))),
    Operation("rollback", _some_history, _job(lambda h: lambda t, b: _rollback(h, t, b, {"snapshot": 3}))),
    Operation("rollback to tag", _with_tag, _job(lambda h: lambda t, b: _rollback(h, t, b, {"tag": "kept"}))),
    Operation("create branch", _with_tag, _job(lambda h: lambda t, b: _branch(h, t, b, "create", "kept"))),
    Operation("fast-forward", _with_branch, _job(lambda h: lambda t, b: _branch(h, t, b, "forward"))),
    Operation("delete branch", _with_branch, _job(lambda h: lambda t, b: _branch(h, t, b, "delete"))),
    Operation("expire partitions", _then_days_go_by, _job(lambda h: lambda t, b: _expire_partitions(h, t, b))),
    Operation("clean to quarantine", _with_garbage, _clean("quarantine")),
    Operation("clean for good", _with_garbage, _clean("delete")),
    Operation("create table", _some_history, _create_table),
    Operation("drop table", _with_another_table, _drop_table),
)


def play(operation: Operation, seed: int, fault: Fault | None, *, keep: bool = False) -> tuple[Scripted, list[str]]:
    """Run the operation with one fault; return the history and the verbs of its calls. A violation is in the world."""
    world = World(seed, keep=keep)
    verbs: list[str] = []

    def plan(verb: str, path: str) -> Outcome:
        verbs.append(verb)
        return Outcome.OK if fault is None else fault.outcome_of(len(verbs) - 1)

    with cheap_manifests(), fake_rows(), simulated(world):
        history = Scripted(world)
        history.keyed = True
        with contextlib.suppress(Violation, Died):
            history.run("before", lambda actor: operation.prepare(history, actor))
            history.plan = plan
            history.run("operator", lambda actor: operation.run(history, actor))
            history.plan = None
            check_end(history)
    return history, verbs


def faults_of(verbs: list[str]) -> Iterator[Fault]:
    """Yield all faults of the calls ``verbs``."""
    for number, verb in enumerate(verbs):
        yield Fault(number, Outcome.DIE_BEFORE)
        yield Fault(number, Outcome.FAIL)
        yield Fault(number, Outcome.FAIL, ERRORS_IN_A_ROW)
        if verb in MUTATIONS:
            yield Fault(number, Outcome.DIE_AFTER)
            yield Fault(number, Outcome.TORN)
            yield Fault(number, Outcome.LOSE)
            yield Fault(number, Outcome.REPEAT)
        if verb == "create":
            yield Fault(number, Outcome.LATE)


def every_fault(operation: Operation, seed: int) -> Iterator[tuple[Fault, str | None]]:
    """Run the operation with each of its faults; yield the fault and the violation, if any."""
    _, verbs = play(operation, seed, None)
    for fault in faults_of(verbs):
        history, _ = play(operation, seed, fault)
        yield fault, None if history.world.violation is None else str(history.world.violation)


def second_deaths(count: int) -> Iterator[tuple[Operation, Fault, str | None]]:
    """Sample histories in which the process ends in an operation, and again while the operation is repeated."""
    chance = random.Random(5)
    lengths = {op.name: len(play(op, 0, None)[1]) for op in OPERATIONS}
    for number in range(count):
        operation = OPERATIONS[number % len(OPERATIONS)]
        first = chance.randrange(lengths[operation.name])
        again = 1 + chance.randrange(lengths[operation.name])
        fault = Fault(first, chance.choice((Outcome.DIE_BEFORE, Outcome.DIE_AFTER)), again=again)
        history, _ = play(operation, number % 2, fault)
        yield operation, fault, None if history.world.violation is None else str(history.world.violation)
