"""Dimensions: the assets planes, airlines and airports; one step publishes the requested ones together."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.flights import SOURCE
from assets.metadata import attempt, data_version, result_metadata, retries, run_properties
from assets.resources import LakeResource, SparkResource
from assets.translator import PLAIN, PaimonTranslator
from pipelines.dimensions import DIMENSIONS, load_dimensions
from pipelines.lake import Settings


def dimension_assets(settings: Settings, translator: PaimonTranslator = PLAIN) -> dg.AssetsDefinition:
    """Return the assets of dim.planes, dim.airlines and dim.airports."""
    tables = [settings.table(name) for name in DIMENSIONS]
    keys = {spec.name: translator.asset_key(spec) for spec in tables}

    @dg.multi_asset(
        name="dimensions",
        specs=[translator.asset_spec(settings, spec).replace_attributes(deps=[SOURCE]) for spec in tables],
        can_subset=True,
        pool="paimon_write__dimensions",
        retry_policy=retries(settings),
    )
    def dimensions(
        context: dg.AssetExecutionContext, lake: LakeResource, spark: SparkResource
    ) -> Iterator[dg.MaterializeResult[Any]]:
        names = [name for name, key in keys.items() if key in context.selected_asset_keys]
        properties = run_properties(context)
        for result in attempt(lambda: load_dimensions(spark.session, lake.settings, names, properties=properties)):
            context.log.info(result.sentence())
            yield dg.MaterializeResult(
                asset_key=keys[result.table],
                metadata=result_metadata(result),
                data_version=data_version(result),
            )

    return dimensions
