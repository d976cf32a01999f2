"""Flights and cancellations: a day's changes, in the order in which they happen.

A flight is scheduled (+I), departs (+U), arrives (+U); one that never departed is deleted (-D) and kept as a
cancellation. Each kind of change is one commit for all days of a run: within a commit rows of a key have no order,
between commits they have.
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
from pipelines.protocol import PipelineError, StepResult, days_label, months_of
from pipelines.session import Spark
from pipelines.settings import Settings
from pipelines.tables import KIND, Stage, load, open_table, rows_per_day

FLIGHTS = "ods.flights"
CANCELLATIONS = "ods.cancellations"
_OF_DEPARTURE = ("dep_time", "dep_delay")
_OF_ARRIVAL = ("arr_time", "arr_delay", "air_time")


class DayStep(Protocol):
    """A step that brings some days of the source into a table."""

    def __call__(
        self, spark: Spark, settings: Settings, days: Sequence[date], *, properties: Mapping[str, str] | None = None
    ) -> StepResult:
        """Do it for these days."""


def ingest_flights(
    spark: Spark, settings: Settings, days: Sequence[date], *, properties: Mapping[str, str] | None = None
) -> StepResult:
    """Bring the changes of the days into ods.flights, three commits in all; raises PipelineError for unknown days."""
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
        # Also after a run that died between its commit and this; a month that is marked stays as it is otherwise.
        complete = complete_months(table, months_of(days))
        done = mark_months(table, [m for m in complete if result.commits or not is_marked(table, m)])
        result = dataclasses.replace(result, details={**result.details, "months_done": len(done)})
    return result


def ingest_cancellations(
    spark: Spark, settings: Settings, days: Sequence[date], *, properties: Mapping[str, str] | None = None
) -> StepResult:
    """Add the flights of the days that never departed to ods.cancellations, those that it has left out."""
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


# -- the changes, DataFrame to DataFrame


def scheduled(flights: DataFrame) -> DataFrame:
    """+I: every flight, with nothing of its departure and arrival known."""
    return _change(_without(flights, (*_OF_DEPARTURE, *_OF_ARRIVAL)), "+I")


def departures(flights: DataFrame) -> DataFrame:
    """+U: the flights that departed, nothing of their arrival known."""
    return _change(_without(flights.where("dep_time is not null"), _OF_ARRIVAL), "+U")


def arrivals(flights: DataFrame) -> DataFrame:
    """+U: the flights that arrived; -D: those that never departed."""
    arrived = _change(flights.where("arr_time is not null"), "+U")
    return arrived.unionByName(_change(flights.where("dep_time is null"), "-D"))


def _without(flights: DataFrame, columns: Sequence[str]) -> DataFrame:
    return flights.withColumns({name: f.lit(None).cast("int") for name in columns})


def _change(flights: DataFrame, kind: str) -> DataFrame:
    return flights.withColumn(KIND, f.lit(kind))


# -- reading


def flights_of(spark: Spark, settings: Settings, days: Sequence[date]) -> DataFrame:
    """The source's flights of these days, with the columns of ods.flights."""
    paths = source.landed_months(source.FLIGHTS, settings.landing, months_of(days))
    rows = read_csv(spark, source.FLIGHTS, paths)
    return on_days(rows, days).select(*settings.table(FLIGHTS).columns)


def read_csv(spark: Spark, file: source.SourceFile, paths: Sequence[str]) -> DataFrame:
    """Landed CSV files with the declared columns; a value that does not fit its type fails the job."""
    reader = spark().read.schema(file.columns).option("header", True).option("enforceSchema", False)
    return reader.option("nullValue", source.NULL).option("mode", "FAILFAST").csv(list(paths))


def on_days(rows: DataFrame, days: Sequence[date]) -> DataFrame:
    """Rows with year, month and day, reduced to the days; ``date`` is a DATE, ``month`` becomes a text."""
    dated = rows.withColumn("date", f.make_date("year", "month", "day"))
    dated = dated.withColumn("month", f.date_format("date", "yyyy-MM"))
    unbroken = (days[-1] - days[0]).days == len(days) - 1
    chosen = f.col("date").between(days[0], days[-1]) if unbroken else f.col("date").isin(list(days))
    return dated.where(chosen)


def missing(spark: Spark, table: Table, rows: DataFrame, key: Sequence[str], days: Sequence[date]) -> DataFrame:
    """The rows whose key the append table does not hold yet on these days."""
    there = read_spark(spark(), table, columns=list(key), where=between(days))
    return rows.join(there, list(key), "left_anti").select(*rows.columns)


def between(days: Sequence[date]) -> Predicate:
    """A predicate on ``date`` that takes in all of the days."""
    return col("date").between(days[0], days[-1])


def checked_days(settings: Settings, days: Sequence[date]) -> tuple[date, ...]:
    """The days sorted, each once; raises PipelineError for none, and for a day that the source does not have."""
    first, last = settings.calendar.first_day, settings.calendar.last_day
    if not days:
        raise PipelineError("no day was asked for")
    for day in days:
        if not first <= day <= last:
            raise PipelineError(f"the source has no day {day}: it runs from {first} to {last}")
    return tuple(sorted(set(days)))


def load_name(table: str, days: Sequence[date], file: source.SourceFile = source.FLIGHTS) -> str:
    """The commit user of a load: the same days of the same source are the same load, whoever asks, however often."""
    return f"{table} {days_label(days)} {source.fingerprint(file)}"
