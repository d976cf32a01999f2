"""Groups: the asset of a declared group, which publishes its tables together, and the job and schedule that load it.

Dagster does not run the step of the asset when a table of the same run failed, so the group stays as it was.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from paimon_dagster.factories.loads import due_partitions, load_requests
from paimon_dagster.metadata import NOTE, attempt, retries
from paimon_dagster.resources import lake_key, lake_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, SettingsError, TableSpec
from paimon_lake.declarations.lake.groups import TableGroup
from paimon_lake.loads.groups.group_versions import publish_group

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

    Jobs = Mapping[str, UnresolvedAssetJobDefinition]

_SNAPSHOT = "paimon/snapshot_id"
_MOST_PARENTS = 20
"""The largest number of earlier runs that a run may repeat from its failure."""


def group_key(name: str, translator: PaimonTranslator = PLAIN) -> dg.AssetKey:
    """Return the key of the asset of a group: ``group/sales``."""
    return dg.AssetKey([*translator.key_prefix, "group", name])


def whole_groups(settings: Settings) -> dict[str, TableGroup]:
    """Return the declared groups of which all tables are in the settings."""
    return {name: group for name, group in settings.groups.items() if set(group.tables) <= settings.tables.keys()}


def group_assets(settings: Settings, translator: PaimonTranslator = PLAIN) -> list[dg.AssetsDefinition]:
    """Return the asset of each group; raises SettingsError when a table has the key of such an asset."""
    keys = {translator.asset_key(spec): name for name, spec in settings.tables.items()}
    for name in whole_groups(settings):
        if (table := keys.get(group_key(name, translator))) is not None:
            raise SettingsError(f"{table} and the group {name} would have the same asset key: rename one of them")
    return [_asset(settings, name, group, translator) for name, group in whole_groups(settings).items()]


def _asset(settings: Settings, name: str, group: TableGroup, translator: PaimonTranslator) -> dg.AssetsDefinition:
    specs = [settings.table(table) for table in group.tables]

    @dg.asset(
        key=group_key(name, translator),
        deps=[_dependency(spec, translator) for spec in specs],
        description=f"Publishes {', '.join(group.tables)} as one version of the group {name}, after their loads.",
        group_name="group",
        kinds={"paimon"},
        pool=translator.prefixed(f"paimon_publish__{name}"),
        retry_policy=retries(settings),
        required_resource_keys={lake_key(translator)},
    )
    def publish(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        loaded = _loaded(context, specs, translator)
        done = attempt(lambda: publish_group(lake_of(context, translator).settings, name, loaded))
        (context.log.error if done.not_deleted else context.log.info)(done.sentence())
        shown = {f"paimon/snapshot_of/{table}": at for table, at in done.snapshots.items()}
        metadata: dict[str, Any] = {NOTE: done.sentence(), "paimon/version": done.version, **shown}
        if done.not_deleted:
            metadata["paimon/old_versions_not_deleted"] = done.not_deleted
        return dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion(f"version-{done.version}"))

    return publish


def _dependency(spec: TableSpec, translator: PaimonTranslator) -> dg.AssetDep:
    mapping = None if translator.partitions_def(spec) is None else dg.AllPartitionMapping()
    return dg.AssetDep(translator.asset_key(spec), partition_mapping=mapping)


def _loaded(
    context: dg.AssetExecutionContext, specs: Sequence[TableSpec], translator: PaimonTranslator
) -> dict[str, int | None]:
    """Return the snapshots at which the loads of this run ended; tables that it did not load are left out.

    A run that repeats another from its failure also has the loads of that run.
    """
    names = {translator.asset_key(spec): spec.name for spec in specs}
    found: dict[str, int | None] = {}
    run: dg.DagsterRun | None = context.run
    for _ in range(_MOST_PARENTS):
        if run is None:
            break
        records = context.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
        for record in reversed(records):
            made = record.asset_materialization
            at = None if made is None else made.metadata.get(_SNAPSHOT)
            if made is not None and at is not None and made.asset_key in names:
                found.setdefault(names[made.asset_key], int(str(at.value)))
        run = None if run.parent_run_id is None else context.instance.get_run_by_id(run.parent_run_id)
    return found


def group_jobs(settings: Settings, translator: PaimonTranslator = PLAIN) -> "Jobs":
    """Return the jobs that load the tables of a group and publish them, by the name of the group.

    A group whose tables have different partitions has no job, because a run of Dagster has one kind of partitions.
    Raises SettingsError when such a group has a schedule.
    """
    found = {}
    for name, group in whole_groups(settings).items():
        specs = _loads(settings, group)
        if _differ(specs, translator):
            if group.schedule is not None:
                raise SettingsError(
                    f"groups.{name}.schedule: its tables have different partitions, which one run of Dagster cannot "
                    "load: give them the same partitions, or remove the schedule"
                )
            continue
        keys = [*(translator.asset_key(spec) for spec in specs), group_key(name, translator)]
        found[name] = dg.define_asset_job(
            translator.prefixed(f"group__{name}"),
            dg.AssetSelection.assets(*keys),
            description=f"Load {', '.join(group.tables)}, and publish them together as a version of the group {name}.",
            tags={"paimon/group": name, "paimon/role": "load"},
            executor_def=dg.in_process_executor,
        )
    return found


def group_schedules(
    settings: Settings, jobs: "Jobs", translator: PaimonTranslator = PLAIN
) -> list[dg.ScheduleDefinition]:
    """Return the schedules of the groups that declare one."""
    return [
        _schedule(settings, name, group, jobs[name], translator)
        for name, group in whole_groups(settings).items()
        if name in jobs and group.schedule is not None
    ]


def _schedule(
    settings: Settings,
    name: str,
    group: TableGroup,
    job: "UnresolvedAssetJobDefinition",
    translator: PaimonTranslator,
) -> dg.ScheduleDefinition:
    assert group.schedule is not None
    running = settings.dagster.automation_on
    divided = [spec for spec in _loads(settings, group) if translator.partitions_def(spec) is not None]

    def requests(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        at = context.scheduled_execution_time
        tick, tags = f"{name}@{at.isoformat()}", {"paimon/group": name}
        if not divided:
            return [dg.RunRequest(run_key=tick, tags=tags)]
        due = set[str]()
        with dg.partition_loading_context(effective_dt=at, dynamic_partitions_store=context.instance):
            for spec in divided:
                partitions = translator.partitions_def(spec)
                assert partitions is not None
                done = context.instance.get_materialized_partitions(translator.asset_key(spec))
                due |= set(due_partitions(partitions, done))
        if not due:
            return dg.SkipReason(f"the tables of the group {name} have no partition yet")
        least = min(divided, key=lambda spec: spec.backfill_per_run)
        return load_requests(least, sorted(due), lambda keys: f"{tick}@{keys[0]}", translator, job=job.name, tags=tags)

    try:
        return dg.schedule(
            name=f"{job.name}_schedule",
            job=job,
            cron_schedule=group.schedule.cron,
            execution_timezone=group.schedule.timezone,
            default_status=dg.DefaultScheduleStatus.RUNNING if running else dg.DefaultScheduleStatus.STOPPED,
        )(requests)
    except dg.DagsterInvalidDefinitionError as error:
        raise SettingsError(f"groups.{name}.schedule {group.schedule.cron!r} is refused: {error}") from None


def _loads(settings: Settings, group: TableGroup) -> list[TableSpec]:
    return [spec for table in group.tables if (spec := settings.table(table)).has_loads]


def _differ(specs: Sequence[TableSpec], translator: PaimonTranslator) -> bool:
    kinds = [found for spec in specs if (found := translator.partitions_def(spec)) is not None]
    return any(one != kinds[0] for one in kinds)
