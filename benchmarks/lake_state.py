"""The files of a simulated lake: what commits add, what a scan costs, and what a compaction replaces.

Each table is one bucket. A keyed bucket is a list of sorted runs, the newest first, which the compaction picks of the
library read; an append bucket has full files and small ones. The costs are those of ``paimon_core.health.cost``.
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np

from benchmarks.lake_workload import MIB, Floats, Workload
from paimon_core.codec.parquet.raw_footer import TAIL_BYTES
from paimon_core.health.cost import MERGE_FACTOR, METADATA_REQUESTS, REQUEST_BYTES
from paimon_core.health.file_requests import file_requests
from paimon_core.lsm.compaction.universal import UniversalCompaction
from paimon_core.lsm.levels import Levels
from paimon_core.lsm.sorted_run import SortedRun

TARGET_BYTES = 128 * MIB
"""The size of a file of a compaction, for both kinds of tables."""
SMALL_BELOW = 0.7 * TARGET_BYTES
"""A file of an append table below this size is packed (option compaction.small-file-ratio)."""
NUM_LEVELS = 6
RULE = UniversalCompaction()
FORMAT = "parquet"
_COUNTED = file_requests(np.arange(0, 20 * TARGET_BYTES, MIB // 16), FORMAT).tolist()


class Run(NamedTuple):
    """A sorted run without its files: what ``UniversalCompaction`` reads of a run."""

    level: int
    size: float
    file_count: float
    requests: float
    """Requests of a scan."""
    tail: float
    """Bytes that a read fetches twice, the ends of the files."""
    files: tuple[()] = ()

    @staticmethod
    def of(level: int, size: float) -> Run:
        """Return a run: a commit writes one file, a compaction files of the target size."""
        count = max(1.0, -(-size // TARGET_BYTES)) if level else 1.0
        return Run(level, size, count, requests_of(size, count), min(size, TAIL_BYTES * count))


def pick(runs: list[Run]) -> tuple[int, int] | None:
    """Return how many of the newest runs the universal rule merges, and the output level; None: no compaction."""
    unit = RULE.pick(Levels(cast("tuple[SortedRun, ...]", tuple(runs)), NUM_LEVELS))
    if unit is None:
        return None
    count = len(runs) - unit.runs_left
    return None if count == 1 and runs[0].level == unit.output_level else (count, unit.output_level)


def files_of(size: Floats) -> Floats:
    """Return the number of files of a compaction that writes ``size`` bytes."""
    return np.maximum(1.0, np.ceil(size / TARGET_BYTES))


def _requests(size: Floats, files: Floats) -> Floats:
    counts: Floats = files * file_requests(np.ceil(size / files).astype(np.int64), FORMAT)
    return counts


def requests_of(size: float, files: float) -> float:
    """Return the requests of a scan of files with ``size`` bytes together, at a resolution of 64 KiB a file."""
    step = -(-math.ceil(size / files) // (MIB // 16))
    return files * float(_COUNTED[min(step, len(_COUNTED) - 1)])


class State:
    """Sums by table, kept up to date by commits and compactions; bytes are float."""

    def __init__(self, lake: Workload) -> None:
        self.lake = lake
        self.live = lake.initial_bytes.copy()
        """Bytes of the rows that a scan returns."""
        self.size = self.live.copy()
        self.files = files_of(self.size)
        self.requests = _requests(self.size, self.files)
        self.tail = np.minimum(self.size, TAIL_BYTES * self.files)
        self.runs = np.ones(len(lake))
        self.small, self.small_bytes, self.small_requests = (np.zeros(len(lake)) for _ in range(3))
        """Of append tables: the files below the target size."""
        self._older: list[list[Run]] = [[Run.of(NUM_LEVELS - 1, s)] for s in self.size]
        self._since = [0] * len(lake)
        self.without_tier = [0] * len(lake)
        """How many of the oldest runs of a table were searched for runs of similar size, and have none."""
        self.hour = 0

    def commit(self) -> None:
        """Add the commits of the current hour, each one file, and advance to the next hour."""
        size = self.lake.commits[:, self.hour].astype(float)
        new = size > 0
        self.live += size * self.lake.new_share
        self.size += size
        self.files += new
        requests = np.where(new, _requests(size, np.ones(len(size))), 0)
        self.requests += requests
        self.tail += np.minimum(size, TAIL_BYTES)
        self.runs += new
        is_small = new & (size < SMALL_BELOW)
        self.small += is_small
        self.small_bytes += np.where(is_small, size, 0)
        self.small_requests += np.where(is_small, requests, 0)
        self.hour += 1

    def cost(self) -> Floats:
        """Return the cost of a scan of each table, as ``scan_cost`` without manifests."""
        merged = np.where(self.lake.keyed & (self.runs > 1), self.size, 0)
        requests = METADATA_REQUESTS + self.requests
        return self.size + self.tail + (MERGE_FACTOR - 1) * merged + REQUEST_BYTES * requests

    def needed(self) -> Floats:
        """Return the cost of a scan of each table after a full compaction."""
        files = files_of(self.live)
        requests = METADATA_REQUESTS + _requests(self.live, files)
        return self.live + np.minimum(self.live, TAIL_BYTES * files) + REQUEST_BYTES * requests

    def run_list(self, table: int) -> list[Run]:
        """Return the sorted runs of a keyed table, the newest first."""
        if self._since[table] < self.hour:
            sizes = self.lake.commits[table, self._since[table] : self.hour]
            size = sizes[sizes > 0][::-1].astype(float)
            requests = _requests(size, np.ones(len(size)))
            columns = (size, np.ones(len(size)), requests, np.minimum(size, TAIL_BYTES))
            newest = [Run(0, *values) for values in zip(*(c.tolist() for c in columns), strict=True)]
            self._older[table] = newest + self._older[table]
            self._since[table] = self.hour
        return self._older[table]

    def merged_bytes(self, table: int, first: int, count: int) -> tuple[float, float]:
        """Return the bytes that a merge of ``count`` runs from ``first`` reads and writes."""
        runs = self.run_list(table)
        read = sum(run.size for run in runs[first : first + count])
        return read, self._distinct(table, read)

    def _distinct(self, table: int, size: float) -> float:
        """Return the bytes of the newest rows of the keys in ``size`` bytes of commits.

        New keys are all different; replaced rows are chosen independently of each other from all keys.
        """
        live, new = float(self.live[table]), float(self.lake.new_share[table])
        return min(size, live, new * size + live * -math.expm1(-(1 - new) * size / live))

    def merge(self, table: int, first: int, count: int, level: int) -> None:
        """Replace adjacent runs of a keyed table by one run."""
        runs = self.run_list(table)
        read, written = self.merged_bytes(table, first, count)
        if count == len(runs):
            written = float(self.live[table])
        self.without_tier[table] = 0
        before = runs[first : first + count]
        runs[first : first + count] = [Run.of(level, written)]
        self.size[table] += written - read
        self.files[table] += runs[first].file_count - sum(run.file_count for run in before)
        self.requests[table] += runs[first].requests - sum(run.requests for run in before)
        self.runs[table] = len(runs)
        self.tail[table] += runs[first].tail - sum(run.tail for run in before)

    def pack(self, table: int) -> None:
        """Rewrite the small files of an append table; the last new file is small unless it is full."""
        new = max(1.0, -(-float(self.small_bytes[table]) // TARGET_BYTES))
        rest = float(self.small_bytes[table]) % TARGET_BYTES
        if rest >= SMALL_BELOW:
            rest = 0.0
        requests = requests_of(float(self.small_bytes[table]), new)
        self.files[table] += new - self.small[table]
        self.requests[table] += requests - self.small_requests[table]
        self.runs[table] = self.files[table]
        self.tail[table] += min(self.small_bytes[table], TAIL_BYTES * new) - min(
            self.small_bytes[table], TAIL_BYTES * self.small[table]
        )
        self.small[table], self.small_bytes[table] = (1.0, rest) if rest else (0.0, 0.0)
        self.small_requests[table] = requests_of(rest, 1.0) if rest else 0.0
