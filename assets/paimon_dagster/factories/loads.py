"""Loads: a load job for every table with a cron schedule or a sensor, and the schedules.

All cron expressions become schedules, and not ``AutomationCondition.on_cron``. That condition waits until every
dependency was updated in Dagster, and files and databases outside of the lake are never updated in Dagster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, SettingsError, TableSpec
from paimon_lake.loads.partitions.partition_keys import window

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

    Jobs = Mapping[str, UnresolvedAssetJobDefinition]

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"


def load_job_name(spec: TableSpec, translator: PaimonTranslator = PLAIN) -> str:
    """Return the name of a table's load job, such as ``load__shop_orders``."""
    return translator.prefixed(f"load__{spec.ident}")


def load_jobs(settings: Settings, translator: PaimonTranslator = PLAIN) -> Jobs:
    """Return load jobs by table, for tables with a schedule; with ``on: inputs`` only for tables with partitions."""
    return {
        name: dg.define_asset_job(
            load_job_name(spec, translator),
            dg.AssetSelection.assets(translator.asset_key(spec)),
            description=f"Load {name}. Started by hand, by its schedule, or by a sensor.",
            tags={"paimon/table": name, "paimon/role": "load"},
            executor_def=dg.in_process_executor,
        )
        for name, spec in settings.tables.items()
        if spec.has_loads
        and spec.schedule is not None
        and (spec.schedule.on != "inputs" or spec.partitions is not None)
    }


def load_schedules(settings: Settings, jobs: Jobs, translator: PaimonTranslator = PLAIN) -> list[dg.ScheduleDefinition]:
    """Return the schedules of the tables with a cron expression; raises SettingsError for a wrong expression."""
    return [
        _schedule(settings, spec, jobs[name], translator)
        for name, spec in settings.tables.items()
        if name in jobs and spec.schedule is not None and spec.schedule.cron
    ]


def _schedule(
    settings: Settings, spec: TableSpec, job: UnresolvedAssetJobDefinition, translator: PaimonTranslator
) -> dg.ScheduleDefinition:
    schedule, running = spec.schedule, settings.dagster.automation_on
    assert schedule is not None
    key, partitions = translator.asset_key(spec), translator.partitions_def(spec)

    def requests(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        at = context.scheduled_execution_time
        tick = f"{spec.name}@{at.isoformat()}"
        if partitions is None:
            return load_requests(spec, None, lambda keys: tick, translator)
        with dg.partition_loading_context(effective_dt=at, dynamic_partitions_store=context.instance):
            keys = due_partitions(partitions, context.instance.get_materialized_partitions(key))
        if not keys:
            return dg.SkipReason(f"{spec.name} has no partition yet")
        return load_requests(spec, keys, lambda keys: f"{tick}@{keys[0]}", translator)

    try:
        return dg.schedule(
            name=f"{job.name}_schedule",
            job=job,
            cron_schedule=schedule.cron,
            execution_timezone=schedule.timezone,
            default_status=dg.DefaultScheduleStatus.RUNNING if running else dg.DefaultScheduleStatus.STOPPED,
        )(requests)
    except dg.DagsterInvalidDefinitionError as error:
        raise SettingsError(
            f"{spec.name}: schedule {schedule.cron!r} in {schedule.timezone!r} is refused: {error}"
        ) from None


def due_partitions(partitions: dg.PartitionsDefinition[str], done: set[str]) -> list[str]:
    """Return the partitions that a scheduled load must load.

    For partitions by time, return all partitions after the newest materialized partition, including the partitions of
    missed ticks. If there is no later partition, the newest partition is loaded again, for files that arrived late. If
    no partition was materialized yet, only the newest partition is loaded; older partitions need a backfill. For static
    and dynamic partitions, all partitions are returned.
    """
    keys = list(partitions.get_partition_keys())
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return keys
    newest = max(done, default=None)
    return ([key for key in keys if key > newest] if newest is not None else []) or keys[-1:]


def load_requests(
    spec: TableSpec,
    keys: Sequence[str] | None,
    run_key: Callable[[Sequence[str]], str],
    translator: PaimonTranslator = PLAIN,
    *,
    job: str = "",
    tags: Mapping[str, str] | None = None,
) -> list[dg.RunRequest]:
    """Return the runs that load the partitions ``keys`` of a table (None: the whole table).

    ``job``: the name of the job, by default the load job of the table; ``tags``: the tags of the runs.

    A run loads at most ``backfill_per_run`` partitions. Only consecutive partitions by time share a run; ``run_key``
    returns the run key for the partitions of a run.
    """
    job, tags = job or load_job_name(spec, translator), {"paimon/table": spec.name} if tags is None else dict(tags)
    if keys is None:
        return [dg.RunRequest(run_key=run_key(()), job_name=job, tags=tags)]
    requests = []
    for part in _ranges(spec, keys):
        if len(part) == 1:
            requests.append(dg.RunRequest(run_key=run_key(part), job_name=job, partition_key=part[0], tags=tags))
        else:
            ends = {RANGE_START: part[0], RANGE_END: part[-1]}
            requests.append(dg.RunRequest(run_key=run_key(part), job_name=job, tags={**tags, **ends}))
    return requests


def _ranges(spec: TableSpec, keys: Sequence[str]) -> list[list[str]]:
    ranges: list[list[str]] = []
    end = None
    for key in sorted(keys):
        partitions = spec.partitions
        begin, after = (
            window(partitions, key, spec.name) if partitions is not None and partitions.by_time else (None, None)
        )
        if ranges and begin is not None and begin == end and len(ranges[-1]) < spec.backfill_per_run:
            ranges[-1].append(key)
        else:
            ranges.append([key])
        end = after
    return ranges
