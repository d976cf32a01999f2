"""Tables: the asset of a declared table, with a step that loads it from its source."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg

from paimon_dagster.column_lineage import lineage_metadata
from paimon_dagster.factories.checks import check_evaluation
from paimon_dagster.health_metadata import LARGE, health_metadata, without_pictures
from paimon_dagster.metadata import data_version, materialized, result_metadata, retries, run_properties
from paimon_dagster.partitions import mapping, partitions_of_run
from paimon_dagster.resources import lake_of, resource_keys, spark_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.check_result import CheckResult
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.tables import inputs_of
from paimon_lake.declarations.lake.databases import database_of
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.lookup import lookups_of
from paimon_lake.declarations.sources.source import DatabaseSource, FilesSource, PostgresChangesSource
from paimon_lake.protocol import AuditFailed, PartsFailed, PipelineError, StepResult, TablesFailed
from paimon_lake.session import Spark

_DATA_VERSION = "dagster/data_version"
_PASSWORD = re.compile(r"://[^/:]*:[^/]*@")
"""Matches the user and password of a URL, which must not be shown. In a URL of Azure, the part before ``@`` is a
container and has no ``:``."""


class LoadConfig(dg.Config):
    """``reload``: load files and rows again that were loaded before."""

    reload: bool = False


def table_asset(settings: Settings, spec: TableSpec, translator: PaimonTranslator = PLAIN) -> dg.AssetsDefinition:
    """Return the asset of a declared table with a source.

    Raises SettingsError if the partitions do not fit the partitions of an input.
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
    ) -> Iterator[dg.AssetCheckEvaluation | dg.AssetMaterialization | dg.MaterializeResult[Any]]:
        lake, spark = lake_of(context, translator), spark_of(context, translator)
        keys = partitions_of_run(context)
        check_results: list[CheckResult] = []

        def step() -> StepResult:
            return _load(context, lake.settings, spark.session, spec, keys, config.reload, translator, check_results)

        try:
            done = materialized(context, step, lambda r: _more(context, lake.settings, spec, translator, r, keys))
        except (PartsFailed, TablesFailed) as error:
            yield from _kept(context, lake.settings, spec, translator, error)
            final = all(isinstance(one, AuditFailed | PipelineError) for one in error.errors.values())
            metadata = result_metadata(error.result) if isinstance(error, PartsFailed) else None
            raise dg.Failure(str(error), metadata=metadata, allow_retries=not final) from error
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
    translator: PaimonTranslator,
    check_results: list[CheckResult],
) -> StepResult:
    """Load the table; add the results of blocking checks to ``check_results``, even when a check stopped the load.

    The load may also load other tables that share the source. When only other tables failed, the error is raised unless
    the run has a step for each table that failed.
    """
    from paimon_lake.loads.load import load_table

    key, properties = run_key(context, spec, keys), run_properties(context)
    try:
        result = load_table(spark, settings, spec.name, keys, run_key=key, reload=reload, properties=properties)
    except AuditFailed as error:
        check_results += error.check_results
        raise
    except TablesFailed as error:
        if not _other_steps_fail(context, settings, spec, translator, error):
            raise
        context.log.error(f"{error}; the steps of the tables that failed load them again")
        result, *others = sorted(error.results, key=lambda one: one.table != spec.name)
        result = replace(result, others=tuple(others))
    check_results += result.check_results
    return result


def _other_steps_fail(
    context: dg.AssetExecutionContext,
    settings: Settings,
    spec: TableSpec,
    translator: PaimonTranslator,
    failed: TablesFailed,
) -> bool:
    """Whether the table was loaded, and each table that failed has a step of its own in the run.

    False for a table of a consistent group, whose tables are loaded all or none.
    """
    database = database_of(spec)
    if spec.name in failed.errors or (database and settings.postgres[database].consistent):
        return False
    loading = context.job_def.asset_layer.selected_asset_keys
    return all(translator.asset_key(settings.table(name)) in loading for name in failed.errors)


