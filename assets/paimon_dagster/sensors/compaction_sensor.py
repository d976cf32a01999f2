"""Compaction sensor: reads only manifests, and requests compactions of tables with too many sorted runs.

A table is under pressure from the tick at which its fullest bucket reaches ``start_at_runs`` until the tick at which
that bucket has at most ``stop_at_runs``. During that time every new snapshot gets one compaction run. The first request
is a minor compaction (a full compaction for at least ``3 * start_at_runs`` runs). The next requests are full
compactions, because minor compactions may leave more runs than ``stop_at_runs``. Some rows or changelogs are visible
only after a compaction (first-row tables, changelogs that compactions write); for such tables, a minor compaction is
requested whenever one is due.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import dagster as dg
from dagster import DagsterRunStatus

from paimon_core.errors import PaimonError
from paimon_dagster.factories.compaction import compaction_config, compaction_job_name
from paimon_dagster.resources import lake_key, lake_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.overview import existing
from paimon_lake.tables import fullest_bucket, is_awaited, open_table

IN_FLIGHT = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


@dataclass(frozen=True)
class Decision:
    """The decision of one tick for one table."""

    pressed: bool
    full: bool | None
    """True: request a full compaction; False: request a minor one; None: request no run."""
    reason: str


def decide(spec: TableSpec, runs: int, *, pressed: bool, in_flight: bool, awaited: bool = False) -> Decision:
    """Decide for a table whose fullest bucket has ``runs`` sorted runs.

    ``awaited``: some rows or changelogs are visible only after a compaction, which is due.
    """
    marks = spec.compaction
    state = f"{spec.name}: {runs} runs"
    if runs <= marks.stop_at_runs or (not pressed and runs < marks.start_at_runs):
        if awaited and not in_flight:
            return Decision(False, False, f"{state}, minor compaction, which readers need")
        return Decision(False, None, f"{state} (from {marks.start_at_runs} on)")
    if in_flight:
        return Decision(pressed, None, f"{state}, a compaction is running")
    full = pressed or runs >= 3 * marks.start_at_runs
    return Decision(True, full, f"{state}, {'full' if full else 'minor'} compaction")


def compaction_sensor(
    settings: Settings, jobs: Mapping[str, dg.JobDefinition], translator: PaimonTranslator = PLAIN
) -> dg.SensorDefinition:
    """Return the sensor, which checks all tables at each tick."""
    running = settings.dagster.automation_on

    @dg.sensor(
        name=translator.prefixed("compaction"),
        description="Requests a compaction of each table with too many sorted runs, or whose readers wait for one.",
        jobs=list(jobs.values()),
        minimum_interval_seconds=settings.dagster.sensor_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED,
        required_resource_keys={lake_key(translator)},
    )
    def compaction(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        before = set(json.loads(context.cursor or "[]"))
        pressed, requests, reasons = set(), [], []
        settings_now = lake_of(context, translator).settings
        for name in (name for name in existing(settings_now) if name in jobs):
            spec = settings_now.table(name)
            busy = in_flight(context.instance, compaction_job_name(spec, translator))
            try:
                table = open_table(settings_now, name)
                snapshot, runs, awaited = table.latest_snapshot(), fullest_bucket(table), is_awaited(table)
            except PaimonError as error:  # other tables are still compacted
                reasons.append(f"{name}: {error}")
                pressed |= before & {name}
                continue
            decision = decide(spec, runs, pressed=name in before, in_flight=busy, awaited=awaited)
            reasons.append(decision.reason)
            if decision.pressed:
                pressed.add(name)
            if decision.full is not None and snapshot is not None:
                requests.append(
                    dg.RunRequest(
                        # After a rollback, another snapshot has the same number.
                        run_key=f"{name}@{snapshot.id}@{snapshot.uuid or snapshot.time_millis}",
                        job_name=compaction_job_name(spec, translator),
                        run_config=compaction_config(spec, full=decision.full, translator=translator),
                        tags={"paimon/table": name, "paimon/snapshot": str(snapshot.id)},
                    )
                )
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else "; ".join(reasons) or "no table yet",
            cursor=json.dumps(sorted(pressed)),
        )

    return compaction


def in_flight(instance: dg.DagsterInstance, job: str) -> bool:
    """Whether a run of a job is queued or running."""
    return instance.get_runs_count(dg.RunsFilter(job_name=job, statuses=IN_FLIGHT)) > 0
