"""by_hand: jobs that a person starts in the Launchpad, for one table: sort, rescale, expire, tag, branch, delete,
rollback, reload.

The config of each names the table; the Launchpad offers the declared names. Jobs that delete versions or rows' history
are dry runs unless ``dry_run`` is false: they show what would be lost. Each result is an observation of the asset, or a
materialization for a reload.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from paimon_dagster.health_metadata import health_metadata, with_health, without_pictures
from paimon_dagster.metadata import attempt, data_version, observed, result_metadata, run_properties
from paimon_dagster.resources import SparkResource, lake_of, resource_keys, spark_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings
from paimon_lake.protocol import PipelineError, StepResult
from paimon_lake.steps.audits.check_and_rollback import rollback
from paimon_lake.steps.upkeep.by_hand import branch, delete, rescale, sort
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintenance import tag

Config = Mapping[str, Any]


@dataclass(frozen=True)
class _Request:
    """One started step: the lake, the config of the step, and the properties of its commits."""

    settings: Settings
    spark: SparkResource
    config: Config
    properties: Mapping[str, str]

    @property
    def table(self) -> str:
        return str(self.config["table"])

    @property
    def partitions(self) -> list[str] | None:
        return list(self.config["partitions"]) or None


@dataclass(frozen=True)
class _Job:
    name: str
    description: str
    fields: Mapping[str, dg.Field]
    step: Callable[[_Request], StepResult]


def _sort(request: _Request) -> StepResult:
    config = request.config
    return sort(
        request.spark.session,
        request.settings,
        request.table,
        order_by=config["order_by"],
        strategy=config["strategy"],
        partitions=request.partitions,
        properties=request.properties,
    )


def _rescale(request: _Request) -> StepResult:
    return rescale(
        request.spark.session,
        request.settings,
        request.table,
        buckets=request.config["buckets"],
        partitions=request.partitions,
        dry_run=request.config["dry_run"],
        properties=request.properties,
    )


def _expire(request: _Request) -> StepResult:
    return expire(request.spark.session, request.settings, request.table, dry_run=request.config["dry_run"])


def _tag(request: _Request) -> StepResult:
    return tag(request.settings, request.table, request.config["name"] or f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}")


def _branch(request: _Request) -> StepResult:
    config = request.config
    return branch(request.settings, request.table, config["name"], tag_name=config["tag"])


def _delete(request: _Request) -> StepResult:
    config = request.config
    return delete(
        request.settings,
        request.table,
        tag_name=config["tag"],
        branch_name=config["branch"],
        dry_run=config["dry_run"],
    )


def _rollback(request: _Request) -> StepResult:
    config = request.config
    snapshot, name = config["snapshot"], config["tag"]
    if (snapshot is None) == (name is None):
        given = "neither is given" if snapshot is None else f"snapshot is {snapshot} and tag is {name!r}"
        raise PipelineError(f"{request.table}: give either a snapshot or a tag to roll back to; {given}")
    return rollback(request.settings, request.table, snapshot=snapshot, tag=name, apply=not config["dry_run"])


_PARTITIONS = dg.Field([str], default_value=[], description="Only these values of the partition column; [] for all.")
_DRY = dg.Field(bool, default_value=True, description="Only show what would be deleted; false: delete it.")
_TAG = dg.Field(dg.Noneable(str), default_value=None, is_required=False)
_JOBS = (
    _Job(
        "sort",
        "Sort the rows of an append table by columns, so that filters skip more files. No row changes.",
        {
            "order_by": dg.Field([str], default_value=[], description="The columns to sort by."),
            "strategy": dg.Field(str, default_value="order", description="order, zorder or hilbert."),
            "partitions": _PARTITIONS,
        },
        _sort,
    ),
    _Job(
        "rescale",
        "Rewrite partitions into the number of buckets that the table declares. No row changes.",
        {
            "buckets": dg.Field(
                dg.Noneable(int), default_value=None, description="Only for bucket = -2; default: the option bucket."
            ),
            "partitions": _PARTITIONS,
            "dry_run": dg.Field(
                bool, default_value=False, description="Only show which partitions would be rewritten."
            ),
        },
        _rescale,
    ),
    _Job(
        "expire",
        "Expire the tags, snapshots and partitions that the retention of a table does not keep. A dry run by default.",
        {"dry_run": _DRY},
        _expire,
    ),
    _Job(
        "tag",
        "Tag the latest snapshot of a table.",
        {"name": dg.Field(str, default_value="", description="The name of the tag; default: the time in UTC.")},
        _tag,
    ),
    _Job(
        "branch",
        "Create a branch of a table with the rows of a tag.",
        {
            "name": dg.Field(str, description="The name of the branch."),
            "tag": dg.Field(dg.Noneable(str), default_value=None, description="Default: a new tag <name>-start."),
        },
        _branch,
    ),
    _Job(
        "delete",
        "Delete a tag or a branch of a table. A dry run by default.",
        {"tag": _TAG, "branch": _TAG, "dry_run": _DRY},
        _delete,
    ),
    _Job(
        "rollback",
        "Roll a table back to a snapshot or a tag. A dry run by default, which shows what would be lost.",
        {"snapshot": dg.Field(dg.Noneable(int), default_value=None), "tag": _TAG, "dry_run": _DRY},
        _rollback,
    ),
)


def by_hand_jobs(settings: Settings, translator: PaimonTranslator = PLAIN) -> list[dg.JobDefinition]:
    """Return the jobs of a lake; [] for a lake without tables."""
    if not settings.tables:
        return []
    table = _table_field(settings, translator)
    return [*(_job(one, table, translator) for one in _JOBS), _reload_job(table, translator)]


def _table_field(settings: Settings, translator: PaimonTranslator) -> dg.Field:
    """Return the field for the name of a table; the only table of a lake is the default."""
    names = sorted(settings.tables)
    values = [dg.EnumValue(name, description=settings.tables[name].comment or None) for name in names]
    # Dagster caches the fields of config by the names of their types, so other tables need another name.
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
    kind = dg.Enum(translator.prefixed(f"Table_{digest}"), values)
    if len(names) == 1:
        return dg.Field(kind, default_value=names[0], description="The table.")
    return dg.Field(kind, description="The table.")


def _job(one: _Job, table: dg.Field, translator: PaimonTranslator) -> dg.JobDefinition:
    @dg.op(
        name=translator.prefixed(f"{one.name}_table"),
        config_schema={"table": table, **one.fields},
        required_resource_keys=resource_keys(translator),
    )
    def operate(context: dg.OpExecutionContext) -> None:
        settings = lake_of(context, translator).settings
        config: Config = context.op_config
        request = _Request(settings, spark_of(context, translator), config, run_properties(context))

        def step() -> StepResult:
            spec = settings.table(request.table)
            result = one.step(request)
            dry = config.get("dry_run", False)
            context.log.info(f"{spec.name}: {'dry run; dry_run: false does it' if dry else 'done'}")
            return replace(result, note=f"{result.note}; dry_run: false does it") if dry else result

        key = translator.asset_key(attempt(lambda: settings.table(request.table)))
        observed(context, key, step, with_health(settings))

    return _job_of(one.name, one.description, operate, translator)


def _reload_job(table: dg.Field, translator: PaimonTranslator) -> dg.JobDefinition:
    partitions = dg.Field([str], default_value=[], description="The partitions to load again; [] for the whole table.")

    @dg.op(
        name=translator.prefixed("reload_table"),
        config_schema={"table": table, "partitions": partitions},
        required_resource_keys=resource_keys(translator),
    )
    def reload(context: dg.OpExecutionContext) -> None:
        from paimon_lake.loads.load import load_table

        settings, spark = lake_of(context, translator).settings, spark_of(context, translator)
        name, keys = str(context.op_config["table"]), list(context.op_config["partitions"]) or None
        properties = run_properties(context)

        def step() -> StepResult:
            if not settings.table(name).has_loads:
                raise PipelineError(f"{name} has no source, so it cannot be loaded again")
            run = context.run.root_run_id or context.run.run_id
            run_key = " ".join([run, name, *(keys or ())])
            return load_table(spark.session, settings, name, keys, run_key=run_key, reload=True, properties=properties)

        result = attempt(step)
        context.log.info(result.sentence())
        key, version = translator.asset_key(settings.table(name)), data_version(result)
        for check_result in result.check_results:
            context.log.info(f"{check_result.audit}: {check_result.sentence}")
        metadata = {**health_metadata(settings, name), **result_metadata(result)}
        tags = None if version is None else {"dagster/data_version": version.value}
        for partition in keys or [None]:
            last = keys is None or partition == keys[-1]
            context.log_event(
                dg.AssetMaterialization(
                    key,
                    partition=partition,
                    metadata=metadata if last else without_pictures(metadata),
                    tags=tags,
                )
            )

    return _job_of("reload", "Load files and rows of a table again that were loaded before.", reload, translator)


def _job_of(name: str, description: str, op: dg.OpDefinition, translator: PaimonTranslator) -> dg.JobDefinition:
    @dg.job(
        name=translator.prefixed(name),
        description=description,
        tags={"paimon/role": "by-hand"},
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        op()

    return job
