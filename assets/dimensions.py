"""Dimensions: planes, airlines and airports, each one overwritten as a whole."""

from typing import Any

import dagster as dg

from assets.flights import SOURCE
from assets.metadata import materialized, run_properties, table_asset
from assets.resources import LakeResource, SparkResource
from pipelines.dimensions import DIMENSIONS, load_dimension
from pipelines.settings import Settings


def dimension_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """dim.planes, dim.airlines and dim.airports."""
    return [_dimension(settings, name) for name in DIMENSIONS]


def _dimension(settings: Settings, name: str) -> dg.AssetsDefinition:
    @table_asset(settings, settings.table(name), deps=[SOURCE])
    def dimension(
        context: dg.AssetExecutionContext, lake: LakeResource, spark: SparkResource
    ) -> dg.MaterializeResult[Any]:
        properties = run_properties(context)
        return materialized(context, lambda: load_dimension(spark.session, lake.settings, name, properties=properties))

    return dimension
