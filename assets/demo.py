"""``python -m assets.demo``: run the main job with Dagster in this process, then print a summary.

It loads what Dagster has not materialized yet, with as many days per run as a backfill, aggregates, compacts one month
and then the tables that the sensor requests, tags, expires and checks. All runs are stored in the Dagster instance of
the lake, so ``make ui`` shows them. A second call loads nothing again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import dagster as dg

from assets.definitions import build_definitions
from assets.instance import prepare_home
from assets.maintenance import NIGHTLY, compaction_config, compaction_job_name
from assets.metadata import asset_key
from assets.partitions import daily, days_of, monthly
from assets.resources import LakeResource, place_of
from pipelines.carrier_day import CARRIER_DAY
from pipelines.dimensions import DIMENSIONS
from pipelines.flights import CANCELLATIONS, FLIGHTS
from pipelines.lake import Settings, SettingsError, load_settings
from pipelines.protocol import PipelineError
from pipelines.session import require_java
from pipelines.show import aligned, existing, lake_text, levels_text, view
from pipelines.tables import open_table, state_of
from pipelines.weather import WEATHER

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class DemoFailed(Exception):
    """A run failed, or a check found a problem."""


@dataclass
class Demo:
    """One call of the demo: its lake, and the total seconds of each step."""

    settings: Settings
    instance: dg.DagsterInstance
    definitions: dg.Definitions
    last_day: date
    seconds: dict[str, float] = field(default_factory=dict)
    runs: int = 0

    def materialize(self, step: str, names: Sequence[str], first: str | None = None, last: str | None = None) -> None:
        """Materialize these tables in one run, for the partitions from first to last."""
        tags = {RANGE_START: first, RANGE_END: last} if first and last else {}
        job = self.definitions.resolve_implicit_global_asset_job_def()
        title = "" if not first or not last else first if first == last else f"{first} to {last}"
        self._run(step, title, job, asset_selection=[asset_key(name) for name in names], tags=tags)

    def run_job(self, step: str, title: str, name: str, config: Mapping[str, Any] | None = None) -> None:
        """Run the job with this name once."""
        self._run(step, title, self.definitions.resolve_job_def(name), config=config)

    def _run(
        self, step: str, title: str, job: dg.JobDefinition, *, config: Mapping[str, Any] | None = None, **chosen: Any
    ) -> None:
        started = time.monotonic()
        run_config = {**(config or {}), **_QUIET}
        result = job.execute_in_process(run_config=run_config, instance=self.instance, raise_on_error=False, **chosen)
        took = time.monotonic() - started
        self.runs += 1
        self.seconds[step] = self.seconds.get(step, 0.0) + took
        if not result.success:
            raise DemoFailed(f"run {result.run_id} failed at {step} {title}: {_cause(result)}")
        say(f"{took:5.1f} s  {step:<10}  {title:<24}  {_outcome(result)}")

    def missing(self, name: str, partitions: dg.PartitionsDefinition[str]) -> list[str]:
        """Return the partitions of a table that are not materialized; all of them when it is not in the lake."""
        keys = [k for k in partitions.get_partition_keys() if k <= self.last_day.isoformat()[: len(k)]]
        if name not in existing(self.settings):
            return keys
        done = self.instance.get_materialized_partitions(asset_key(name))
        return [key for key in keys if key not in done]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m assets.demo", description="Run the main job on the lake.")
    parser.add_argument("--to", type=date.fromisoformat, metavar="DAY", help="load flights up to this day only")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    started = time.monotonic()
    try:
        settings = load_settings()
        require_java()
        home = prepare_home(settings)
        os.environ["DAGSTER_HOME"] = str(home)
        say(f"the lake is {settings.warehouse}; the first step starts Spark")
        with dg.DagsterInstance.from_config(str(home)) as instance:
            demo = Demo(settings, instance, build_definitions(settings), asked.to or settings.days.last_day)
            before_compaction = play(demo)
            print(summary(demo, before_compaction, time.monotonic() - started))
    except (PipelineError, SettingsError, DemoFailed) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def play(demo: Demo) -> dict[str, str]:
    """Run the main job; return the files per level of each table before the compaction."""
    load(demo)
    before = {name: levels_text(state_of(open_table(demo.settings, name)).levels) for name in demo.settings.tables}
    flights = demo.settings.table(FLIGHTS)
    first_month = demo.settings.days.first_day.strftime("%Y-%m")
    by_hand = dg.RunRequest(run_config=compaction_config(flights, full=True, partitions=[first_month]))
    demo.run_job("compact", f"by hand: {first_month}, full", compaction_job_name(flights), by_hand.run_config)
    for request in sensor_requests(demo):
        demo.run_job("compact", f"sensor: {request.tags['paimon/table']}", str(request.job_name), request.run_config)
    demo.run_job("maintain", "tag, then expire", NIGHTLY)
    demo.run_job("check", "all tables", "audit")
    return before


def load(demo: Demo) -> None:
    """Materialize everything that is not materialized yet."""
    tables = existing(demo.settings)
    known = [n for n in tables if demo.instance.get_latest_materialization_event(asset_key(n))]
    new_dimensions = [n for n in DIMENSIONS if n not in known]
    if new_dimensions:
        demo.materialize("dimensions", new_dimensions)
    months = demo.missing(WEATHER, monthly(demo.settings))
    if months:
        demo.materialize("weather", [WEATHER], months[0], months[-1])
    names = [FLIGHTS, CANCELLATIONS]
    days = sorted({day for name in names for day in demo.missing(name, daily(demo.settings))})
    for chunk in chunks(days_of(days), demo.settings.table(FLIGHTS).backfill_per_run):
        demo.materialize("flights", names, chunk[0].isoformat(), chunk[-1].isoformat())
    touched = sorted({day[:7] for day in days} | set(demo.missing(CARRIER_DAY, monthly(demo.settings))))
    if touched:
        demo.materialize("aggregate", [CARRIER_DAY], touched[0], touched[-1])
    if not (new_dimensions or months or days or touched):
        say("everything was loaded before: nothing is added again")


def chunks(days: Sequence[date], size: int) -> list[list[date]]:
    """Split sorted days into ranges without gaps of at most ``size`` days, one for each run, as a backfill does."""
    ranges: list[list[date]] = []
    for day in days:
        if ranges and len(ranges[-1]) < size and (day - ranges[-1][-1]).days == 1:
            ranges[-1].append(day)
        else:
            ranges.append([day])
    return ranges


def sensor_requests(demo: Demo) -> list[dg.RunRequest]:
    """Return the runs that the compaction sensor requests now."""
    sensor = demo.definitions.resolve_sensor_def("compaction")
    lake = LakeResource(**place_of(demo.settings))
    with dg.build_sensor_context(instance=demo.instance, resources={"lake": lake}) as context:
        tick = sensor.evaluate_tick(context)
    if not tick.run_requests:
        say("the compaction sensor requests no run: no table has too many sorted runs")
    return list(tick.run_requests or [])


def say(line: str) -> None:
    """Print one line of progress."""
    print(f"  {line}", flush=True)


def _outcome(result: dg.ExecuteInProcessResult) -> str:
    """Return in one line what a run did; raises DemoFailed when a check failed."""
    events = result.get_asset_materialization_events()
    parts = [_loaded(event.step_materialization_data.materialization) for event in events]
    notes: dict[str, list[dg.AssetObservation]] = {}
    for event in result.get_asset_observation_events():
        observation = event.asset_observation_data.asset_observation
        notes.setdefault(str(observation.metadata["paimon/step"].value), []).append(observation)
    for step, observations in notes.items():
        if step == "compact":
            parts += [f"{_value(o, 'note')}, {_value(o, 'files')} files now" for o in observations]
        elif step == "tag":
            parts.append(f"{len(observations)} tables have the tag {_value(observations[0], 'tag')}")
        else:
            parts.append(f"{sum(_value(o, 'expired_snapshots') for o in observations)} snapshots expired")
    checks = result.get_asset_check_evaluations()
    failed = [f"{c.asset_key.to_user_string()} {c.check_name}: {c.description}" for c in checks if not c.passed]
    if failed:
        raise DemoFailed(f"checks failed: {'; '.join(failed)}")
    if checks:
        parts.append(f"{len(checks)} checks passed")
    return "; ".join(dict.fromkeys(parts))


def _loaded(materialization: dg.AssetMaterialization) -> str:
    table = ".".join(materialization.asset_key.path)
    return f"{table} has {_value(materialization, 'dagster/row_count'):,} rows"


def _value(event: dg.AssetMaterialization | dg.AssetObservation, key: str) -> Any:
    return event.metadata[key if "/" in key else f"paimon/{key}"].value


def _cause(result: dg.ExecuteInProcessResult) -> str:
    for event in result.all_events:
        if event.is_step_failure:
            error: Any = event.step_failure_data.error
            return " ".join(str((error.cause or error).message).split())[:300]
    return "see `make ui`"


def summary(demo: Demo, before: dict[str, str], total: float) -> str:
    """Return a text with the tables, the effect of compaction, the time of each step, and the next commands."""
    views = [view(demo.settings, name) for name in existing(demo.settings)]
    compacted = [[v.name, before[v.name], levels_text(v.levels)] for v in views]
    timed = [[step, f"{took:.1f} s"] for step, took in demo.seconds.items()]
    return "\n".join(
        [
            "",
            lake_text(views),
            "",
            aligned(["files per level", "before compaction", "now"], compacted),
            "",
            aligned(["step", "time"], timed, right=(1,)),
            "",
            f"{demo.runs} Dagster runs, {total:.0f} s in all. The lake is {demo.settings.warehouse}",
            "",
            "Next: `make ui` opens Dagster on this lake; `python -m pipelines show` prints the tables;",
            "      `python -m pipelines audit` compares them with the source.",
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())
