"""Compaction schedule: early full compactions and off-peak hours, which extend the universal rule.

This module implements step 0 of format 8.2. The caller passes the time as a value, so that every decision can be
reproduced.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.lsm.levels import Levels
from paimon_core.options import TableOptions


@dataclass(frozen=True, slots=True)
class Moment:
    """The time at which a compaction is picked for a bucket."""

    epoch_millis: int
    hour: int
    """Hour of the local day, 0 to 23."""
    last_full_millis: int | None = None
    """Epoch milliseconds of the bucket's last full compaction; None: there was none."""


@dataclass(frozen=True, slots=True)
class EarlyFull:
    """Conditions for a full compaction before the number of runs requires one; None: the option is not set."""

    interval_millis: int | None = None
    total_bytes: int | None = None
    incremental_bytes: int | None = None

    @staticmethod
    def of(options: TableOptions) -> EarlyFull:
        """Return the conditions that the table's options define."""
        return EarlyFull(
            options["compaction.optimization-interval"],
            options["compaction.total-size-threshold"],
            options["compaction.incremental-size-threshold"],
        )

    def calls_for(self, levels: Levels, moment: Moment) -> bool:
        """Whether to compact all runs into one now; always False for a single run.

        True when more than ``interval_millis`` has passed since the last full compaction (or there was none), when all
        runs together are smaller than ``total_bytes``, or when the runs outside of the last level are together larger
        than ``incremental_bytes``. A condition that is None is not tested.
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
    """Hours of the local day in which ``ratio`` is added to the percentage of option compaction.size-ratio, so that
    larger runs are picked as well.
    """

    start: int = -1
    end: int = -1
    """The first hour after the period; if it is smaller than ``start``, the period spans midnight."""
    ratio: int = 0

    @staticmethod
    def of(options: TableOptions) -> OffPeak:
        """Return the hours that the table's options define."""
        return OffPeak(
            options["compaction.offpeak.start.hour"],
            options["compaction.offpeak.end.hour"],
            options["compaction.offpeak-ratio"],
        )

    def ratio_at(self, hour: int) -> int:
        """Return the percent to add at this hour; 0 outside of the period.

        The result is also 0 if a bound is not set (-1) or both bounds are equal.
        """
        if -1 in (self.start, self.end) or self.start == self.end:
            return 0
        inside = self.start <= hour < self.end if self.start < self.end else hour < self.end or self.start <= hour
        return self.ratio if inside else 0
