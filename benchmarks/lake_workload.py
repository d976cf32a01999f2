"""The tables of a simulated lake and the bytes of their commits, hour by hour, from one seed.

Sizes and rates have heavy tails: a few tables have most bytes, as in real lakes. Some tables are keyed and some append;
some go cold in the course of the year, some have bursts, and some commit rarely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
MIB = 1 << 20


@dataclass(frozen=True)
class Workload:
    """Arrays with one value a table, and the bytes of each commit."""

    keyed: npt.NDArray[np.bool_]
    initial_bytes: Floats
    """One run, or files of the target size, when the simulation begins."""
    new_share: Floats
    """The share of a commit's bytes that are new keys; the others replace older rows. 1 for append tables."""
    scans: Floats
    """Full scans a day."""
    commits: npt.NDArray[np.float32]
    """Bytes by table and hour; 0: no commit."""

    @property
    def hours(self) -> int:
        return int(self.commits.shape[1])

    def __len__(self) -> int:
        return len(self.keyed)


def workload(tables: int, days: int, seed: int) -> Workload:
    """Return a lake in which half of the tables are keyed, and 60 % commit each hour."""
    rng = np.random.default_rng(seed)
    hours = days * 24
    # The median is 8 MiB a day, and one table in ten has the most, 128 MiB: a table with more has several buckets.
    day_bytes = np.minimum(8 * MIB * rng.lognormal(0, 2.2, tables), 128 * MIB)
    rate = np.where(rng.random(tables) < 0.6, 1.0, rng.uniform(0.05, 0.8, tables))
    is_commit = rng.random((tables, hours), np.float32) < rate[:, None]
    sizes = rng.lognormal(0, 0.5, (tables, hours)).astype(np.float32) * (day_bytes / 24 / rate)[:, None]
    commits = np.where(is_commit, sizes, 0).astype(np.float32)
    cold = rng.random(tables) < 0.2
    ends = np.where(cold, rng.uniform(0.1, 0.9, tables) * hours, hours)
    commits[np.arange(hours)[None, :] >= ends[:, None]] = 0
    for table in np.flatnonzero(rng.random(tables) < 0.15):
        # Ten times as many bytes for two days, about once a month.
        for start in rng.integers(0, hours, max(1, days // 30)):
            commits[table, start : start + 48] *= 10
    keyed = rng.random(tables) < 0.5
    return Workload(
        keyed=keyed,
        initial_bytes=np.minimum(day_bytes * rng.lognormal(3, 0.8, tables), 4096 * MIB),
        new_share=np.where(keyed, rng.uniform(0, 0.15, tables), 1.0),
        scans=rng.lognormal(0, 1.8, tables),
        commits=np.where(commits > 0, np.maximum(commits, 4096), 0).astype(np.float32),
    )
