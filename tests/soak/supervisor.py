"""Supervisor: starts the workers, kills and restarts some of them at random times, and leaves no process behind."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.soak.worker import live

SECONDS_TO_STOP = 120.0
SECONDS_TO_END = 600.0
MOST_FAILED_STARTS = 20


@dataclass
class Run:
    """What the supervisor has observed."""

    kills: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass
class Supervisor:
    folder: Path
    processes: int
    seed: int
    engine: str
    orphan_seconds: float
    seconds_between_kills: float
    run: Run = field(default_factory=Run)
    alive: dict[int, tuple[str, int]] = field(default_factory=dict)
    """The worker's name and number of restarts, by process id."""
    watched: tuple[int, int] = (-1, -1)

    def work(self, seconds: float) -> Run:
        """Let the workers run this long, then run the final check; returns in bounded time."""
        self.watched = os.pipe()
        try:
            self._let_them_work(time.monotonic() + seconds)
            (self.folder / "stop").touch()
            self._wait(SECONDS_TO_STOP, "did not stop")
            self._start("final", 0)
            self._wait(SECONDS_TO_END, "did not come to its end")
        finally:
            for pid in self.alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            os.close(self.watched[1])
            os.close(self.watched[0])
        return self.run

    def _let_them_work(self, until: float) -> None:
        chance = random.Random(self.seed)
        for number in range(self.processes):
            self._start(f"w{number}", 0)
        next_kill, failed = time.monotonic() + 1.0, 0
        while time.monotonic() < until and failed < MOST_FAILED_STARTS:
            time.sleep(0.02)
            if time.monotonic() >= next_kill:
                os.kill(chance.choice(sorted(self.alive)), signal.SIGKILL)
                next_kill = time.monotonic() + chance.expovariate(1 / self.seconds_between_kills)
            for name, life, is_killed in self._ended():
                failed += not is_killed
                self._start(name, life + 1)
        if failed:
            self.run.problems.append(f"{failed} workers ended by themselves")

    def _ended(self) -> list[tuple[str, int, bool]]:
        """Return the workers that have ended: name, number of restarts, and whether they were killed."""
        out = []
        for pid, (name, life) in list(self.alive.items()):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                del self.alive[pid]
                is_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
                self.run.kills += is_killed
                out.append((name, life, is_killed))
        return out

    def _wait(self, seconds: float, problem: str) -> None:
        until = time.monotonic() + seconds
        while self.alive and time.monotonic() < until:
            time.sleep(0.02)
            self._ended()
        for pid, (name, life) in list(self.alive.items()):
            os.kill(pid, signal.SIGUSR1)  # writes the stack, which shows where it hangs
            time.sleep(1)
            where = (self.folder / f"stack-{name}-{life}").read_text()
            self.run.problems.append(f"{name} {problem} within {seconds:.0f} s:\n{where}")
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            del self.alive[pid]

    def _start(self, name: str, life: int) -> None:
        pid = os.fork()
        if pid:
            self.alive[pid] = name, life
            return
        try:
            os.close(self.watched[1])
            self._live(name, life)
        finally:
            os._exit(0)

    def _live(self, name: str, life: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with open(self.folder / f"stack-{name}-{life}", "w") as stacks:
            faulthandler.register(signal.SIGUSR1, stacks)
            given: dict[str, Any] = {"folder": self.folder, "name": name, "life": life, "seed": self.seed}
            given |= {"engine": self.engine, "orphan_seconds": self.orphan_seconds, "is_last": name == "final"}
            live(self.watched[0], **given)
