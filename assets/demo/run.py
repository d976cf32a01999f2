"""``python -m assets.demo``: run the main job with Dagster in this process, then print a summary.

The job loads the partitions that Dagster has not materialized yet, with as many partitions per run as a backfill. Then
it compacts the tables that the compaction sensor requests, tags and expires the tables, runs all checks, and examines
the health of the lake.
``--configs`` names the folder of another lake. All runs are stored in the Dagster instance of the lake, so ``make ui``
shows them. A second call does not load anything twice.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import dagster as dg

from assets.demo.loads import load_tables
from assets.demo.runs import Demo, DemoFailed, alone, end_killed_runs, say
from paimon_core.types import STRING_ROOTS
from paimon_dagster.factories.compaction import compaction_config, compaction_job_name
from paimon_dagster.factories.lake_health import HEALTH
from paimon_dagster.factories.maintenance import NIGHTLY
from paimon_dagster.instance import open_instance, prepare_home
from paimon_dagster.lake import build_definitions
from paimon_dagster.resources import LakeResource, place_of
from paimon_lake.declarations import FOLDER, SettingsError, load_settings
from paimon_lake.overview import aligned, existing, lake_text, levels_text, nothing_declared, overviews
from paimon_lake.protocol import PipelineError
from paimon_lake.session import require_java
from paimon_lake.tables import open_table, state_of

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m assets.demo", description="Run the main job on the lake.")
    parser.add_argument("--to", type=date.fromisoformat, metavar="DAY", help="load partitions up to this day only")
    parser.add_argument("--configs", metavar="PATH", help="the folder of the declarations (default: configs/)")
    asked = parser.parse_args(arguments)
    if asked.configs or not os.environ.get(FOLDER):
        os.environ[FOLDER] = str(Path(asked.configs or CONFIGS).expanduser().absolute())
    warnings.simplefilter("ignore")
    started = time.monotonic()
    try:
        settings = load_settings()
        if not settings.tables:
            print(f"demo: nothing to do: {nothing_declared(settings)}")
            return 0
        require_java()
        say(f"the lake is {settings.warehouse}; the first step starts Spark")
        with alone(prepare_home(settings)), open_instance(settings) as instance:
            end_killed_runs(instance)
            demo = Demo(settings, instance, build_definitions(settings, keep_session=True))
            before_compaction = play(demo, asked.to)
            print(summary(demo, before_compaction, time.monotonic() - started))
    except (PipelineError, SettingsError, DemoFailed) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def play(demo: Demo, last_day: date | None = None) -> dict[str, str]:
    """Run the main job; return for each table a text with its files per level before the compaction."""
    load_tables(demo, last_day)
    states = {name: state_of(open_table(demo.settings, name)) for name in existing(demo.settings)}
    before = {name: levels_text(state.levels) for name, state in states.items()}
    compact_by_hand(demo)
    for request in sensor_requests(demo):
        demo.run_job("compact", f"sensor: {request.tags['paimon/table']}", str(request.job_name), request.run_config)
    demo.run_job("maintain", "tag, then expire", NIGHTLY)
    demo.run_job("check", "all tables", "audit")
    demo.run_job("check", "health of the lake", HEALTH)
    return before


def compact_by_hand(demo: Demo) -> None:
    """Run the compaction job by hand for one partition: the first partition of the table with the most buckets.

    A compaction keeps the number of buckets, so a second run chooses the same partition, which is compacted already.
    """
    named: dict[str, list[str]] = {}
    most = {}
    for name in existing(demo.settings):
        table = open_table(demo.settings, name)
        keys = table.schema.partition_fields
        if len(keys) == 1 and keys[0].type.root in STRING_ROOTS:
            texts = [next(iter(p.values())) for p in table.inspect.partitions()["partition_values"].to_pylist()]
            named[name] = [text for text in texts if text]
            most[name] = table.inspect.buckets().num_rows
    name = max((name for name in named if named[name]), key=lambda name: most[name], default="")
    if name:
        value, spec = named[name][0], demo.settings.table(name)
        request = dg.RunRequest(run_config=compaction_config(spec, full=True, partitions=[value]))
        demo.run_job("compact", f"by hand: {value}, full", compaction_job_name(spec), request.run_config)


def sensor_requests(demo: Demo) -> list[dg.RunRequest]:
    """Evaluate the compaction sensor once, and return the runs that it requests."""
    sensor = demo.definitions.resolve_sensor_def("compaction")
    lake = LakeResource(**place_of(demo.settings))
    with dg.build_sensor_context(instance=demo.instance, resources={"lake": lake}) as context:
        tick = sensor.evaluate_tick(context)
    if not tick.run_requests:
        say("the compaction sensor requests no run: no table has too many sorted runs")
    return list(tick.run_requests or [])


def summary(demo: Demo, before: dict[str, str], total: float) -> str:
    """Return a text with the tables, the files before and after compaction, the times, and the next commands."""
    folder = "" if demo.settings.folder == CONFIGS else str(demo.settings.folder)
    option = f" --configs {folder}" if folder else ""
    found = overviews(demo.settings)
    compacted = [[v.name, before[v.name], levels_text(v.levels)] for v in found if v.name in before]
    timed = [[step, f"{took:.1f} s"] for step, took in demo.seconds.items()]
    return "\n".join(
        [
            "",
            lake_text(found),
            "",
            aligned(["files per level", "before compaction", "now"], compacted),
            "",
            aligned(["step", "time"], timed, right=(1,)),
            "",
            f"{demo.runs} Dagster runs, {total:.0f} s in all. The lake is {demo.settings.warehouse}",
            "",
            f"Next: `make ui{' CONFIGS=' + folder if folder else ''}` opens Dagster on this lake;",
            f"      `paimon-lake show{option}` prints the tables, `audit` checks them.",
        ]
    )
