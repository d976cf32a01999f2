"""Order of the test files under pytest-xdist: those that take longest first, so that no worker ends long after another.

``durations.json`` has the seconds of the files that take more than ``LEAST_SECONDS``, measured by
``make test ARGS=--record-durations``. A file without an entry counts by its number of tests.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from xdist.scheduler.loadfile import LoadFileScheduling

DURATIONS = Path(__file__).with_name("durations.json")
LEAST_SECONDS = 4
SECONDS_A_TEST = 0.05


class LongestFirst(LoadFileScheduling):
    """Gives each worker whole files, the longest first."""

    def _assign_work_unit(self, node: object) -> None:
        if not self.assigned_work.get(node) and len(self.workqueue) > 1:
            known = json.loads(DURATIONS.read_text())
            tests = {scope: len(unit) for scope, unit in self.workqueue.items()}
            self.workqueue = OrderedDict((scope, self.workqueue[scope]) for scope in longest_first(tests, known))
        super()._assign_work_unit(node)


def longest_first(tests: Mapping[str, int], known: Mapping[str, float]) -> list[str]:
    """Order files, given with their numbers of tests, by their known or estimated seconds, longest first."""
    return sorted(tests, key=lambda file: (-known.get(file, min(LEAST_SECONDS, tests[file] * SECONDS_A_TEST)), file))


def record(reports: Iterable[pytest.TestReport]) -> None:
    """Write the seconds of the files of a run; files that the run did not contain keep their entries."""
    seconds: dict[str, float] = defaultdict(float)
    for report in reports:
        seconds[report.nodeid.split("::")[0]] += report.duration
    merged = json.loads(DURATIONS.read_text()) | seconds
    kept = {file: round(took) for file, took in sorted(merged.items()) if took >= LEAST_SECONDS}
    DURATIONS.write_text(json.dumps(kept, indent=2) + "\n")
