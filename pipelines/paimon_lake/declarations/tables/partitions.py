"""Partitions: how the loads of a table are divided, so that a run loads some partitions and a backfill loads the other
partitions.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import model_validator

from paimon_lake.declarations.errors import Mistake
from paimon_lake.declarations.model import Day, Model, Names, TimeZone

KEY_FORMATS = {"hour": "%Y-%m-%d-%H:%M", "day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m"}
"""The format of the keys of partitions by time, as for ``strftime``; the key of a week is its first day, a Sunday."""
BY_TIME = tuple(KEY_FORMATS)
_LAST_YEAR = 2037
"""When the partitions have no last day, time zones are examined for clock changes up to this year."""


class Partitions(Model):
    """The partitions of a table's loads.

    The keys have Dagster's form: ``2024-01-31-05:00`` for an hour, ``2024-01-31`` for a day and for the week that
    begins on it, ``2024-01`` for a month.
    """

    by: Literal["hour", "day", "week", "month", "static", "dynamic"]
    """How loads are divided; ``static``: by the ``values`` here; ``dynamic``: by keys that runs or sensors add."""
    start: Day | None = None
    """The first day; needed for hours, days, weeks and months."""
    end: Day | None = None
    """The last day; default: partitions are added as time passes."""
    timezone: TimeZone = "UTC"
    """The time zone in which the partitions begin; hours need a time zone whose clocks never change."""
    end_offset: int = 0
    """The number of incomplete or future partitions to add; 1 adds the current partition."""
    values: Names = ()
    """The keys of static partitions."""
    column: str = ""
    """The column of the table whose value says to which partition a row belongs."""

    @model_validator(mode="after")
    def _fits(self) -> Partitions:
        if self.by in BY_TIME and self.start is None:
            raise ValueError(f"partitions by {self.by} need start, the first day")
        if self.by == "static" and not self.values:
            raise ValueError("static partitions need values, their keys")
        if self.by != "static" and self.values:
            raise ValueError(f"partitions by {self.by} take no values: these are the keys of static partitions")
        if not self.by_time:
            for key in ("start", "end", "timezone", "end_offset"):
                if key in self.model_fields_set:
                    raise ValueError(f"{self.by} partitions take no {key}: it belongs to partitions by time")
        if self.by == "hour" and self._changes_clocks():
            raise Mistake(
                f"{self.timezone} changes its clocks, so that an hour occurs twice and another never: partitions by "
                "hour need a time zone that does not, such as UTC",
                "timezone",
            )
        if len(set(self.values)) < len(self.values):
            raise ValueError("values names a partition twice")
        if self.start is not None and self.end is not None and self.end < self.start:
            raise ValueError(f"the last day {self.end} lies before the first day {self.start}")
        return self

    def _changes_clocks(self) -> bool:
        assert self.start is not None
        zone, last = ZoneInfo(self.timezone), self.end.year if self.end else _LAST_YEAR
        years = range(self.start.year, max(self.start.year, last) + 1)
        days = (datetime(year, month, day) for year in years for month in range(1, 13) for day in (1, 15))
        return len({zone.utcoffset(day) for day in days}) > 1

    @property
    def by_time(self) -> bool:
        """Whether the partitions are hours, days, weeks or months."""
        return self.by in BY_TIME
