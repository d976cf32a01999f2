"""Which worker of pytest-xdist runs which tests, and in which order (``--dist loadgroup``).

The tests of a file run in one worker, and all files of a group in the same one: the files that need Spark are a group,
and those that need the Java oracle, so that each of these JVMs is started once. The longest files and groups run first,
so that no worker ends long after another.

``durations.json`` has the seconds of the files that take more than ``LEAST_SECONDS``, for `make test` and
`make test-long`, measured by ``ARGS=--record-durations``. A file without an entry counts by its number of tests.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler.loadgroup import LoadGroupScheduling

DURATIONS = Path(__file__).with_name("durations.json")
LEAST_SECONDS = 2
SECONDS_A_TEST = 0.03
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


class LongestFirst(LoadGroupScheduling):
    """Gives each worker whole files or groups of files, the longest first."""

    def _split_scope(self, nodeid: str) -> str:
        group = super()._split_scope(nodeid)
        return group if group != nodeid or nodeid.startswith(SPLIT) else file_of(nodeid)

    def _assign_work_unit(self, node: object) -> None:
        if not self.assigned_work.get(node) and len(self.workqueue) > 1:
            known = json.loads(DURATIONS.read_text())[tier(self.config.option.markexpr)]
            order = longest_first({scope: list(unit) for scope, unit in self.workqueue.items()}, known)
            self.workqueue = OrderedDict((scope, self.workqueue[scope]) for scope in order)
        super()._assign_work_unit(node)


def file_of(nodeid: str) -> str:
    """Return the file of a test."""
    return nodeid.partition("::")[0]


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


def group_files(items: Iterable[Any]) -> None:
    """Put the files that use the Spark session into a group, and the others that use the oracle into another."""
    files = defaultdict(list)
    for item in items:
        files[file_of(item.nodeid)].append(item)
    for tests in files.values():
        used = {name for test in tests for name in getattr(test, "fixturenames", ())}
        group = "spark" if "spark" in used else "java" if "oracle" in used else ""
        if group:
            for test in tests:
                test.add_marker(pytest.mark.xdist_group(group))
