"""Policies of maintenance for the simulated lake: each chooses work for one round within the same budget of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from benchmarks.lake_state import TARGET_BYTES, Run, State, pick, requests_of
from paimon_core.health.cost import REQUEST_BYTES
from paimon_core.health.plan.candidates import COMPACT, Budget, Candidate
from paimon_core.health.plan.choice import choose
from paimon_core.health.plan.history import History, Place
from paimon_core.health.plan.policy import Policy

ALL = -1
TRIGGER = 5
"""num-sorted-run.compaction-trigger and compaction.min.file-num."""
TIER = 4
"""A size-tiered policy merges so many runs of similar size, as Cassandra's default ``min_threshold``."""


@dataclass(frozen=True, slots=True)
class Work:
    """A compaction of one table: adjacent runs of a keyed one, or all small files of an append one."""

    table: int
    first: int
    count: int
    level: int
    moved: float
    """Bytes read and written."""
    saved: float = 0.0
    """The cost that each scan saves afterwards."""
    files: float = 0.0
    """The files that it saves."""


Done = Callable[[Work], bool]
"""Does the work; False: it met a conflict, so its bytes are spent without effect."""


def nothing(state: State, budget: float, done: Done) -> None:
    """No maintenance."""


def full(state: State, table: int) -> Work | None:
    """Return the compaction of a keyed table into one run, or of all small files of an append table."""
    if not state.lake.keyed[table]:
        count, size = state.small[table], float(state.small_bytes[table])
        after = max(1.0, -(-size // TARGET_BYTES))
        if count <= after:
            return None
        requests = float(state.small_requests[table]) - requests_of(size, after)
        return Work(table, 0, 0, 0, 2 * size, requests * REQUEST_BYTES, count - after)
    if state.runs[table] < 2:
        return None
    written = float(state.live[table])
    after = max(1.0, -(-written // TARGET_BYTES))
    saves = float(state.files[table]) - after
    requests = float(state.requests[table]) - requests_of(written, after)
    saved = float(2 * state.size[table] - written + REQUEST_BYTES * requests)
    return Work(table, 0, ALL, 5, float(state.size[table]) + written, saved, saves)


def usual(state: State, table: int) -> Work | None:
    """Return the compaction that the library picks by its fixed marks of runs or files."""
    if not state.lake.keyed[table]:
        return full(state, table) if state.small[table] >= TRIGGER else None
    if state.runs[table] < TRIGGER:
        return None
    runs = state.run_list(table)
    picked = pick(runs)
    if picked is None:
        return None
    count, level = picked
    return full(state, table) if count == len(runs) else _merge(state, table, 0, count, level)


def _merge(state: State, table: int, first: int, count: int, level: int) -> Work:
    """Return a merge of some of the runs: the rows are still merged by each scan, with fewer files."""
    read, written = state.merged_bytes(table, first, count)
    before, after = state.run_list(table)[first : first + count], Run.of(level, written)
    # The rows of all runs are still merged by each scan, so each byte that is saved counts twice.
    saved = 2 * (read - written) + REQUEST_BYTES * (sum(run.requests for run in before) - after.requests)
    files = sum(run.file_count for run in before) - after.file_count
    return Work(table, first, count, level, read + written, saved, files)


def tier(state: State, table: int) -> Work | None:
    """Return a merge of adjacent runs of similar size, the newest such tier; an append table packs all small files."""
    if not state.lake.keyed[table]:
        return full(state, table) if state.small[table] >= TIER else None
    if state.runs[table] < TIER:
        return None
    runs = state.run_list(table)
    # The older runs were searched before, and are the same unless the table was merged since.
    searched = state.without_tier[table]
    for first in range(min(len(runs) - TIER + 1, len(runs) - searched)):
        size, count = runs[first].size, 1
        # No slice of the list is made, because a bucket may have thousands of runs.
        while first + count < len(runs) and 0.5 <= runs[first + count].size * count / size <= 1.5:
            size, count = size + runs[first + count].size, count + 1
        if count >= TIER:
            if count == len(runs):
                return full(state, table)
            # Its level says only that the run is no flushed file.
            return _merge(state, table, first, count, 1)
    state.without_tier[table] = len(runs)
    return None


@dataclass
class InOrder:
    """Does the work that is due, in the order in which it became due."""

    due: Callable[[State, int], Work | None]
    queue: dict[int, None] = field(default_factory=dict)

    def __call__(self, state: State, budget: float, done: Done) -> None:
        least = TIER if self.due is tier else TRIGGER
        waiting = np.where(state.lake.keyed, state.runs, state.small) >= least
        for table in np.flatnonzero(waiting).tolist():
            self.queue.setdefault(table)
        for table in list(self.queue):
            work = self.due(state, table)
            if work is None:
                del self.queue[table]
            elif work.moved <= budget:
                budget -= work.moved
                done(work)
                # The next work of the table waits behind all others.
                del self.queue[table]


def by_files(state: State, budget: float, done: Done) -> None:
    """Rank as AutoComp does: 0.7 of the files saved less 0.3 of the cost, both scaled to 0..1; greedy in the budget."""
    works = [work for table in range(len(state.lake)) if (work := full(state, table)) is not None and work.files >= 1]
    if not works:
        return
    traits = np.array([[work.files, work.moved] for work in works])
    low = traits.min(axis=0)
    scaled = (traits - low) / np.maximum(traits.max(axis=0) - low, 1e-9)
    for index in np.argsort(-(0.7 * scaled[:, 0] - 0.3 * scaled[:, 1]), kind="stable").tolist():
        if works[index].moved <= budget:
            budget -= works[index].moved
            done(works[index])


@dataclass
class ByCost:
    """Our policy: ``choose`` of the library, of the best compaction of each table."""

    policy: Policy = field(default_factory=Policy)
    histories: Mapping[Place, History] = field(default_factory=dict)
    longest_wait: int = 0
    """In rounds."""

    def __call__(self, state: State, budget: float, done: Done) -> None:
        now = state.hour * 3_600_000
        works = {self.candidate(work): work for work in self.works(state)}
        choice = choose(works, Budget(bytes=int(budget)), self.histories, self.policy, now)
        histories = dict(choice.histories)
        for candidate in choice.chosen:
            place = Place.of(candidate)
            history = histories[place]
            histories[place] = history.succeeded() if done(works[candidate]) else history.failed(now)
        self.histories = histories
        self.longest_wait = max(self.longest_wait, max((h.waited for h in histories.values()), default=0))

    def candidate(self, work: Work) -> Candidate:
        return Candidate(f"t{work.table}", "main", COMPACT, None, 0, work.saved, int(work.moved), 0, 0.0, 0, "")

    def works(self, state: State) -> Iterable[Work]:
        """Yield the compactions of each table that lower the cost of a scan: the pick of the library and a full one."""
        for table in range(len(state.lake)):
            for work in dict.fromkeys((usual(state, table), full(state, table))):
                if work is not None and work.saved > 0:
                    yield work
