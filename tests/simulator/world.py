"""World: one thread in which actors take turns at every call of the storage, under one seeded source of chance.

Each actor is a greenlet. Time is virtual: it moves with every call and jumps when all sleep; every actor's clock may be
wrong, and may step. What the product takes from the machine (uuids, clocks, sleep, chance) comes from the world while
``simulated`` is entered, so that a seed gives the same history to the byte.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

EPOCH = 1_700_000_000_000_000_000
"""Nanoseconds since 1970 at which every world begins."""
MILLI = 1_000_000
SECOND = 1_000 * MILLI
HOUR = 3600 * SECOND
DAY = 24 * HOUR


class Died(BaseException):
    """The process is gone: nothing catches this, and its storage refuses every further call."""


class Violation(Exception):
    """A promise that was broken."""


@dataclass(eq=False)
class Actor:
    """One role; its process may die and be started again."""

    name: str
    run: Callable[[Actor], None]
    offset: int = 0
    """How wrong its clock is, in nanoseconds."""
    wake_at: int = 0
    dead: bool = False
    """The process was killed; cleared when it is started again."""
    call: Any = None
    """What it is doing, as the oracle sees it."""
    frozen: Callable[[], None] | None = None
    """What happens when it freezes for long: somebody may take its work over."""
    green: Any = None
    over: bool = False
    publishes: int = 0
    """Exclusive creations it has tried."""
    faults: bool = True


@dataclass(frozen=True)
class Chances:
    """Of each call: how likely it fails, loses its answer, kills its process or freezes it."""

    fail: float = 0.0
    lose: float = 0.0
    die: float = 0.0
    freeze: float = 0.0
    step: float = 0.0
    """How likely a clock steps."""
    stick: float = 0.0
    """How likely an actor goes on rather than another."""


@dataclass
class World:
    """The scheduler; ``current`` is whose turn it is, None outside of ``run``."""

    seed: int
    chances: Chances = field(default_factory=Chances)
    keep: bool = False
    """Whether to keep the trace as text."""
    now: int = 0
    ops: int = 0
    actors: list[Actor] = field(default_factory=list)
    current: Actor | None = None
    violation: Violation | None = None
    closed: bool = False
    quiet: bool = False
    """No faults any more."""
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.draw = self.chance.random
        self.hub: Any = None
        self.trace: list[str] = []
        self._hash = hashlib.blake2b(digest_size=8)
        self._later: list[tuple[int, int, Callable[[], None]]] = []

    # -- actors

    def spawn(self, name: str, run: Callable[[Actor], None], *, after: int = 0, offset: int = 0) -> Actor:
        """Add an actor that starts ``after`` nanoseconds."""
        actor = Actor(name, run, offset, self.now + after)
        actor.green = greenlet(self._body)
        self.actors.append(actor)
        return actor

    def _body(self, actor: Actor) -> None:
        try:
            actor.run(actor)
        except Died:
            pass
        finally:
            actor.over = True

    def run(self) -> None:
        """Let all actors run to their end; raises Violation as soon as there is one."""
        self.hub = getcurrent()
        try:
            while live := [a for a in self.actors if not a.over]:
                ready = [a for a in live if a.wake_at <= self.now]
                if not ready:
                    self.now = min(a.wake_at for a in live)
                    self._do_later()
                    continue
                actor = ready[int(self.draw() * len(ready))]
                self.current = actor
                started = bool(actor.green)
                actor.green.parent = self.hub
                actor.green.switch() if started else actor.green.switch(actor)
                if self.violation is not None:
                    raise self.violation
        finally:
            self.current = None
            self.close()

    def close(self) -> None:
        """End the actors that are still there."""
        self.closed = True
        for actor in self.actors:
            if actor.green and not actor.over:
                actor.green.parent = self.hub
                with contextlib.suppress(Died):
                    actor.green.throw(GreenletExit)
            actor.over = True
        self.actors = []
        self.closed = False

    def fail(self, problem: str) -> None:
        """Note a broken promise and end the history."""
        if self.violation is None:
            self.violation = Violation(problem)
            self.note("violation", problem)
        raise Died

    # -- time

    def sleep(self, nanoseconds: int) -> None:
        """The current actor sleeps; outside of the actors time just moves."""
        actor = self.current
        if actor is None:
            self.now += nanoseconds
            return
        actor.wake_at = self.now + max(nanoseconds, 1)
        self.hub.switch()
        self._check_alive(actor)

    def nanos(self) -> int:
        """The current actor's wall clock."""
        return EPOCH + self.now + (self.current.offset if self.current else 0)

    def pause(self) -> None:
        """A scheduling point: others may act, the clock moves, the actor may freeze or its clock step."""
        self.ops += 1
        actor = self.current
        self.now += 1 * MILLI + int(self.draw() * 9 * MILLI)
        if self._later:
            self._do_later()
        if actor is None:
            return
        chances = self.chances
        if not self.quiet:
            drawn = self.draw()
            if drawn < chances.freeze:
                self.count("freeze")
                actor.wake_at = self.now + long_time(self.chance, SECOND, 7 * DAY)
                if actor.frozen is not None:
                    actor.frozen()
            elif drawn < chances.freeze + chances.step:
                self.count("clock step")
                actor.offset = int((self.draw() * 2 - 1) * DAY)
        if actor.wake_at > self.now or self.draw() >= chances.stick:
            self.hub.switch()
            self._check_alive(actor)

    def _check_alive(self, actor: Actor) -> None:
        if self.closed or actor.dead:
            raise Died

    def later(self, after: int, action: Callable[[], None]) -> None:
        """Do something ``after`` nanoseconds, whoever's turn it is."""
        self._later.append((self.now + after, self.ops, action))

    def _do_later(self) -> None:
        due = [item for item in self._later if item[0] <= self.now]
        if due:
            self._later = [item for item in self._later if item[0] > self.now]
            for _, _, action in due:
                action()

    # -- what happened

    def note(self, *words: object) -> None:
        """One line of the trace."""
        line = f"{self.current.name if self.current else '-'} {' '.join(map(str, words))}"
        self._hash.update(line.encode())
        if self.keep:
            self.trace.append(f"{self.now / SECOND:>14.3f} {line}")

    def count(self, what: str) -> None:
        """Count a fault, for the report."""
        self.counts[what] = self.counts.get(what, 0) + 1

    @property
    def trace_hash(self) -> str:
        """Of every call so far, with its outcome."""
        return self._hash.hexdigest()


