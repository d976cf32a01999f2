"""Changes sensor: requests a load when a table is behind its source, and reports the results of its ``lag`` check.

A tick asks the sources of all tables for their lag, without Spark and all servers at the same time. It requests no run
of a table while a load of the table is queued or running, or while another program reads the source. After a failed
load of a table the next request waits, and after a failed question for the lag the next question waits. With each
failure in a row the wait doubles, from the interval of the sensor up to ``MOST_WAIT_SECONDS``. An error of one table
does not affect other tables.

A declared check ``lag`` is reported without a run: whenever its result changes, with each request, and once an hour.
Without these reports, nobody would see that a table falls behind because its loads fail.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import dagster as dg
from dagster import DagsterRunStatus

from paimon_dagster.factories.checks import check_evaluation
from paimon_dagster.factories.loads import load_job_name, load_requests
from paimon_dagster.resources import lake_key, lake_of
from paimon_dagster.sensors.compaction_sensor import in_flight
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.checks.lag_check import lag_result
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.lake.databases import database_of
from paimon_lake.declarations.tables.checks import LagCheck
from paimon_lake.loads.lag import lags
from paimon_lake.sources.lag import Lag

if TYPE_CHECKING:
    from paimon_dagster.factories.loads import Jobs

MOST_WAIT_SECONDS = 600.0
"""The longest wait after failures in a row."""
REPORT_SECONDS = 3600.0
"""A check whose result has not changed is reported again after this time."""
_ENDED = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
_RUNS_READ = 10


@dataclass(frozen=True)
class Seen:
    """The entry of the cursor for one table."""

    failures: int = 0
    """The number of failed questions for the lag since the last successful question."""
    asked: float = 0.0
    """The time of the last question for the lag, in seconds since 1970."""
    why: str = ""
    """Why the last question failed."""
    reported: float = 0.0
    """The time of the last report of the table's lag checks, in seconds since 1970."""
    passed: tuple[bool, ...] = ()
    """Whether each lag check passed at the last report."""


def changes_sensor(
    settings: Settings, jobs: "Jobs", translator: PaimonTranslator = PLAIN
) -> dg.SensorDefinition | None:
    """Return one sensor for all tables with ``schedule.on: changes`` or a check ``lag``; None without such a table."""
    names = [name for name, spec in settings.tables.items() if _loads(spec) or _checks(spec)]
    if not names:
        return None
    interval = settings.dagster.sensor_interval_seconds

    @dg.sensor(
        name=translator.prefixed("changes"),
        description="Requests a load of each table that is behind its source of changes, and reports its lag checks.",
        jobs=[jobs[name] for name in names if name in jobs] or None,
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING
        if settings.dagster.automation_on
        else dg.DefaultSensorStatus.STOPPED,
        required_resource_keys={lake_key(translator)},
    )
    def changes(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        lake, now, seen = lake_of(context, translator).settings, time.time(), _seen(context.cursor)
        specs = [spec for name in names if (spec := lake.tables.get(name)) and (_loads(spec) or _checks(spec))]
        answers = lags(lake, [one.name for one in specs if now >= _again(seen.get(one.name, Seen()), interval)])
        kept: dict[str, Seen] = {}
        requests: list[dg.RunRequest] = []
        events: list[dg.AssetCheckEvaluation] = []
        messages = []
        databases: set[str] = set()  # a requested run loads all tables of its database
        for spec in specs:
            name, before = spec.name, seen.get(spec.name, Seen())
            if name not in answers:
                kept[name] = before
                messages.append(f"{name}: {before.why}; asked again {_at(_again(before, interval))}")
                continue
            found = answers[name]
            kept[name] = _after(before, found, now)
            requested, message = _requests(context.instance, spec, found, translator, interval)
            database = database_of(spec)
            if requested and database in databases:
                requested, message = [], f"the run for another table of {database} loads it"
            databases |= {database} if requested and database else set()
            requests += requested
            results = [lag_result(check, name, found) for check in _checks(spec)]
            passed = tuple(result.passed for result in results)
            if requested or passed != before.passed or now >= before.reported + REPORT_SECONDS:
                events += [check_evaluation(result, translator.asset_key(spec)) for result in results]
                kept[name] = replace(kept[name], reported=now, passed=passed)
            messages.append(f"{name}: {message}")
        for line in messages:
            context.log.info(line)
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else "; ".join(messages) or "the tables are not declared any more",
            cursor=json.dumps({name: asdict(one) for name, one in kept.items()}),
            asset_events=events,
        )

    return changes


def _loads(spec: TableSpec) -> bool:
    return spec.schedule is not None and spec.schedule.on == "changes"


def _checks(spec: TableSpec) -> list[LagCheck]:
    return [check for check in spec.checks if isinstance(check, LagCheck)]


def _seen(cursor: str | None) -> dict[str, Seen]:
    """Return the entry of the cursor for each table; a cursor of another form counts as empty."""
    kept: dict[str, Seen] = {}
    try:
        for name, one in json.loads(cursor or "{}").items():
            kept[name] = Seen(**{**one, "passed": tuple(one["passed"])})
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}
    return kept


def _after(before: Seen, found: Lag | Exception, now: float) -> Seen:
    if isinstance(found, Exception):
        return replace(before, failures=before.failures + 1, asked=now, why=str(found))
    return replace(before, failures=0, asked=now, why="")


def _again(seen: Seen, interval: float) -> float:
    """Return the earliest time of the next question for the lag; 0 (at once) after a successful question."""
    return seen.asked + wait_seconds(seen.failures, interval) if seen.failures else 0.0


def wait_seconds(failures: int, interval: float) -> float:
    """Return the seconds to wait after ``failures`` failures in a row; ``failures`` is at least 1."""
    return max(interval, min(MOST_WAIT_SECONDS, interval * 2.0 ** min(failures - 1, 30)))


def _requests(
    instance: dg.DagsterInstance, spec: TableSpec, found: Lag | Exception, translator: PaimonTranslator, interval: float
) -> tuple[Sequence[dg.RunRequest], str]:
    """Return the run that loads a table, if it needs one now, and a text about the table."""
    if isinstance(found, Exception):
        return [], str(found)
    text = found.text()
    if not _loads(spec) or not found.is_behind:
        return [], text
    if found.is_read:
        return [], f"{text}: nothing is requested"
    job = load_job_name(spec, translator)
    if in_flight(instance, job):
        return [], f"{text}: a load is queued or running"
    runs = instance.get_run_records(dg.RunsFilter(job_name=job, statuses=_ENDED), limit=_RUNS_READ)
    loaded = instance.get_latest_materialization_event(translator.asset_key(spec))
    is_failed = [
        run.dagster_run.status == DagsterRunStatus.FAILURE
        and (loaded is None or loaded.run_id != run.dagster_run.run_id)  # else another table or part failed
        for run in runs
    ]
    failures = is_failed.index(False) if False in is_failed else len(is_failed)
    if failures:
        again = (runs[0].end_time or 0.0) + wait_seconds(failures, interval)
        if time.time() < again:
            return [], f"{text}: the last loads failed ({failures}), the next one is requested {_at(again)}"
    after = runs[0].dagster_run.run_id if runs else "the first"
    return load_requests(spec, None, lambda _: f"{spec.name}@{found.position}@{after}", translator), (
        f"{text}: a load is requested"
    )


def _at(seconds: float) -> str:
    return f"at {datetime.fromtimestamp(seconds, UTC):%H:%M:%S} UTC"
