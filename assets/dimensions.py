"""Dimensions: the assets planes, airlines and airports; one step publishes the requested ones together."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.flights import SOURCE
from assets.metadata import asset_key, attempt, declared, result_metadata, retries, run_properties
from assets.resources import LakeResource, SparkResource
from pipelines.dimensions import DIMENSIONS, load_dimensions
from pipelines.lake import Settings, TableSpec


def dimension_assets(settings: Settings) -> dg.AssetsDefinition:
    """Return the assets of dim.planes, dim.airlines and dim.airports."""

    @dg.multi_asset(
        name="dimensions",
        specs=[_spec(settings, settings.table(name)) for name in DIMENSIONS],
        can_subset=True,
        pool="paimon_write__dimensions",
        retry_policy=retries(settings),
    )
    def dimensions(
        context: dg.AssetExecutionContext, lake: LakeResource, spark: SparkResource
    ) -> Iterator[dg.MaterializeResult[Any]]:
        names = [name for name in DIMENSIONS if asset_key(name) in context.selected_asset_keys]
        properties = run_properties(context)
        for result in attempt(lambda: load_dimensions(spark.session, lake.settings, names, properties=properties)):
            context.log.info(result.sentence())
            yield dg.MaterializeResult(
                asset_key=asset_key(result.table),
                metadata=result_metadata(result),
                data_version=dg.DataVersion(f"snapshot-{result.snapshot_id}"),
            )

    return dimensions


def _spec(settings: Settings, spec: TableSpec) -> dg.AssetSpec:
    return dg.AssetSpec(
        asset_key(spec.name),
        deps=[SOURCE],
        description=spec.comment,
        group_name=spec.name.split(".")[0],
        kinds={"spark", "paimon"},
        owners=list(spec.owners),
        metadata=declared(settings, spec),
        tags={"paimon/write-mode": "write-only"} if spec.options.get("write-only") == "true" else {},
    )
