"""Partitions: the days and months of the source as partitions of Dagster, and as arguments of steps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import dagster as dg

from pipelines.lake import Settings

MONTH = "%Y-%m"


def daily(settings: Settings) -> dg.DailyPartitionsDefinition:
    """Return one partition per day, such as ``2013-01-31``."""
    first, last = settings.days.first_day, settings.days.last_day
    return dg.DailyPartitionsDefinition(first.isoformat(), end_date=(last + timedelta(days=1)).isoformat())


def monthly(settings: Settings) -> dg.MonthlyPartitionsDefinition:
    """Return one partition per month, such as ``2013-01``, which is also the partition value of the tables."""
    first, last = settings.days.first_day, settings.days.last_day
    after = date(last.year + last.month // 12, last.month % 12 + 1, 1)
    return dg.MonthlyPartitionsDefinition(first.strftime(MONTH), end_date=after.strftime(MONTH), fmt=MONTH)


def days_of(keys: Sequence[str]) -> list[date]:
    """Return the days of daily partition keys."""
    return [date.fromisoformat(key) for key in keys]


def days_in(months: Sequence[str], settings: Settings) -> list[date]:
    """Return all days of the source that are in these months."""
    first, last = settings.days.first_day, settings.days.last_day
    days = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return [day for day in days if day.strftime(MONTH) in set(months)]
