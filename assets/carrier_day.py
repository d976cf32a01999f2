"""Carrier days: the asset dws.carrier_day with monthly partitions, computed from the daily partitions of flights."""

from typing import Any

import dagster as dg

from assets.metadata import materialized, run_properties
from assets.partitions import monthly
from assets.resources import LakeResource, SparkResource
from assets.tables import declared_asset
from assets.translator import PLAIN, PaimonTranslator
from pipelines.carrier_day import CARRIER_DAY, aggregate_carrier_day
from pipelines.flights import FLIGHTS
from pipelines.lake import Settings


def carrier_day_asset(settings: Settings, translator: PaimonTranslator = PLAIN) -> dg.AssetsDefinition:
    """Return the asset of dws.carrier_day."""
    spec = settings.table(CARRIER_DAY)
    flights = translator.asset_key(settings.table(FLIGHTS))

    @declared_asset(
        settings,
        spec,
        translator,
        deps=[dg.AssetDep(flights, partition_mapping=dg.TimeWindowPartitionMapping())],
        partitions_def=monthly(settings),
    )
    def carrier_day(
        context: dg.AssetExecutionContext, lake: LakeResource, spark: SparkResource
    ) -> dg.MaterializeResult[Any]:
        months = list(context.partition_keys)
        properties = run_properties(context)
        return materialized(
            context, lambda: aggregate_carrier_day(spark.session, lake.settings, months, properties=properties)
        )

    return carrier_day
