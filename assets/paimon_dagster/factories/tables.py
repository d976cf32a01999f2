"""Tables: the asset of a declared table, with a step that loads it from its source."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from paimon_dagster.column_lineage import lineage_metadata
from paimon_dagster.factories.checks import check_evaluation
from paimon_dagster.metadata import materialized, retries, run_properties
from paimon_dagster.partitions import mapping, partitions_of_run
from paimon_dagster.resources import lake_of, resource_keys, spark_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.check_result import CheckResult
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement import inputs_of
from paimon_lake.declarations.lookup import lookups_of
from paimon_lake.declarations.sources import DatabaseSource, FilesSource, PostgresChangesSource
from paimon_lake.protocol import AuditFailed, PipelineError, StepResult
from paimon_lake.session import Spark

_PASSWORD = re.compile(r"://[^/:]*:[^/]*@")
"""The user and password of a URL, which must not be shown. In a URL of Azure, the part before ``@`` is a container and
has no ``:``."""


class LoadConfig(dg.Config):
    """``reload``: load again what was loaded before."""

    reload: bool = False


def table_asset(settings: Settings, spec: TableSpec, translator: PaimonTranslator = PLAIN) -> dg.AssetsDefinition:
    """Return the asset of a declared table with a source.

    Raises SettingsError if partitions do not fit those of an input.
    """
    deps, key = dependencies(settings, spec, translator), translator.asset_key(spec)
    asset_spec = translator.asset_spec(settings, spec).replace_attributes(deps=deps)

    @dg.multi_asset(
        name=translator.prefixed("__".join(asset_spec.key.path)),
        specs=[asset_spec],
        pool=translator.pool(spec, "write"),
        retry_policy=retries(settings),
        backfill_policy=dg.BackfillPolicy.multi_run(spec.backfill_per_run) if asset_spec.partitions_def else None,
        required_resource_keys=resource_keys(translator),
    )
    def load(
        context: dg.AssetExecutionContext, config: LoadConfig
    ) -> Iterator[dg.AssetCheckEvaluation | dg.MaterializeResult[Any]]:
        lake, spark = lake_of(context, translator), spark_of(context, translator)
        keys = partitions_of_run(context)
        check_results: list[CheckResult] = []

        def step() -> StepResult:
            return _load(context, lake.settings, spark.session, spec, keys, config.reload, check_results)

        try:
            done = materialized(context, step, lambda r: lineage_metadata(context, lake.settings, spec, translator, r))
        finally:
            # The results are yielded, because Dagster drops results that a failed step has only logged.
            yield from [check_evaluation(result, key) for result in check_results]
        yield done

    return load


def _load(
    context: dg.AssetExecutionContext,
    settings: Settings,
    spark: Spark,
    spec: TableSpec,
    keys: Sequence[str] | None,
    reload: bool,
    check_results: list[CheckResult],
) -> StepResult:
    """Load the table, and add the results of blocking checks to ``check_results``, also when one stopped the load."""
    from paimon_lake.loads.load import load_table

    key, properties = run_key(context, spec, keys), run_properties(context)
    try:
        result = load_table(spark, settings, spec.name, keys, run_key=key, reload=reload, properties=properties)
    except AuditFailed as error:
        check_results += error.check_results
        raise
    check_results += result.check_results
    return result


def run_key(context: dg.AssetExecutionContext, spec: TableSpec, keys: Sequence[str] | None) -> str:
    """Return a run key that is the same for a step, for its retries, and in runs that repeat its run."""
    return " ".join([context.run.root_run_id or context.run.run_id, spec.name, *(keys or ())])


def dependencies(
    settings: Settings, spec: TableSpec, translator: PaimonTranslator = PLAIN
) -> list[dg.AssetSpec | dg.AssetDep]:
    """Return the inputs of a table with their partition mappings, and the tables that it looks up.

    For a source outside of the lake, return the asset of the source instead of inputs.
    """
    deps: list[dg.AssetSpec | dg.AssetDep] = []
    for name in dict.fromkeys(lookup.table for lookup in lookups_of(spec.source)):
        found = settings.table(name)
        whole = None if found.partitions is None else dg.AllPartitionMapping()
        deps.append(dg.AssetDep(translator.asset_key(found), partition_mapping=whole))
    outside = source_spec(settings, spec, translator)
    if outside is not None:
        return [outside, *deps]
    for name in inputs_of(spec):
        found = settings.table(name)
        deps.append(dg.AssetDep(translator.asset_key(found), partition_mapping=mapping(found, spec)))
    return deps


def source_spec(settings: Settings, spec: TableSpec, translator: PaimonTranslator = PLAIN) -> dg.AssetSpec | None:
    """Return an asset, which Dagster does not run, for the files or the database of a table's source; else None."""
    metadata: dict[str, Any]
    kind: str
    match spec.source:
        case FilesSource() as files:
            kind = files.format or ""
            metadata = {
                "paimon/path": _PASSWORD.sub("://", files.path),
                "paimon/format": kind or "by the ending of the path",
            }
        case DatabaseSource() as database:
            scheme = database.url.partition("://")[0]
            kind = {"postgresql": "postgres"}.get(scheme, scheme)
            metadata = {"paimon/database": _place(settings, database.url), "paimon/table": database.table or "a query"}
        case PostgresChangesSource() as changes:
            kind = "postgres"
            metadata = {"paimon/database": _place(settings, changes.url), "paimon/table": changes.table}
        case _:
            return None
    return dg.AssetSpec(
        translator.source_key(spec),
        description=f"where {spec.name} is loaded from",
        group_name="source",
        kinds={kind} if kind else set(),
        metadata=metadata,
    )


def _place(settings: Settings, url: str) -> str:
    """Return the URL of a database without user and password; only its kind where the URL has another form."""
    from paimon_lake.sources.database import open_database

    try:
        return open_database(url, table="t", query="", folder=settings.folder).place
    except PipelineError:  # a load says what is wrong; parts of the URL could be parts of a password
        return url.partition("://")[0]
