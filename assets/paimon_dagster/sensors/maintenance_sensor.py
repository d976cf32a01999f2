"""Maintenance sensor: requests rounds of maintenance of the whole lake, for lakes with ``maintenance: {mode: cost}``.

At a tick, the sensor plans from metadata. It requests a round if some work is worth its cost now, no round is running,
and ``interval`` has passed since the last request. If no table has a new snapshot since a plan without work, it plans
again only after ``interval``, because hours and rests after conflicts also decide. Tables whose readers wait for a
compaction get a minor compaction at once, as with ``mode: runs``.
"""

import json
from collections.abc import Mapping

import dagster as dg

from paimon_core.errors import PaimonError
from paimon_core.metadata import clock
from paimon_core.options.parsers import parse_millis
from paimon_dagster.factories.compaction import compaction_config, compaction_job_name
from paimon_dagster.factories.lake_maintenance import MAINTAIN, only
from paimon_dagster.resources import lake_key, lake_of
from paimon_dagster.sensors.compaction_sensor import in_flight
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings
from paimon_lake.overview import existing
from paimon_lake.steps.upkeep.maintain import plan_lake
from paimon_lake.tables import is_awaited, open_table


def maintenance_sensor(
    settings: Settings,
    job: dg.JobDefinition,
    compactions: Mapping[str, dg.JobDefinition],
    translator: PaimonTranslator = PLAIN,
) -> dg.SensorDefinition:
    """Return the sensor ``compaction`` of a lake that is maintained by cost."""
    running = settings.dagster.automation_on

    @dg.sensor(
        name=translator.prefixed("compaction"),
        description="Requests maintenance of the lake when some is worth its cost, within the budget of the lake.",
        jobs=[job, *compactions.values()],
        minimum_interval_seconds=settings.dagster.sensor_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED,
        required_resource_keys={lake_key(translator)},
    )
    def compaction(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        settings_now = only(lake_of(context, translator).settings, compactions)
        cursor = {"asked": 0, "planned": 0, "seen": {}, **json.loads(context.cursor or "{}")}
        now, interval = clock.now_millis(), parse_millis(settings_now.maintenance.interval)
        requests, reasons, seen = _awaited(context, settings_now, compactions, translator)
        wait = cursor["asked"] + interval - now
        if in_flight(context.instance, translator.prefixed(MAINTAIN)):
            reasons.append("a round of maintenance is running")
        elif wait > 0:
            reasons.append(f"the next round may begin in {wait // 1000} seconds")
        elif seen == cursor["seen"] and now < cursor["planned"] + interval:
            reasons.append("no table has changed since nothing was worth its cost")
        else:
            plan = plan_lake(settings_now, sample_keys=False)
            problems = {**plan.failing, **plan.unreadable}
            reasons += [repr(plan), *(f"{name}: {why}" for name, why in problems.items())]
            cursor |= {"planned": now, "seen": seen}
            if plan.chosen:
                cursor |= {"asked": now, "seen": {}}
                requests.append(dg.RunRequest(run_key=f"{MAINTAIN}-{now}", job_name=translator.prefixed(MAINTAIN)))
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else "; ".join(reasons) or "no table yet",
            cursor=json.dumps(cursor),
        )

    return compaction


def _awaited(
    context: dg.SensorEvaluationContext,
    settings: Settings,
    compactions: Mapping[str, dg.JobDefinition],
    translator: PaimonTranslator,
) -> tuple[list[dg.RunRequest], list[str], dict[str, str]]:
    """Return the compactions that readers wait for, the tables that could not be read, and the latest snapshots."""
    requests, reasons, seen = [], [], {}
    for name in existing(settings):
        spec = settings.table(name)
        try:
            table = open_table(settings, name)
            snapshot = table.latest_snapshot()
            waits = snapshot is not None and is_awaited(table)
        except PaimonError as error:
            reasons.append(f"{name}: {error}")
            continue
        if snapshot is None:
            continue
        seen[name] = key = f"{snapshot.id}@{snapshot.uuid or snapshot.time_millis}"
        if waits and not in_flight(context.instance, compaction_job_name(spec, translator)):
            requests.append(
                dg.RunRequest(
                    run_key=f"{name}@{key}",
                    job_name=compaction_job_name(spec, translator),
                    run_config=compaction_config(spec, full=False, translator=translator),
                    tags={"paimon/table": name, "paimon/snapshot": str(snapshot.id)},
                )
            )
    return requests, reasons, seen
