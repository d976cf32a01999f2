"""Maintenance: a nightly job that tags tables and expires snapshots, a weekly sweep job, a job for the health of
tables, and a job for all checks.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import dagster as dg
from pydantic import Field

from paimon_dagster.factories.lake_maintenance import MaintainConfig, maintain_op
from paimon_dagster.health_metadata import with_health
from paimon_dagster.metadata import attempt, observed, retries
from paimon_dagster.resources import lake_key, lake_of, resource_keys, spark_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.overview import nothing_declared
from paimon_lake.protocol import StepResult
from paimon_lake.steps.health.doctor import doctor
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintenance import tag
from paimon_lake.steps.upkeep.rejects_upkeep import expire_rejects, sweep_rejects
from paimon_lake.steps.upkeep.sweep import sweep
from paimon_lake.tables import open_lake

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

NIGHTLY = "nightly"
NIGHTLY_ROUND = "maintain_nightly"
SWEEP = "sweep"
AUDIT = "audit"
DOCTOR = "doctor"
_AUDIT = "Run all checks of all tables: loads, keys, files, invariants, and what the tables declare."


class NightlyConfig(dg.Config):
    """``tag``: the name of the tag (default: ``nightly-<today>``, in ``nightly_timezone``).

    ``dry_run``: expire nothing.
    """

    tag: str | None = None
    dry_run: bool = False


class SweepConfig(dg.Config):
    """``dry_run``: only show which files would be moved to quarantine or purged."""

    dry_run: bool = False


class DoctorConfig(dg.Config):
    """``fix``: mend findings, not only report them. ``findings``: those to mend (default: all with safe mends)."""

    fix: bool = False
    findings: list[str] = Field(default_factory=list)


def nightly_job(settings: Settings, translator: PaimonTranslator = PLAIN) -> dg.JobDefinition:
    """Return the job that first tags and then expires every table, so that the tag protects the latest snapshot.

    If the lake is maintained by cost, one round of maintenance follows.
    """
    tables = settings.tables.values()
    steps = [(_tag_op(settings, spec, translator), _expire_op(settings, spec, translator)) for spec in tables]
    empty = _say_what_next(translator.prefixed(NIGHTLY), settings)
    by_cost = settings.maintenance.mode == "cost"
    round_of_lake = maintain_op(settings, NIGHTLY_ROUND, translator, after=True) if by_cost else None

    @dg.job(
        name=translator.prefixed(NIGHTLY),
        description="Tag the latest snapshot of every table, then expire what retention does not keep"
        + (", then do one round of maintenance of the lake." if by_cost else "."),
        tags={"paimon/role": "maintain"},
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        expired = [expire_table(start=tag_table()) for tag_table, expire_table in steps]
        if round_of_lake is not None and steps:
            round_of_lake(start=expired)
        if not steps:
            empty()

    return job


def nightly_config(
    settings: Settings, tag_name: str, *, dry_run: bool = False, translator: PaimonTranslator = PLAIN
) -> dg.RunConfig:
    """Return the run config of the nightly job, with one tag name for all tables."""
    ops: dict[str, dg.Config] = {}
    for spec in settings.tables.values():
        ops[translator.prefixed(f"tag__{spec.ident}")] = NightlyConfig(tag=tag_name, dry_run=dry_run)
        ops[translator.prefixed(f"expire__{spec.ident}")] = NightlyConfig(dry_run=dry_run)
    if ops and settings.maintenance.mode == "cost":
        ops[translator.prefixed(NIGHTLY_ROUND)] = MaintainConfig(dry_run=dry_run)
    return dg.RunConfig(ops=ops)


def nightly_schedule(
    settings: Settings, job: dg.JobDefinition, translator: PaimonTranslator = PLAIN
) -> dg.ScheduleDefinition:
    """Return the nightly schedule; the tag name is the scheduled day, so late or repeated ticks use the same tag."""
    running = settings.dagster.automation_on

    @dg.schedule(
        name=f"{job.name}_schedule",
        description="Tags and expires all tables; the tag has the name of the scheduled day.",
        job=job,
        cron_schedule=settings.dagster.nightly_cron,
        execution_timezone=settings.dagster.nightly_timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING if running else dg.DefaultScheduleStatus.STOPPED,
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        at = context.scheduled_execution_time
        config = nightly_config(settings, tag_name(f"{at:%Y-%m-%d}"), translator=translator)
        return dg.RunRequest(run_key=f"{NIGHTLY}-{at:%Y-%m-%dT%H:%M}", run_config=config)

    return schedule


def sweep_job(settings: Settings, translator: PaimonTranslator = PLAIN) -> dg.JobDefinition:
    """Return the job that moves the unreferenced files of every table to quarantine and deletes old quarantines."""
    steps = [_sweep_op(settings, spec, translator) for spec in settings.tables.values()]
    empty = _say_what_next(translator.prefixed(SWEEP), settings)

    @dg.job(
        name=translator.prefixed(SWEEP),
        description="Move the unreferenced files of every table to quarantine, and delete old quarantines.",
        tags={"paimon/role": "maintain"},
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        for sweep_table in steps:
            sweep_table()
        if not steps:
            empty()

    return job


def doctor_job(settings: Settings, translator: PaimonTranslator = PLAIN) -> dg.JobDefinition:
    """Return the job that reports the health of every table, and mends a table if the config of its step says so."""
    steps = [_doctor_op(spec, translator) for spec in settings.tables.values()]
    empty = _say_what_next(translator.prefixed(DOCTOR), settings)

    @dg.job(
        name=translator.prefixed(DOCTOR),
        description="Report the health of every table; with `fix: true` in the config of a step, mend its table.",
        tags={"paimon/role": "maintain"},
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        for examine_table in steps:
            examine_table()
        if not steps:
            empty()

    return job


def audit_job(
    settings: Settings, translator: PaimonTranslator = PLAIN
) -> "dg.JobDefinition | UnresolvedAssetJobDefinition":
    """Return the job that runs all checks of the tables, but no checks of other assets in the code location."""
    name = translator.prefixed(AUDIT)
    if settings.tables:
        keys = [translator.asset_key(spec) for spec in settings.tables.values()]
        checks = dg.AssetSelection.checks_for_assets(*keys)
        return dg.define_asset_job(name, checks, description=_AUDIT, executor_def=dg.in_process_executor)
    empty = _say_what_next(name, settings)

    @dg.job(name=name)
    def job() -> None:
        empty()

    return job


def _say_what_next(job: str, settings: Settings) -> dg.OpDefinition:
    """Return a step for the jobs of a lake without tables, which logs how to declare a table."""

    @dg.op(name=f"{job}__nothing_declared")
    def say(context: dg.OpExecutionContext) -> None:
        context.log.warning(f"{nothing_declared(settings)}, then reload the definitions")

    return say


def sweep_schedule(settings: Settings, job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """Return the schedule of the sweep job, once a week by default."""
    running = settings.dagster.automation_on

    @dg.schedule(
        name=f"{job.name}_schedule",
        description="Moves unreferenced files of all tables to quarantine.",
        job=job,
        cron_schedule=settings.dagster.weekly_cron,
        execution_timezone=settings.dagster.nightly_timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING if running else dg.DefaultScheduleStatus.STOPPED,
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        return dg.RunRequest(run_key=f"{SWEEP}-{context.scheduled_execution_time:%Y-%m-%dT%H:%M}")

    return schedule


def tag_name(day: str) -> str:
    """Return the tag name of a day, such as ``nightly-2013-12-31``."""
    return f"{NIGHTLY}-{day}"


def day_of(settings: Settings, now: datetime) -> str:
    """Return the day of ``now`` in the time zone of the nightly schedule, such as ``2013-12-31``, for a tag name."""
    return now.astimezone(ZoneInfo(settings.dagster.nightly_timezone)).strftime("%Y-%m-%d")


def _tag_op(settings: Settings, spec: TableSpec, translator: PaimonTranslator) -> dg.OpDefinition:
    key = translator.asset_key(spec)

    @dg.op(
        name=translator.prefixed(f"tag__{spec.ident}"),
        pool=translator.pool(spec, "maintain"),
        out=dg.Out(dg.Nothing),
        retry_policy=retries(settings),
        required_resource_keys={lake_key(translator)},
    )
    def tag_table(context: dg.OpExecutionContext, config: NightlyConfig) -> None:
        settings = lake_of(context, translator).settings
        if not spec.nightly_tag:
            context.log.info(f"{spec.name} declares nightly_tag: false")
        elif _exists(context, settings, spec):
            name = config.tag or tag_name(day_of(settings, datetime.now(UTC)))
            observed(context, key, lambda: tag(settings, spec.name, name), with_health(settings))

    return tag_table


def _expire_op(settings: Settings, spec: TableSpec, translator: PaimonTranslator) -> dg.OpDefinition:
    key = translator.asset_key(spec)

    @dg.op(
        name=translator.prefixed(f"expire__{spec.ident}"),
        pool=translator.pool(spec, "maintain"),
        ins={"start": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
        retry_policy=retries(settings),
        required_resource_keys=resource_keys(translator),
    )
    def expire_table(context: dg.OpExecutionContext, config: NightlyConfig) -> None:
        settings, spark = lake_of(context, translator).settings, spark_of(context, translator)
        if _exists(context, settings, spec):
            step = partial(expire, spark.session, settings, spec.name, dry_run=config.dry_run)
            observed(context, key, step, with_health(settings))
            _told(context, lambda: expire_rejects(spark.session, settings, spec.name, dry_run=config.dry_run))

    return expire_table


def _sweep_op(settings: Settings, spec: TableSpec, translator: PaimonTranslator) -> dg.OpDefinition:
    key = translator.asset_key(spec)

    @dg.op(
        name=translator.prefixed(f"sweep__{spec.ident}"),
        pool=translator.pool(spec, "maintain"),
        retry_policy=retries(settings),
        required_resource_keys=resource_keys(translator),
    )
    def sweep_table(context: dg.OpExecutionContext, config: SweepConfig) -> None:
        settings, spark = lake_of(context, translator).settings, spark_of(context, translator)
        if _exists(context, settings, spec):
            step = partial(sweep, spark.session, settings, spec.name, dry_run=config.dry_run)
            observed(context, key, step, with_health(settings))
            _told(context, lambda: sweep_rejects(spark.session, settings, spec.name, dry_run=config.dry_run))

    return sweep_table


def _doctor_op(spec: TableSpec, translator: PaimonTranslator) -> dg.OpDefinition:
    key = translator.asset_key(spec)

    @dg.op(
        name=translator.prefixed(f"doctor__{spec.ident}"),
        pool=translator.pool(spec, "maintain"),
        required_resource_keys={lake_key(translator)},
    )
    def examine_table(context: dg.OpExecutionContext, config: DoctorConfig) -> None:
        settings = lake_of(context, translator).settings
        if _exists(context, settings, spec):
            step = partial(doctor, settings, spec.name, fix=config.fix, findings=config.findings)
            observed(context, key, step, with_health(settings))

    return examine_table


def _told(context: dg.OpExecutionContext, steps: Callable[[], list[StepResult]]) -> None:
    """Run maintenance steps of a table of rejects and only log the results, because the table is not an asset."""
    for result in attempt(steps):
        context.log.info(result.sentence())


def _exists(context: dg.OpExecutionContext, settings: Settings, spec: TableSpec) -> bool:
    if open_lake(settings).table_exists(spec.name):
        return True
    context.log.info(f"{spec.name} is not in the lake yet: nothing to do")
    return False
