"""The demo of the flights: what it loads, and the compaction by hand that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import dagster as dg

from assets.demo_runs import Demo, say
from assets.maintenance import compaction_config, compaction_job_name
from assets.metadata import asset_key
from assets.partitions import daily, days_of, monthly
from pipelines.carrier_day import CARRIER_DAY
from pipelines.dimensions import DIMENSIONS
from pipelines.flights import CANCELLATIONS, FLIGHTS
from pipelines.show import existing
from pipelines.weather import WEATHER


def load_flights(demo: Demo, last_day: date | None) -> None:
    """Materialize everything that is not materialized yet, up to a day."""
    last = last_day or demo.settings.days.last_day
    new_dimensions = [n for n in DIMENSIONS if n not in existing(demo.settings) or not demo.is_materialized(n)]
    if new_dimensions:
        demo.materialize("dimensions", new_dimensions)
    months = _missing(demo, WEATHER, monthly(demo.settings), last)
    if months:
        demo.materialize("weather", [WEATHER], months[0], months[-1])
    names = [FLIGHTS, CANCELLATIONS]
    days = sorted({day for name in names for day in _missing(demo, name, daily(demo.settings), last)})
    for chunk in chunks(days_of(days), demo.settings.table(FLIGHTS).backfill_per_run):
        demo.materialize("flights", names, chunk[0].isoformat(), chunk[-1].isoformat())
    touched = sorted({day[:7] for day in days} | set(_missing(demo, CARRIER_DAY, monthly(demo.settings), last)))
    if touched:
        demo.materialize("aggregate", [CARRIER_DAY], touched[0], touched[-1])
    if not (new_dimensions or months or days or touched):
        say("everything was loaded before: nothing is added again")


def compact_first_month(demo: Demo) -> None:
    """Compact the first month of the flights, as a person would by hand."""
    flights = demo.settings.table(FLIGHTS)
    first_month = demo.settings.days.first_day.strftime("%Y-%m")
    by_hand = dg.RunRequest(run_config=compaction_config(flights, full=True, partitions=[first_month]))
    demo.run_job("compact", f"by hand: {first_month}, full", compaction_job_name(flights), by_hand.run_config)


def _missing(demo: Demo, name: str, partitions: dg.PartitionsDefinition[str], last_day: date) -> list[str]:
    """Return the partitions of a table that are not materialized; all of them when it is not in the lake."""
    keys = [k for k in partitions.get_partition_keys() if k <= last_day.isoformat()[: len(k)]]
    if name not in existing(demo.settings):
        return keys
    done = demo.instance.get_materialized_partitions(asset_key(name))
    return [key for key in keys if key not in done]


def chunks(days: Sequence[date], size: int) -> list[list[date]]:
    """Split sorted days into ranges without gaps of at most ``size`` days, one for each run, as a backfill does."""
    ranges: list[list[date]] = []
    for day in days:
        if ranges and len(ranges[-1]) < size and (day - ranges[-1][-1]).days == 1:
            ranges[-1].append(day)
        else:
            ranges.append([day])
    return ranges
