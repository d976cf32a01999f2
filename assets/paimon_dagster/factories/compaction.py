"""Compaction: a job per table that merges its sorted runs, started by hand or by the compaction sensor."""

from typing import Any

import dagster as dg

from paimon_dagster.metadata import observed, retries, run_properties
from paimon_dagster.resources import LakeResource, SparkResource
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.steps.maintenance import compact


class CompactConfig(dg.Config):
    """``full``: merge every bucket into one run; ``partitions``: only these; ``dry_run``: only show the plan."""

    full: bool = False
    partitions: list[str] | None = None
    dry_run: bool = False


def compaction_job_name(spec: TableSpec) -> str:
    """Return the name of a table's compaction job, such as ``compact__ods_flights``."""
    return f"compact__{spec.ident}"


def compaction_jobs(settings: Settings, translator: PaimonTranslator = PLAIN) -> dict[str, dg.JobDefinition]:
    """Return a compaction job for every table, by the table's name."""
    return {name: _compaction_job(settings, spec, translator) for name, spec in settings.tables.items()}


def _compaction_job(settings: Settings, spec: TableSpec, translator: PaimonTranslator) -> dg.JobDefinition:
    key, pool = translator.asset_key(spec), translator.pool(spec, "compact")

    @dg.op(name=f"merge_runs__{spec.ident}", pool=pool, retry_policy=retries(settings))
    def compact_table(
        context: dg.OpExecutionContext, config: CompactConfig, lake: LakeResource, spark: SparkResource
    ) -> None:
        properties = run_properties(context)
        wanted: dict[str, Any] = {"full": config.full, "partitions": config.partitions, "dry_run": config.dry_run}
        observed(
            context, key, lambda: compact(spark.session, lake.settings, spec.name, **wanted, properties=properties)
        )

    @dg.job(
        name=compaction_job_name(spec),
        description=f"Merge the sorted runs of {spec.name}. Started by hand or by the compaction sensor.",
        tags={"paimon/table": spec.name, "paimon/role": "compact"},
    )
    def job() -> None:
        compact_table()

    return job


def compaction_config(spec: TableSpec, *, full: bool, partitions: list[str] | None = None) -> dg.RunConfig:
    """Return the run config of a table's compaction job."""
    return dg.RunConfig(ops={f"merge_runs__{spec.ident}": CompactConfig(full=full, partitions=partitions)})
