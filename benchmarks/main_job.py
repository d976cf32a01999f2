"""Show where the time of the main job goes: ``python -m benchmarks.main_job [--configs PATH]``.

Runs ``assets.demo`` in this process. Prints, for each run and for each phase, wall seconds and the processor seconds of
this process, of the JVM, and of Spark's Python workers. A phase does not contain the phases that it calls: what is left
of a run is Dagster's own time. Start with an empty lake (PAIMON_LAKE), because what was loaded is not loaded again.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from operator import add, sub
from typing import Any

from benchmarks.processes import Processes

PHASES = {
    "definitions": ["assets.demo.run:build_definitions"],
    "dagster and the rest of runs": ["assets.demo.runs:Demo._run"],
    "session start": ["paimon_dagster.resources:start_session"],
    "session stop": ["paimon_dagster.resources:SparkResource.teardown_after_execution"],
    "load: plan and ledger": ["paimon_lake.loads.load:load_table"],
    "load: read and write (tasks)": ["paimon_lake.loads.write_tasks:collect_tasks"],
    "load: query and write (SQL)": ["paimon_lake.loads.frames:write_frame"],
    "load: column lineage": ["paimon_lake.loads.frames:column_lineage"],
    "load: files that are fetched": ["paimon_lake.loads.files.file_load:fetch_files"],
    "load: checks": ["paimon_lake.loads.blocking_audit:run_checks"],
    "load: commit": ["paimon_lake.loads.load:commit_load"],
    "compaction": ["paimon_dagster.factories.compaction:compact"],
    "tags and expiry": ["paimon_dagster.factories.maintenance:tag", "paimon_dagster.factories.maintenance:expire"],
    "checks": ["paimon_dagster.factories.checks:audit", "paimon_dagster.factories.checks:declared_results"],
}
"""By phase, the functions that it consists of, where they are looked up."""

Seconds = tuple[float, float, float, float]


_PROCESSES = Processes()


def used() -> Seconds:
    """Return the seconds until now: of the clock, of this process, of the JVM, and of the workers."""
    spent = _PROCESSES.used()
    return time.monotonic(), spent.driver, spent.jvm, spent.workers


class Profile:
    """The seconds of each phase, without the phases that it calls, and the seconds of each run."""

    def __init__(self) -> None:
        self.phases: dict[str, Seconds] = defaultdict(lambda: (0.0,) * 4)
        self.runs: list[tuple[str, Seconds]] = []
        self._open = ["other"]
        self._since: Seconds = (time.monotonic(), 0.0, 0.0, 0.0)

    def switch(self) -> Seconds:
        """Count the time since the last switch for the innermost open phase."""
        now = used()
        spent = map(sub, now, self._since)
        self.phases[self._open[-1]] = tuple(map(add, self.phases[self._open[-1]], spent))
        self._since = now
        return now

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time of the body."""
        self.switch()
        self._open.append(name)
        try:
            yield
        finally:
            self.switch()
            self._open.pop()

    def wrapped(self, name: str, function: Callable[..., Any], is_run: bool) -> Callable[..., Any]:
        """Return the function, whose calls in the main thread are counted."""

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                return function(*given, **named)
            before = used()
            with self.phase(name):
                result = function(*given, **named)
            if is_run:
                self.runs.append((f"{given[1]} {given[2]}", tuple(map(sub, used(), before))))
            return result

        return call


def main() -> int:
    """Run the main job and print its profile; return the exit code of the job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", help="the folder of the lake's declarations (default: configs/)")
    asked = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    profile = Profile()
    with profile.phase("imports"):
        demo = importlib.import_module("assets.demo.run")
        importlib.import_module("paimon_lake.loads.load")
    for phase, names in PHASES.items():
        for name in names:
            module, _, path = name.partition(":")
            *classes, last = path.split(".")
            owner = functools.reduce(getattr, classes, importlib.import_module(module))
            setattr(owner, last, profile.wrapped(phase, getattr(owner, last), last == "_run"))
    code: int = demo.main(["--configs", asked.configs] if asked.configs else [])
    profile.switch()
    show("run", profile.runs)
    show("phase", sorted(profile.phases.items(), key=lambda item: -item[1][0]))
    return code


def show(title: str, rows: list[tuple[str, Seconds]]) -> None:
    """Print rows of seconds, and their sum."""
    total: Seconds = tuple(sum(column) for column in zip(*(seconds for _, seconds in rows), strict=True)) or (0.0,) * 4
    print(f"\n{title:<44}{'wall':>8}{'python':>8}{'jvm':>8}{'workers':>8}")
    for name, seconds in [*rows, ("sum", total)]:
        print(f"{name[:43]:<44}" + "".join(f"{value:8.1f}" for value in seconds))


if __name__ == "__main__":
    raise SystemExit(main())
