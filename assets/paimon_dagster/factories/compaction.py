"""Compaction: a job per table that merges its sorted runs, started by hand or by the compaction sensor."""

from functools import partial
from typing import Any

import dagster as dg

from paimon_dagster.health_metadata import with_health
from paimon_dagster.metadata import observed, retries, run_properties
from paimon_dagster.resources import lake_of, resource_keys, spark_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.steps.upkeep.maintenance import compact


class CompactConfig(dg.Config):
    """``full``: merge each bucket into one run; ``partitions``: compact only these partitions; ``dry_run``: only show
    the plan.
    """

    full: bool = False
    partitions: list[str] | None = None
    dry_run: bool = False


def compaction_job_name(spec: TableSpec, translator: PaimonTranslator = PLAIN) -> str:
    """Return the name of a table's compaction job, such as ``compact__ods_flights``."""
    return translator.prefixed(f"compact__{spec.ident}")


def _op_name(spec: TableSpec, translator: PaimonTranslator) -> str:
    return translator.prefixed(f"merge_runs__{spec.ident}")


def compaction_jobs(settings: Settings, translator: PaimonTranslator = PLAIN) -> dict[str, dg.JobDefinition]:
    """Return a compaction job for every table, by the table's name."""
    return {name: _compaction_job(settings, spec, translator) for name, spec in settings.tables.items()}


def _compaction_job(settings: Settings, spec: TableSpec, translator: PaimonTranslator) -> dg.JobDefinition:
    key, pool = translator.asset_key(spec), translator.pool(spec, "compact")

    @dg.op(
        name=_op_name(spec, translator),
        pool=pool,
        retry_policy=retries(settings),
        required_resource_keys=resource_keys(translator),
    )
    def compact_table(context: dg.OpExecutionContext, config: CompactConfig) -> None:
        lake, spark = lake_of(context, translator), spark_of(context, translator)
        properties = run_properties(context)
        wanted: dict[str, Any] = {"full": config.full, "partitions": config.partitions, "dry_run": config.dry_run}
        step = partial(compact, spark.session, lake.settings, spec.name, **wanted, properties=properties)
        observed(context, key, step, with_health(lake.settings))

    @dg.job(
        name=compaction_job_name(spec, translator),
        description=f"Merge the sorted runs of {spec.name}. Started by hand or by the compaction sensor.",
        tags={"paimon/table": spec.name, "paimon/role": "compact"},
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        compact_table()

    return job


def compaction_config(
    spec: TableSpec, *, full: bool, partitions: list[str] | None = None, translator: PaimonTranslator = PLAIN
) -> dg.RunConfig:
    """Return the run config of a table's compaction job."""
    return dg.RunConfig(ops={_op_name(spec, translator): CompactConfig(full=full, partitions=partitions)})
