"""Carrier days: flights and arrival delay per carrier and day, aggregated from ods.flights.

Months are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from paimon_core import col
from paimon_core.spark import read_spark
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from pipelines.flights import FLIGHTS
from pipelines.lake import Settings
from pipelines.protocol import PipelineError, StepResult, day_range, label, months_of
from pipelines.session import Spark
from pipelines.tables import Stage, load, open_table, rows_by

CARRIER_DAY = "dws.carrier_day"


def aggregate_carrier_day(
    spark: Spark, settings: Settings, months: Sequence[str], *, properties: Mapping[str, str] | None = None
) -> StepResult:
    """Aggregate months ("2013-01") of one snapshot of ods.flights, and overwrite them in one commit.

    Raises PipelineError for unknown months and when ods.flights has no snapshot, AuditFailed when the result is wrong.
    """
    months = _checked_months(settings, months)
    flights = open_table(settings, FLIGHTS)
    table = open_table(settings, CARRIER_DAY, create=True)
    snapshot = flights.latest_snapshot()
    if snapshot is None:
        raise PipelineError(f"{FLIGHTS} is empty: ingest flights first")

    def rows() -> DataFrame:
        pinned = flights.at(snapshot=snapshot.id)
        columns = ["month", "date", "carrier", "arr_delay"]
        return per_carrier_and_day(read_spark(spark(), pinned, columns=columns, where=col("month").is_in(list(months))))

    def complete(after: TableView) -> list[str]:
        return wrong_months(flights.at(snapshot=snapshot.id), after, months)

    return load(
        "aggregate-carrier-day",
        table,
        [Stage("months", rows, overwrite="dynamic", audit=complete)],
        user=f"{CARRIER_DAY} {label(months, unbroken=_unbroken(months))} of {FLIGHTS} {content_version(flights)}",
        properties={"pipeline.input-snapshot": str(snapshot.id), **(properties or {})},
        rows_per_partition=lambda: _rows_per_month(table, months),
    )


def per_carrier_and_day(flights: DataFrame) -> DataFrame:
    """Return flights, arrivals, and the mean and the exact 95th percentile (interpolated) of the arrival delay."""
    return flights.groupBy("month", "date", "carrier").agg(
        f.count("*").alias("flights"),
        f.count("arr_delay").alias("arrived"),
        f.avg("arr_delay").alias("mean_delay"),
        f.percentile("arr_delay", f.lit(0.95)).alias("p95_delay"),
    )


def wrong_months(flights: TableView, carrier_day: TableView, months: Sequence[str]) -> list[str]:
    """Return the problems: months with another number of flights than ods.flights, and repeated carrier days."""
    chosen = col("month").is_in(list(months))
    rows = carrier_day.scan(columns=["month", "date", "carrier", "flights"], where=chosen).to_arrow()
    counted = rows.group_by(["month"]).aggregate([("flights", "sum")])
    found = dict(zip(counted["month"].to_pylist(), counted["flights_sum"].to_pylist(), strict=True))
    expected = rows_by(flights, "month", chosen)
    wrong = [
        f"{month} counts {found.get(month, 0):,} flights of {expected.get(month, 0):,}"
        for month in months
        if found.get(month, 0) != expected.get(month, 0)
    ]
    duplicates = rows.num_rows - rows.group_by(["month", "date", "carrier"]).aggregate([]).num_rows
    return [*wrong, f"{duplicates} rows repeat a carrier and day"] if duplicates else wrong


def content_version(table: Table) -> str:
    """Return id and time of the newest snapshot that changed what a reader sees.

    Compactions count only for a first-row table, whose rows become visible when they are compacted.
    """
    unseen = ("ANALYZE",) if table.options["merge-engine"] == "first-row" else ("COMPACT", "ANALYZE")
    snapshots = table.inspect.snapshots()
    columns = [snapshots[name].to_pylist() for name in ("snapshot_id", "commit_kind", "commit_time")]
    rows = list(zip(*columns, strict=True))
    changed = [row for row in rows if row[1] not in unseen] or rows[:1]
    number, _, at = changed[-1]
    return f"{number} at {at:%Y-%m-%dT%H:%M:%S.%f}"


def _rows_per_month(table: Table, months: Sequence[str]) -> dict[str, int]:
    found = rows_by(table, "month", col("month").is_in(list(months)))
    return {month: found.get(month, 0) for month in months}


def _checked_months(settings: Settings, months: Sequence[str]) -> tuple[str, ...]:
    known = months_of(day_range(settings.days.first_day, settings.days.last_day))
    if not months:
        raise PipelineError("at least one month is required")
    for month in months:
        if month not in known:
            raise PipelineError(f"the source has no month {month!r}: it runs from {known[0]} to {known[-1]}")
    return tuple(sorted(set(months)))


def _unbroken(months: Sequence[str]) -> bool:
    numbers = [int(m[:4]) * 12 + int(m[5:]) for m in months]
    return numbers[-1] - numbers[0] == len(numbers) - 1
