"""Campaign: run many histories in two processes, and report violations and speed."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.simulator import indexed, metadata, real

PLAY = {"metadata": metadata.play, "real": real.play, "indexed": indexed.play}
PROCESSES = 2
CHUNK = 50


@dataclass
class Tally:
    """The totals of some histories."""

    histories: int = 0
    calls: int = 0
    commits: int = 0
    seconds: float = 0.0
    """Processor time in seconds."""
    faults: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    """The violations, each with the command that replays it."""

    def add(self, other: Tally) -> None:
        self.histories += other.histories
        self.calls += other.calls
        self.commits += other.commits
        self.seconds += other.seconds
        self.failures += other.failures
        for what, count in other.faults.items():
            self.faults[what] = self.faults.get(what, 0) + count

    def sentence(self) -> str:
        faults = sum(self.faults.values())
        return (
            f"{self.histories:,} histories, {self.commits:,} commits, {self.calls:,} calls, {faults:,} faults, "
            f"{len(self.failures)} violations, {self.histories / max(self.seconds, 1e-9):.0f} histories a second of CPU"
        )


def replay_line(mode: str, seed: int) -> str:
    return f"python -m tests.simulator --seed {seed} --mode {mode}"


def some(mode: str, first: int, count: int) -> Tally:
    """Run histories of consecutive seeds in this process."""
    tally, start = Tally(), time.process_time()
    for seed in range(first, first + count):
        history = PLAY[mode](seed)
        world = history.world
        tally.add(Tally(1, world.ops, history.oracle.commits, 0.0, world.counts))
        if world.violation is not None:
            tally.failures.append(f"{replay_line(mode, seed)}   # {world.violation}")
    tally.seconds = time.process_time() - start
    return tally


def many(mode: str, first: int, count: int) -> Tally:
    """Run histories of consecutive seeds in two processes."""
    total = Tally()
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "0"  # for the child processes, the same value as in a replay
    try:
        with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
            starts = range(first, first + count, CHUNK)
            for tally in pool.map(some, *zip(*((mode, s, min(CHUNK, first + count - s)) for s in starts), strict=True)):
                total.add(tally)
    finally:
        if before is None:
            del os.environ["PYTHONHASHSEED"]
        else:
            os.environ["PYTHONHASHSEED"] = before
    return total
