"""Soak of declared lakes: schedulers, an editor of source files, maintenance and readers at once, killed at random.

``python -m tests.soak.lakes --rounds 5 --seconds 60 --seed 1``. A round lets the processes work and kills some of them.
When they have stopped, what is not up to date must be told; in most rounds something is damaged and repaired with the
commands that the errors name; then loads, repeated as their results say, must give exactly the rows of the model.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.lakes.judge import Judge
from tests.soak.lakes.sources import write_lake

ROLES = ("editor", "scheduler", "scheduler", "keeper", "keeper", "reader")
ROOT = Path(__file__).resolve().parents[3]
SECONDS_TO_STOP = 180.0
SHOWN = 8


class Crew:
    """The processes of a round."""

    def __init__(self, folder: Path, seed: str) -> None:
        self._folder, self._seed, self._chance = folder, seed, random.Random(seed)
        self._logs = folder / "logs"
        self._logs.mkdir(exist_ok=True)
        self._alive: dict[int, subprocess.Popen[bytes]] = {}
        self._lives = 0
        self.kills = 0

    def work(self, seconds: float, seconds_between_kills: float) -> list[str]:
        """Let the processes work this long; returns what went wrong."""
        (self._folder / "stop").unlink(missing_ok=True)
        until = time.monotonic() + seconds
        for number, role in enumerate(ROLES):
            self._start(number, role)
        next_kill = time.monotonic() + self._chance.expovariate(1 / seconds_between_kills)
        problems = []
        while time.monotonic() < until:
            time.sleep(0.1)
            if time.monotonic() >= next_kill:
                self._kill(self._chance.randrange(len(ROLES)))
                self.kills += 1
                next_kill = time.monotonic() + self._chance.expovariate(1 / seconds_between_kills)
            problems += self._restart()
        (self._folder / "stop").touch()
        return problems + self._wait() + self._violations()

    def _start(self, number: int, role: str) -> None:
        self._lives += 1
        with open(self._logs / f"{self._seed}-{number}-{role}-{self._lives}", "w") as log:
            command = [sys.executable, "-m", "tests.soak.lakes.worker", str(self._folder), role]
            self._alive[number] = subprocess.Popen(
                [*command, f"{self._seed} {number} {self._lives}"],
                cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _kill(self, number: int) -> None:
        process = self._alive[number]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # with its JVM and its Python workers
            process.wait()

    def _restart(self) -> list[str]:
        problems = []
        for number, process in list(self._alive.items()):
            if process.poll() is not None:
                if process.returncode != -signal.SIGKILL:
                    problems.append(f"{ROLES[number]} ended by itself with {process.returncode}")
                self._start(number, ROLES[number])
        return problems

    def _wait(self) -> list[str]:
        until, problems = time.monotonic() + SECONDS_TO_STOP, []
        for number, process in self._alive.items():
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                problems.append(f"{ROLES[number]} did not stop within {SECONDS_TO_STOP:.0f} s")
                self._kill(number)
        return problems

    def _violations(self) -> list[str]:
        found = []
        for log in sorted(self._logs.glob(f"{self._seed}-*")):
            text = log.read_text(errors="replace")
            found += [f"{log.name}: {part[:3000]}" for part in text.split("VIOLATION ")[1:]]
        return found


def main() -> int:
    """Run the rounds; the exit status is 1 after a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.lakes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the processes work in a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kill-every", type=float, default=12.0, help="seconds on average between two kills")
    parser.add_argument("--folder", type=Path, help="where to work, kept afterwards; default: a temporary one")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="lake-soak-")) / "lake*of?all"
    write_lake(folder)
    start, kills, violations = time.monotonic(), 0, list[str]()
    judge = Judge(folder)
    for number in range(given.rounds):
        crew = Crew(folder, f"{given.seed}.{number}")
        violations += crew.work(given.seconds, given.kill_every)
        kills += crew.kills
        found = judge.judge(random.Random(f"{given.seed} {number}"))
        violations += [f"round {number}: {text}" for text in found]
        print(f"round {number}: {judge.summary()}, {len(violations)} violations", flush=True)
        if violations:
            break
    for text in violations[:SHOWN]:
        print(f"VIOLATION {text}\n")
    print(
        f"lake soak --seed {given.seed}: {given.rounds} rounds, {kills} kills, {judge.loads} loads at rest, "
        f"{judge.damages} damages repaired, {len(violations)} violations, {time.monotonic() - start:.0f} s"
    )
    if violations or given.folder:
        print(f"lake: {folder}")
    else:
        shutil.rmtree(folder.parent)
    return int(bool(violations))


if __name__ == "__main__":
    sys.exit(main())
