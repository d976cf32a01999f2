"""World: runs actors in one thread, switches between them at storage calls, and draws all decisions from one seed.

Each actor is a greenlet. Time is virtual: it advances with every call and jumps when all actors sleep; the clock of an
actor may be wrong and may jump. While ``simulated`` is entered, the product gets uuids, clocks, sleep and random
numbers from the world, so that a seed always gives exactly the same history.
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
"""The start time of every world, in nanoseconds since 1970."""
MILLI = 1_000_000
SECOND = 1_000 * MILLI
HOUR = 3600 * SECOND
DAY = 24 * HOUR


class Died(BaseException):
    """The process has ended: no code catches this, and its storage refuses all further calls."""


class Violation(Exception):
    """A guarantee was violated."""


@dataclass(eq=False)
class Actor:
    """One role, such as a writer; its process may end and be started again."""

    name: str
    run: Callable[[Actor], None]
    offset: int = 0
    """The error of its clock, in nanoseconds."""
    wake_at: int = 0
    dead: bool = False
    """Whether the process was killed; reset when it is started again."""
    call: Any = None
    """Its current call, as known to the oracle."""
    frozen: Callable[[], None] | None = None
    """Called when it is paused for long: another actor may take over its work."""
    green: Any = None
    over: bool = False
    publishes: int = 0
    """The number of exclusive creations that it has tried."""
    faults: bool = True


@dataclass(frozen=True)
class Chances:
    """The probabilities that a call fails, loses its answer, ends its process or pauses it."""

    fail: float = 0.0
    lose: float = 0.0
    die: float = 0.0
    freeze: float = 0.0
    step: float = 0.0
    """The probability that a clock jumps."""
    stick: float = 0.0
    """The probability that the same actor continues after a call."""


@dataclass
class World:
    """The scheduler; ``current`` is the running actor, None outside of ``run``."""

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
    """Whether faults are switched off."""
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
        """Add an actor that starts after this many nanoseconds."""
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
        """Run all actors to their end; raises Violation as soon as there is one."""
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
        """End all remaining actors."""
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
        """Record a violation and end the history."""
        if self.violation is None:
            self.violation = Violation(problem)
            self.note("violation", problem)
        raise Died

    # -- time

    def sleep(self, nanoseconds: int) -> None:
        """Let the current actor sleep; outside of actors only advance the time."""
        actor = self.current
        if actor is None:
            self.now += nanoseconds
            return
        actor.wake_at = self.now + max(nanoseconds, 1)
        self.hub.switch()
        self._check_alive(actor)

    def nanos(self) -> int:
        """Return the wall clock of the current actor in nanoseconds."""
        return EPOCH + self.now + (self.current.offset if self.current else 0)

    def pause(self) -> None:
        """Advance the time, and perhaps pause the actor, let its clock jump or switch to another actor."""
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
        """Call ``action`` after this many nanoseconds, whichever actor runs then."""
        self._later.append((self.now + after, self.ops, action))

    def _do_later(self) -> None:
        due = [item for item in self._later if item[0] <= self.now]
        if due:
            self._later = [item for item in self._later if item[0] > self.now]
            for _, _, action in due:
                action()

    # -- what happened

    def note(self, *words: object) -> None:
        """Add one line to the trace."""
        line = f"{self.current.name if self.current else '-'} {' '.join(map(str, words))}"
        self._hash.update(line.encode())
        if self.keep:
            self.trace.append(f"{self.now / SECOND:>14.3f} {line}")

    def count(self, what: str) -> None:
        """Count a fault for the report."""
        self.counts[what] = self.counts.get(what, 0) + 1

    @property
    def trace_hash(self) -> str:
        """The hash of all calls so far and their outcomes."""
        return self._hash.hexdigest()


def long_time(chance: random.Random, least: int, most: int) -> int:
    """Draw a time between the two, with a logarithmic distribution."""
    return int(least * (most / least) ** chance.random())


_world: World | None = None


@contextlib.contextmanager
def simulated(world: World) -> Iterator[World]:
    """Give the product the world's clocks, uuids and random numbers in this thread; other threads get the real ones."""
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
    """A thread pool that runs its work immediately in the calling thread."""

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
