"""The compaction sensor: reads manifests only, asks for a compaction of the tables whose buckets hold too many runs.

A table is pressed from the tick at which its fullest bucket reaches ``start_at_runs`` until the one at which it is
down to ``stop_at_runs``. While it is pressed every new snapshot gets one run; a first request is a minor compaction,
the next ones are full, so that what minor compaction leaves above the lower mark goes too. Where readers wait for
compaction (first-row tables, changelogs that compactions make), a minor one is asked for whenever one is due.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import dagster as dg
from dagster import DagsterRunStatus

from assets.maintenance import compaction_config, compaction_job_name
from assets.resources import LakeResource
from pipelines.settings import Settings, TableSpec
from pipelines.show import existing
from pipelines.tables import fullest_bucket, is_awaited, open_table

IN_FLIGHT = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


@dataclass(frozen=True)
class Decision:
    """What a tick decided for one table."""

    pressed: bool
    full: bool | None
    """None: no run is asked for."""
    reason: str


def decide(spec: TableSpec, runs: int, *, pressed: bool, in_flight: bool, awaited: bool = False) -> Decision:
    """The rule for one table whose fullest bucket holds ``runs`` sorted runs; ``awaited``: readers wait for it."""
    marks = spec.compaction
    state = f"{spec.name}: {runs} runs"
    if runs <= marks.stop_at_runs or (not pressed and runs < marks.start_at_runs):
        if awaited and not in_flight:
            return Decision(False, False, f"{state}, minor compaction, which readers wait for")
        return Decision(False, None, f"{state} (from {marks.start_at_runs} on)")
    if in_flight:
        return Decision(pressed, None, f"{state}, a compaction is under way")
    full = pressed or runs >= 3 * marks.start_at_runs
    return Decision(True, full, f"{state}, {'full' if full else 'minor'} compaction")


def compaction_sensor(settings: Settings, jobs: Mapping[str, dg.JobDefinition]) -> dg.SensorDefinition:
    """One sensor for all tables."""
    running = settings.dagster.automation_on

    @dg.sensor(
        name="compaction",
        jobs=list(jobs.values()),
        minimum_interval_seconds=settings.dagster.sensor_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED,
    )
    def compaction(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
        before = set(json.loads(context.cursor or "[]"))
        pressed, requests, reasons = set(), [], []
        for name in existing(settings_now := lake.settings):
            spec, table = settings_now.table(name), open_table(settings_now, name)
            snapshot = table.latest_snapshot()
            busy = _in_flight(context.instance, spec)
            runs, awaited = fullest_bucket(table), is_awaited(table)
            decision = decide(spec, runs, pressed=name in before, in_flight=busy, awaited=awaited)
            reasons.append(decision.reason)
            if decision.pressed:
                pressed.add(name)
            if decision.full is not None and snapshot is not None:
                requests.append(
                    dg.RunRequest(
                        run_key=f"{name}@{snapshot.id}",
                        job_name=compaction_job_name(spec),
                        run_config=compaction_config(spec, full=decision.full),
                        tags={"paimon/table": name, "paimon/snapshot": str(snapshot.id)},
                    )
                )
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else "; ".join(reasons) or "no table yet",
            cursor=json.dumps(sorted(pressed)),
        )

    return compaction


def _in_flight(instance: dg.DagsterInstance, spec: TableSpec) -> bool:
    runs = dg.RunsFilter(job_name=compaction_job_name(spec), statuses=IN_FLIGHT)
    return instance.get_runs_count(runs) > 0
