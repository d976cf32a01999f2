"""Weather: add the hours of some days to an append table, each hour once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from pyspark.sql import DataFrame

from pipelines import source
from pipelines.flights import between, checked_days, load_name, missing, on_days, read_csv
from pipelines.lake import Settings
from pipelines.protocol import StepResult
from pipelines.session import Spark
from pipelines.tables import Stage, load, open_table, rows_per_day

WEATHER = "ods.weather"


def ingest_weather(
    spark: Spark, settings: Settings, days: Sequence[date], *, properties: Mapping[str, str] | None = None
) -> StepResult:
    """Add the weather hours of the days to ods.weather, without those that it contains."""
    days = checked_days(settings, days)
    table = open_table(settings, WEATHER, create=True)

    def new() -> DataFrame:
        folder = source.land(source.WEATHER, settings.landing)
        hours = on_days(read_csv(spark, source.WEATHER, [str(folder)]), days).select(*table.schema.names)
        return missing(spark, table, hours, settings.table(WEATHER).key, days)

    return load(
        "ingest-weather",
        table,
        [Stage("hours", new)],
        user=load_name(WEATHER, days, source.WEATHER),
        properties=properties,
        rows_per_partition=lambda: rows_per_day(table, days, between(days)),
    )
