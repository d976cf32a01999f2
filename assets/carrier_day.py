"""Carrier days: the asset dws.carrier_day with monthly partitions, computed from the daily partitions of flights."""

from typing import Any

import dagster as dg

from assets.metadata import asset_key, materialized, run_properties, table_asset
from assets.partitions import monthly
from assets.resources import LakeResource, SparkResource
from pipelines.carrier_day import CARRIER_DAY, aggregate_carrier_day
from pipelines.flights import FLIGHTS
from pipelines.lake import Settings


def carrier_day_asset(settings: Settings) -> dg.AssetsDefinition:
    """Return the asset of dws.carrier_day."""
    spec = settings.table(CARRIER_DAY)

    @table_asset(
        settings,
        spec,
        deps=[dg.AssetDep(asset_key(FLIGHTS), partition_mapping=dg.TimeWindowPartitionMapping())],
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
