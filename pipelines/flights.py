"""Flights and cancellations: load the changes of days in the order in which they happened.

A flight is scheduled (+I), departs (+U) and arrives (+U); a flight that never departed is deleted (-D) and added to the
cancellations. Each kind of change is one commit for all days of a run, because rows of one key have an order between
commits, but not within a commit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from paimon_core import col
from paimon_core.predicate import Predicate
from paimon_core.spark import read_spark
from paimon_core.table.table import Table
from pipelines import source
from pipelines.care import complete_months, is_marked, mark_months
from pipelines.lake import Settings
from pipelines.protocol import KIND, PipelineError, StepResult, days_label, months_of
from pipelines.session import Spark
from pipelines.tables import Stage, load, open_table, rows_per_day

FLIGHTS = "ods.flights"
CANCELLATIONS = "ods.cancellations"
_OF_DEPARTURE = ("dep_time", "dep_delay")
_OF_ARRIVAL = ("arr_time", "arr_delay", "air_time")


class DayStep(Protocol):
    """A step that loads some days of the source into a table."""

    def __call__(
        self, spark: Spark, settings: Settings, days: Sequence[date], *, properties: Mapping[str, str] | None = None
    ) -> StepResult:
        """Load these days."""


def ingest_flights(
    spark: Spark, settings: Settings, days: Sequence[date], *, properties: Mapping[str, str] | None = None
) -> StepResult:
    """Load the changes of the days into ods.flights in three commits; raises PipelineError for unknown days."""
    days = checked_days(settings, days)
    table = open_table(settings, FLIGHTS, create=True)
    result = load(
        "ingest-flights",
        table,
        [
            Stage("scheduled", lambda: scheduled(flights_of(spark, settings, days)), KIND),
            Stage("departures", lambda: departures(flights_of(spark, settings, days)), KIND),
            Stage("arrivals", lambda: arrivals(flights_of(spark, settings, days)), KIND),
        ],
        user=load_name(FLIGHTS, days),
        properties=properties,
        rows_per_partition=lambda: rows_per_day(table, days, col("month").is_in(list(months_of(days)))),
    )
    if settings.table(FLIGHTS).mark_done:
        # Mark complete months after new commits; without new commits only those that a crashed run left unmarked.
        complete = complete_months(table, months_of(days))
        done = mark_months(table, [m for m in complete if result.commits or not is_marked(table, m)])
        result = dataclasses.replace(result, details={**result.details, "months_done": len(done)})
    return result


def ingest_cancellations(
    spark: Spark, settings: Settings, days: Sequence[date], *, properties: Mapping[str, str] | None = None
) -> StepResult:
    """Add the flights of the days that never departed to ods.cancellations, without those that it contains."""
    days = checked_days(settings, days)
    table = open_table(settings, CANCELLATIONS, create=True)
    key = settings.table(CANCELLATIONS).key
    names = table.schema.names

    def new() -> DataFrame:
        cancelled = flights_of(spark, settings, days).where("dep_time is null").select(*names)
        return missing(spark, table, cancelled, key, days)

    return load(
        "ingest-cancellations",
        table,
        [Stage("cancelled", new)],
        user=load_name(CANCELLATIONS, days),
        properties=properties,
        rows_per_partition=lambda: rows_per_day(table, days, between(days)),
    )


# -- the changes: functions from DataFrame to DataFrame


def scheduled(flights: DataFrame) -> DataFrame:
    """Return every flight as +I, with its departure and arrival unknown."""
    return _change(_without(flights, (*_OF_DEPARTURE, *_OF_ARRIVAL)), "+I")


def departures(flights: DataFrame) -> DataFrame:
    """Return the flights that departed as +U, with their arrival unknown."""
    return _change(_without(flights.where("dep_time is not null"), _OF_ARRIVAL), "+U")


def arrivals(flights: DataFrame) -> DataFrame:
    """Return the flights that arrived as +U, and those that never departed as -D."""
    arrived = _change(flights.where("arr_time is not null"), "+U")
    return arrived.unionByName(_change(flights.where("dep_time is null"), "-D"))


def _without(flights: DataFrame, columns: Sequence[str]) -> DataFrame:
    return flights.withColumns({name: f.lit(None).cast("int") for name in columns})


def _change(flights: DataFrame, kind: str) -> DataFrame:
    return flights.withColumn(KIND, f.lit(kind))


# -- reading


def flights_of(spark: Spark, settings: Settings, days: Sequence[date]) -> DataFrame:
    """Return the flights of these days from the source, with the columns of ods.flights."""
    paths = source.landed_months(source.FLIGHTS, settings.landing, months_of(days))
    rows = read_csv(spark, source.FLIGHTS, paths)
    return on_days(rows, days).select(*settings.table(FLIGHTS).columns)


def read_csv(spark: Spark, file: source.SourceFile, paths: Sequence[str]) -> DataFrame:
    """Read landed CSV files with the declared columns; a value that does not fit its type fails the job."""
    reader = spark().read.schema(file.columns).option("header", True).option("enforceSchema", False)
    return reader.option("nullValue", source.NULL).option("mode", "FAILFAST").csv(list(paths))


def on_days(rows: DataFrame, days: Sequence[date]) -> DataFrame:
    """Filter rows by days; adds ``date`` as a DATE from year, month and day, and ``month`` becomes "2013-01"."""
    dated = rows.withColumn("date", f.make_date("year", "month", "day"))
    dated = dated.withColumn("month", f.date_format("date", "yyyy-MM"))
    unbroken = (days[-1] - days[0]).days == len(days) - 1
    chosen = f.col("date").between(days[0], days[-1]) if unbroken else f.col("date").isin(list(days))
    return dated.where(chosen)


def missing(spark: Spark, table: Table, rows: DataFrame, key: Sequence[str], days: Sequence[date]) -> DataFrame:
    """Return the rows whose key the append table does not contain yet on these days."""
    existing = read_spark(spark(), table, columns=list(key), where=between(days))
    return rows.join(existing, list(key), "left_anti").select(*rows.columns)


def between(days: Sequence[date]) -> Predicate:
    """Return a predicate on ``date`` from the first to the last of the sorted days."""
    return col("date").between(days[0], days[-1])


def checked_days(settings: Settings, days: Sequence[date]) -> tuple[date, ...]:
    """Return the days sorted, each once; raises PipelineError for no days and for days outside of the source."""
    first, last = settings.days.first_day, settings.days.last_day
    if not days:
        raise PipelineError("at least one day is required")
    for day in days:
        if not first <= day <= last:
            raise PipelineError(f"the source has no day {day}: it runs from {first} to {last}")
    return tuple(sorted(set(days)))


def load_name(table: str, days: Sequence[date], file: source.SourceFile = source.FLIGHTS) -> str:
    """Return the commit user of a load: the same for the same table, days and source file, however often it runs."""
    return f"{table} {days_label(days)} {source.fingerprint(file)}"
