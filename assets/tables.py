"""Tables: the asset of a declared table, with a step that loads it from its source."""

import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import dagster as dg

from assets.metadata import materialized, retries, run_properties
from assets.partitions import mapping
from assets.resources import LakeResource, SparkResource
from assets.translator import PLAIN, PaimonTranslator
from pipelines.lake import Settings, SettingsError, TableSpec
from pipelines.lake.sources import DatabaseSource, FilesSource, PythonSource, SqlSource

_USER = re.compile(r"://[^/@]*@")
"""The user and password of a URL, which are not shown."""


class LoadConfig(dg.Config):
    """``reload``: load again what was loaded before."""

    reload: bool = False


def declared_asset(
    settings: Settings,
    spec: TableSpec,
    translator: PaimonTranslator = PLAIN,
    *,
    deps: Sequence[dg.AssetSpec | dg.AssetDep],
    partitions_def: dg.PartitionsDefinition[str] | None = None,
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return the decorator of the step that writes a table; ``partitions_def`` replaces that of the translator."""
    said = translator.asset_spec(settings, spec).replace_attributes(deps=deps)
    if partitions_def is not None:
        said = said.replace_attributes(partitions_def=partitions_def)
    return dg.multi_asset(
        name="__".join(said.key.path),
        specs=[said],
        pool=translator.pool(spec, "write"),
        retry_policy=retries(settings),
        backfill_policy=dg.BackfillPolicy.multi_run(spec.backfill_per_run) if said.partitions_def else None,
    )


def table_asset(settings: Settings, spec: TableSpec, translator: PaimonTranslator = PLAIN) -> dg.AssetsDefinition:
    """Return the asset of a declared table with a source; raises SettingsError for inputs that cannot be mapped."""
    deps = dependencies(settings, spec, translator)

    @declared_asset(settings, spec, translator, deps=deps)
    def load(
        context: dg.AssetExecutionContext, config: LoadConfig, lake: LakeResource, spark: SparkResource
    ) -> dg.MaterializeResult[Any]:
        from pipelines.load.load import load_table

        keys = list(context.partition_keys) if context.has_partition_key_range else None
        return materialized(
            context,
            lambda: load_table(
                spark.session,
                lake.settings,
                spec.name,
                keys,
                run_key=run_key(context, spec, keys),
                reload=config.reload,
                properties=run_properties(context),
            ),
        )

    return load


def run_key(context: dg.AssetExecutionContext, spec: TableSpec, keys: Sequence[str] | None) -> str:
    """Return a text that is the same for a step, its retries, and runs that repeat its run."""
    return " ".join([context.run.root_run_id or context.run.run_id, spec.name, *(keys or ())])


def dependencies(
    settings: Settings, spec: TableSpec, translator: PaimonTranslator = PLAIN
) -> list[dg.AssetSpec | dg.AssetDep]:
    """Return the inputs of a table with their partition mappings, or the source outside of the lake."""
    if not isinstance(spec.source, (SqlSource, PythonSource)):
        found = source_spec(settings, spec, translator)
        return [found] if found is not None else []
    deps: list[dg.AssetSpec | dg.AssetDep] = []
    for name in dict.fromkeys(spec.source.inputs):
        if name == spec.name:
            raise SettingsError(f"{spec.name}: source.inputs names the table itself: a table cannot be its own input")
        if name not in settings.tables:
            known = ", ".join(sorted(settings.tables))
            raise SettingsError(f"{spec.name}: source.inputs names {name!r}, which is not declared (declared: {known})")
        input_spec = settings.table(name)
        deps.append(dg.AssetDep(translator.asset_key(input_spec), partition_mapping=mapping(input_spec, spec)))
    return deps


def source_spec(settings: Settings, spec: TableSpec, translator: PaimonTranslator = PLAIN) -> dg.AssetSpec | None:
    """Return the files or the database that a table is loaded from as an asset that Dagster does not run."""
    metadata: dict[str, Any]
    kind: str
    match spec.source:
        case FilesSource() as files:
            kind = files.format or ""
            metadata = {
                "paimon/path": _USER.sub("://", files.path),
                "paimon/format": kind or "by the ending of the path",
            }
        case DatabaseSource() as database:
            place = urlsplit(database.url)
            kind = {"postgresql": "postgres"}.get(place.scheme, place.scheme)
            where = place.path if place.scheme == "sqlite" else f"{place.hostname or ''}{place.path}"
            metadata = {"paimon/database": f"{place.scheme}://{where}", "paimon/table": database.table or "a query"}
        case _:
            return None
    return dg.AssetSpec(
        translator.source_key(spec),
        description=f"where {spec.name} is loaded from",
        group_name="source",
        kinds={kind} if kind else set(),
        metadata=metadata,
    )
