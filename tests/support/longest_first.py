"""Which worker of pytest-xdist runs which tests, and in which order (``--dist loadfile``).

The tests of a file run in one worker, and all files of a group in the same one: the files that need Spark are a group,
and those that need the Java oracle, so that each of these JVMs is started once. The longest files and groups run first,
so that no worker ends long after another.

``durations.json`` has the seconds of the files that take more than ``LEAST_SECONDS``, for `make test` and
`make test-long`, measured by ``ARGS=--record-durations``. A file without an entry counts by its number of tests.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler.loadfile import LoadFileScheduling

DURATIONS = Path(__file__).with_name("durations.json")
LEAST_SECONDS = 2
SECONDS_A_TEST = 0.03
SLOW_SECONDS = 8
"""`make quick` leaves out the files that take so long in `make test`."""
SPLIT = (
    "tests/property/test_complete_changes.py",
    "tests/property/test_stream_histories.py",
    "tests/property/test_vector_histories.py",
    "tests/simulator/test_every_call.py",
    "tests/simulator/test_mutants.py",
    "tests/simulator/test_power_loss.py",
    "tests/soak/",
    "tests/unit/fsck/test_bit_rot.py",
)
"""Files whose tests take long and share nothing: each test may run in another worker."""


class LongestFirst(LoadFileScheduling):
    """Gives each worker whole files or groups of files, the longest first."""

    @cached_property
    def groups(self) -> dict[str, str]:
        """The groups of files, which each worker has written before it says which tests it has."""
        found: dict[str, str] = json.loads(groups_path(os.getpid()).read_text())
        return found

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid, self.groups)

    def _assign_work_unit(self, node: object) -> None:
        if not self.assigned_work.get(node) and len(self.workqueue) > 1:
            known = json.loads(DURATIONS.read_text())[tier(self.config.option.markexpr)]
            order = longest_first({scope: list(unit) for scope, unit in self.workqueue.items()}, known)
            self.workqueue = OrderedDict((scope, self.workqueue[scope]) for scope in order)
        super()._assign_work_unit(node)


def unit_of(nodeid: str, groups: Mapping[str, str]) -> str:
    """Return the group of the test's file, or the test itself if its file is split, or the file."""
    file = file_of(nodeid)
    return groups.get(file) or (nodeid if file.startswith(SPLIT) else file)


def file_of(nodeid: str) -> str:
    """Return the file of a test."""
    return nodeid.partition("::")[0]


def slow_files() -> frozenset[str]:
    """Return the files that `make quick` leaves out because of their recorded seconds."""
    known: dict[str, float] = json.loads(DURATIONS.read_text())["test"]
    return frozenset(file for file, took in known.items() if took >= SLOW_SECONDS)


def tier(marks: str) -> str:
    """Return the key of ``durations.json`` for tests that were chosen by ``-m marks``."""
    return "long" if marks == "long" else "test"


def longest_first(units: Mapping[str, Iterable[str]], known: Mapping[str, float]) -> list[str]:
    """Order units of tests by their seconds, longest first: ``known`` has those of files, the others are estimated."""
    tests = Counter(file_of(test) for unit in units.values() for test in unit)

    def seconds(unit: str) -> float:
        return sum(known.get(file_of(t), SECONDS_A_TEST * tests[file_of(t)]) / tests[file_of(t)] for t in units[unit])

    return sorted(units, key=lambda unit: (-seconds(unit), unit))


def record(reports: Iterable[pytest.TestReport]) -> dict[str, dict[str, float]]:
    """Write and return the seconds of the files of a run; files that the run did not contain keep their entries."""
    merged: dict[str, dict[str, float]] = json.loads(DURATIONS.read_text())
    seconds: dict[str, dict[str, float]] = {name: defaultdict(float) for name in merged}
    for report in reports:
        seconds["long" if "long" in report.keywords else "test"][file_of(report.nodeid)] += report.duration
    for name, entries in seconds.items():
        found = merged[name] | entries
        merged[name] = {file: round(took) for file, took in sorted(found.items()) if took >= LEAST_SECONDS}
    DURATIONS.write_text(json.dumps(merged, indent=2) + "\n")
    return merged


def groups_of(items: Iterable[Any]) -> dict[str, str]:
    """Return the group ``spark`` for files that use the Spark session, and ``java`` for others that use the oracle."""
    used = defaultdict(set)
    for item in items:
        used[file_of(item.nodeid)].update(getattr(item, "fixturenames", ()))
    named = {file: "spark" if "spark" in names else "java" if "oracle" in names else "" for file, names in used.items()}
    return {file: group for file, group in named.items() if group}


def groups_path(controller: int) -> Path:
    """Return the file through which the workers tell the controlling process, given by its id, the groups."""
    return Path(tempfile.gettempdir(), f"paimon-test-groups-{controller}.json")


def tell_groups(items: Iterable[Any], controller: int) -> None:
    """Write the groups of the files for the scheduler; all workers write the same."""
    path = groups_path(controller)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(groups_of(items)))
    part.replace(path)
