"""Demo runs: run the jobs of a lake one after the other in this process, and print one line about each run."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg

from paimon_dagster.factories.loads import RANGE_END, RANGE_START
from paimon_dagster.metadata import asset_key
from paimon_dagster.sensors.compaction_sensor import IN_FLIGHT
from paimon_lake.declarations import Settings

DEMO = "paimon/demo"
"""The tag that marks runs of the demo."""
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class DemoFailed(Exception):
    """A run failed, or a check found a problem."""


@dataclass
class Demo:
    """One call of the demo: its lake, the total seconds of each step, and the number of runs."""

    settings: Settings
    instance: dg.DagsterInstance
    definitions: dg.Definitions
    seconds: dict[str, float] = field(default_factory=dict)
    runs: int = 0

    def materialize(self, step: str, names: Sequence[str], first: str | None = None, last: str | None = None) -> None:
        """Materialize tables in one run: partitions from ``first`` to ``last``; None: whole tables."""
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
        chosen["tags"] = {**chosen.get("tags", {}), DEMO: "true"}
        result = job.execute_in_process(run_config=run_config, instance=self.instance, raise_on_error=False, **chosen)
        took = time.monotonic() - started
        self.runs += 1
        self.seconds[step] = self.seconds.get(step, 0.0) + took
        if not result.success:
            raise DemoFailed(f"run {result.run_id} failed at {step} {title}: {_cause(result)}")
        say(f"{took:5.1f} s  {step:<24}  {title:<24}  {_outcome(result)}")


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Hold the lock file of the demo of a lake; the operating system releases it when this process ends or is killed.

    Raises DemoFailed when another demo holds the lock.
    """
    with open(home / "demo.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DemoFailed(f"another demo runs on this lake: it holds {home / 'demo.lock'}") from None
        yield


def end_killed_runs(instance: dg.DagsterInstance) -> None:
    """Mark runs of killed demos as failed, and free the pools that these runs hold.

    A step of the next demo would wait for these pools forever. Call the function only in ``alone``: all runs of demos
    that seem to run then belong to killed demos.
    """
    for run in instance.get_runs(dg.RunsFilter(tags={DEMO: "true"}, statuses=IN_FLIGHT)):
        instance.report_run_failed(run, "the process of this run was killed")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)


def say(line: str) -> None:
    """Print one line of progress."""
    print(f"  {line}", flush=True)


def _outcome(result: dg.ExecuteInProcessResult) -> str:
    """Return one line about the result of a run; raises DemoFailed when a check of severity error failed."""
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
    wrong = [
        (c.severity, f"{c.asset_key.to_user_string()} {c.check_name}: {c.description}") for c in checks if not c.passed
    ]
    failed = [text for severity, text in wrong if severity is not dg.AssetCheckSeverity.WARN]
    if failed:
        raise DemoFailed(f"checks failed: {'; '.join(failed)}")
    if checks:
        parts.append(f"{len(checks) - len(wrong)} checks passed")
    parts += [f"warning: {text}" for _, text in wrong]
    return "; ".join(dict.fromkeys(parts))


def _loaded(materialization: dg.AssetMaterialization) -> str:
    table = ".".join(materialization.asset_key.path)
    if "paimon/lowest_score" in materialization.metadata:
        tables, findings, lowest = (_value(materialization, key) for key in ("tables", "findings", "lowest_score"))
        return f"{tables} tables have {findings} findings; the lowest score is {lowest}"
    if "dagster/row_count" not in materialization.metadata:
        return f"{table} has snapshot {_value(materialization, 'snapshot_id')}"
    return f"{table} has {_value(materialization, 'dagster/row_count'):,} rows"


def _value(event: dg.AssetMaterialization | dg.AssetObservation, key: str) -> Any:
    return event.metadata[key if "/" in key else f"paimon/{key}"].value


def _cause(result: dg.ExecuteInProcessResult) -> str:
    for event in result.all_events:
        if event.is_step_failure:
            error: Any = event.step_failure_data.error
            return " ".join(str((error.cause or error).message).split())[:300]
    return "see `make ui`"
