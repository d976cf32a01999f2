"""What the clock and the size of a bucket add to the universal rule: early full compactions and off-peak hours.

Format 8.2, step 0. The time is a value that the caller passes in, so that every pick can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.lsm.levels import Levels
from paimon_core.options import TableOptions


@dataclass(frozen=True, slots=True)
class Moment:
    """When a bucket is looked at."""

    epoch_millis: int
    hour: int
    """Of the local day, 0 to 23."""
    last_full_millis: int | None = None
    """Epoch milliseconds of the bucket's last full compaction; None: there was none."""


@dataclass(frozen=True, slots=True)
class EarlyFull:
    """Full compactions that do not wait for the number of runs; None: the option is not set."""

    interval_millis: int | None = None
    total_bytes: int | None = None
    incremental_bytes: int | None = None

    @staticmethod
    def of(options: TableOptions) -> EarlyFull:
        """What the table's options ask for."""
        return EarlyFull(
            options["compaction.optimization-interval"],
            options["compaction.total-size-threshold"],
            options["compaction.incremental-size-threshold"],
        )

    def calls_for(self, levels: Levels, moment: Moment) -> bool:
        """Whether all runs are to become one now; never for a single run.

        When more than the interval has passed since the last time, when all runs together are smaller than the total,
        or when those outside of the last level are larger than the increment.
        """
        if len(levels.runs) < 2:
            return False
        if self.interval_millis is not None and (
            moment.last_full_millis is None or moment.epoch_millis - moment.last_full_millis > self.interval_millis
        ):
            return True
        if self.total_bytes is not None and sum(run.size for run in levels.runs) < self.total_bytes:
            return True
        above = sum(run.size for run in levels.runs if run.level != levels.max_level)
        return self.incremental_bytes is not None and above > self.incremental_bytes


@dataclass(frozen=True, slots=True)
class OffPeak:
    """Hours of the local day in which runs may be larger by ``ratio`` percent and still be taken."""

    start: int = -1
    end: int = -1
    """The first hour after; smaller than ``start``: the hours span midnight."""
    ratio: int = 0

    @staticmethod
    def of(options: TableOptions) -> OffPeak:
        """What the table's options ask for."""
        return OffPeak(
            options["compaction.offpeak.start.hour"],
            options["compaction.offpeak.end.hour"],
            options["compaction.offpeak-ratio"],
        )

    def ratio_at(self, hour: int) -> int:
        """Percent to add at this hour; 0 outside, when an end is not set (-1), and when both are the same."""
        if -1 in (self.start, self.end) or self.start == self.end:
            return 0
        inside = self.start <= hour < self.end if self.start < self.end else hour < self.end or self.start <= hour
        return self.ratio if inside else 0