def long_time(chance: random.Random, least: int, most: int) -> int:
    """A time between the two, small ones as likely as large ones."""
    return int(least * (most / least) ** chance.random())


_world: World | None = None


@contextlib.contextmanager
def simulated(world: World) -> Iterator[World]:
    """The product sees the world's clocks, uuids and chance, and works in one thread; others see the real ones."""
    global _world
    assert _world is None, "one world at a time"
    _world = world
    bits, draw = world.chance.getrandbits, world.draw
    patches: list[tuple[Any, str, Any]] = [
        (uuid, "uuid4", lambda: uuid.UUID(int=bits(128), version=4)),
        (time, "time_ns", world.nanos),
        (time, "time", lambda: world.nanos() / SECOND),
        (time, "monotonic", lambda: world.now / SECOND),
        (time, "sleep", lambda seconds: world.sleep(int(seconds * SECOND))),
        (random, "random", draw),
        (os, "urandom", lambda size: bits(8 * size).to_bytes(size)),
        (os, "cpu_count", lambda: 1),
        *((module, "ThreadPoolExecutor", SameThread) for module in _threaded_modules()),
    ]
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    for (owner, name, value), (_, _, real) in zip(patches, kept, strict=True):
        setattr(owner, name, value if isinstance(value, type) else _here(value, real))
    logger = logging.getLogger("paimon_core")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield world
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)
        logger.setLevel(level)
        _world = None


def _here(ours: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    thread = threading.get_ident()
    return lambda *given: (ours if threading.get_ident() == thread else real)(*given)


def _threaded_modules() -> list[Any]:
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.startswith("paimon_core.") and hasattr(module, "ThreadPoolExecutor")
    ]


class SameThread:
    """A pool that does its work at once, in the thread that asks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> SameThread:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done

    def map(self, work: Callable[..., Any], *items: Any) -> list[Any]:
        return [work(*each) for each in zip(*items, strict=False)]

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        pass
