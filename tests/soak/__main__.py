"""Soak: processes work on one table and are killed, for any time; then every commit is checked.

``python -m tests.soak --minutes 30 --processes 6 --seed 1`` prints one line and the violations. The same seed does not
give the same run, because the processes race. After a violation the journals are kept, and ``--judge FOLDER`` checks
them again.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.soak.checker import Checker, Verdict, plain
from tests.soak.model import ENGINES
from tests.soak.supervisor import Run, Supervisor
from tests.soak.worker import create

SHOWN = 10
"""The number of violations that are printed in full; the others are counted by kind."""


def main() -> int:
    """Run a soak, and return exit status 1 after a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=sorted(ENGINES), default="deduplicate")
    parser.add_argument("--folder", type=Path, help="where to work, kept afterwards; default: a temporary one")
    parser.add_argument("--orphan-age", type=float, default=60.0, help="seconds; must exceed the longest operation")
    parser.add_argument("--kill-every", type=float, default=1.5, help="seconds on average between two kills")
    parser.add_argument("--judge", type=Path, help="only read the journals of a run again")
    given = parser.parse_args()
    if given.judge is not None:
        return report(Checker(given.judge, ENGINES[given.engine]).check(), Run(), 0.0, given)
    start = time.monotonic()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    pa.set_cpu_count(1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    create(folder, given.engine)
    supervisor = Supervisor(folder, given.processes, given.seed, given.engine, given.orphan_age, given.kill_every)
    run = supervisor.work(given.minutes * 60)
    verdict = Checker(folder, ENGINES[given.engine]).check()
    status = report(verdict, run, time.monotonic() - start, given)
    if given.folder is None and status == 0:
        shutil.rmtree(folder)
    else:
        print(f"journals: {folder}")
    return status


def report(verdict: Verdict, run: Run, seconds: float, given: Any) -> int:
    """Print the violations and a summary line, and return the exit status."""
    violations = [*run.problems, *verdict.violations]
    for text in violations[:SHOWN]:
        print(f"VIOLATION {text}\n")
    if len(violations) > SHOWN:
        for kind, count in Counter(map(kind_of, violations)).most_common():
            print(f"{count:6} times: {kind}")
    for text, count in verdict.warnings.most_common(SHOWN):
        print(f"{count:6} warnings: {text}")
    conflicts = sum(n for name, n in verdict.counts.items() if name.endswith(" conflict"))
    made = sum(n for name, n in verdict.counts.items() if name.split()[0] in COMMITTING and name.endswith(" ok"))
    counts = ", ".join(f"{name} {n}" for name, n in sorted(verdict.counts.items()))
    print(f"by kind: {counts}")
    print(
        f"soak --seed {given.seed} --engine {given.engine} --processes {given.processes}: "
        f"{sum(verdict.counts.values()):,} operations, {made:,} commits acknowledged, {conflicts} conflicts, "
        f"{run.kills} kills, {verdict.snapshots:,} snapshots, "
        f"{verdict.verified:,} verified by {verdict.reads:,} reads, "
        f"{verdict.withdrawn} withdrawn, slowest {verdict.slowest:.1f} s, {len(violations)} violations, {seconds:.0f} s"
    )
    return int(bool(violations))


COMMITTING = ("write", "delete", "overwrite", "compact")


def kind_of(violation: str) -> str:
    """Return the last line of a traceback, or the first line of another text, without names and numbers."""
    lines = [line for line in violation.splitlines() if line.strip()]
    text = lines[-1] if "Traceback" in violation else lines[0]
    return plain(text)[:140]


if __name__ == "__main__":
    sys.exit(main())
