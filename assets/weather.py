"""Weather: an asset with monthly partitions, several months per run."""

from typing import Any

import dagster as dg

from assets.flights import SOURCE
from assets.metadata import materialized, run_properties
from assets.partitions import days_in, monthly
from assets.resources import LakeResource, SparkResource
from assets.tables import declared_asset
from assets.translator import PLAIN, PaimonTranslator
from pipelines.lake import Settings
from pipelines.weather import WEATHER, ingest_weather


def weather_asset(settings: Settings, translator: PaimonTranslator = PLAIN) -> dg.AssetsDefinition:
    """Return the asset of ods.weather."""
    spec = settings.table(WEATHER)

    @declared_asset(
        settings,
        spec,
        translator,
        deps=[SOURCE],
        partitions_def=monthly(settings),
    )
    def weather(
        context: dg.AssetExecutionContext, lake: LakeResource, spark: SparkResource
    ) -> dg.MaterializeResult[Any]:
        days = days_in(context.partition_keys, lake.settings)
        properties = run_properties(context)
        return materialized(
            context, lambda: ingest_weather(spark.session, lake.settings, days, properties=properties).per_month()
        )

    return weather