def _more(
    context: dg.AssetExecutionContext,
    settings: Settings,
    spec: TableSpec,
    translator: PaimonTranslator,
    result: StepResult,
    keys: Sequence[str] | None,
) -> dict[str, Any]:
    """Return further metadata of a load; log a materialization of each other table that the load changed.

    A load of several partitions has one event for each; only the event of the last partition has the pictures.
    """
    for other in result.others:
        for event in _events(settings, translator, other, f"loaded together with {spec.name}, whose slot it shares"):
            context.log_event(event)
    health = health_metadata(settings, spec.name)
    large = {key: health[key] for key in LARGE if key in health}
    if keys is not None and len(keys) > 1 and large:
        context.add_asset_metadata(large, asset_key=translator.asset_key(spec), partition_key=keys[-1])
        health = without_pictures(health)
    return {**health, **lineage_metadata(context, settings, spec, translator, result)}


def _events(
    settings: Settings, translator: PaimonTranslator, result: StepResult, description: str
) -> Iterator[dg.AssetCheckEvaluation | dg.AssetMaterialization]:
    """Yield the results of the blocking checks of a load, and its materialization if it made a commit."""
    spec, version = settings.table(result.table), data_version(result)
    key = translator.asset_key(spec)
    yield from (check_evaluation(check_result, key) for check_result in result.check_results)
    lacks_part = bool(spec.parts) and spec.partitions is not None  # a part failed: its partitions are not complete
    if result.commits and not lacks_part:
        tags = None if version is None else {_DATA_VERSION: version.value}
        metadata = {**health_metadata(settings, spec.name), **result_metadata(result)}
        yield dg.AssetMaterialization(key, description=description, metadata=metadata, tags=tags)


def _kept(
    context: dg.AssetExecutionContext,
    settings: Settings,
    spec: TableSpec,
    translator: PaimonTranslator,
    failed: PartsFailed | TablesFailed,
) -> Iterator[dg.AssetCheckEvaluation | dg.AssetMaterialization]:
    """Yield materializations of the commits of a load that failed, and the results of its failed checks."""
    for result in failed.results:
        context.log.info(result.sentence())
        yield from _events(settings, translator, result, f"committed by a load of {spec.name} that failed")
    for name, error in failed.errors.items() if isinstance(failed, TablesFailed) else ():
        if isinstance(error, AuditFailed):
            key = translator.asset_key(settings.table(name))
            yield from (check_evaluation(check_result, key) for check_result in error.check_results)


def run_key(context: dg.AssetExecutionContext, spec: TableSpec, keys: Sequence[str] | None) -> str:
    """Return a run key that is the same for a step, for the retries of the step, and for repetitions of its run."""
    return " ".join([context.run.root_run_id or context.run.run_id, spec.name, *(keys or ())])


def dependencies(
    settings: Settings, spec: TableSpec, translator: PaimonTranslator = PLAIN
) -> list[dg.AssetSpec | dg.AssetDep]:
    """Return the tables that a table and its parts read or look up, with the partition mapping of each.

    For a source outside of the lake, the result has the asset of the source. A table depends on all partitions of a
    looked-up table, and of an input that several parts read by different partitions.
    """
    deps: list[dg.AssetSpec | dg.AssetDep] = []
    mappings: dict[str, dg.PartitionMapping | None] = {}
    for one in load_specs(spec):
        outside = source_spec(settings, one, translator)
        deps += [outside] if outside is not None else []
        for name in inputs_of(one):
            wanted = mapping(settings.table(name), one)
            known = mappings.setdefault(name, wanted)
            same = type(known) is type(wanted) and known == wanted  # == ignores the types
            mappings[name] = wanted if same else dg.AllPartitionMapping()
        for name in (lookup.table for lookup in lookups_of(one.source)):
            whole = None if settings.table(name).partitions is None else dg.AllPartitionMapping()
            mappings[name] = whole
    for name, wanted in mappings.items():
        deps.append(dg.AssetDep(translator.asset_key(settings.table(name)), partition_mapping=wanted))
    return deps


def source_spec(settings: Settings, spec: TableSpec, translator: PaimonTranslator = PLAIN) -> dg.AssetSpec | None:
    """Return an asset, which Dagster does not run, for the files, database or topics of a source; None for others."""
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
            metadata = {"paimon/database": _place(settings, changes.url), "paimon/table": changes.name}
        case KafkaSource() as messages:
            kind = "kafka"
            metadata = {"paimon/servers": ", ".join(messages.servers), "paimon/topic": ", ".join(messages.topic)}
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
    """Return the URL of a database without user and password; only the scheme when the URL is invalid."""
    from paimon_lake.sources.database import open_database

    try:
        return open_database(url, table="t", query="", folder=settings.folder).place
    except PipelineError:  # a load reports the error; the URL is not shown, because it could contain a password
        return url.partition("://")[0]
