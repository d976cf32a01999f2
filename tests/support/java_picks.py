"""The compaction picks of Java and of this project for the buckets of tests/golden/java-picks (PaimonPicks.java)."""

import json
import os
import subprocess
from pathlib import Path

from paimon_core.lsm.compaction.rewrite_plan import Upgrade, plan_rewrite
from paimon_core.lsm.compaction.schedule import EarlyFull, Moment, OffPeak
from paimon_core.lsm.compaction.strategy import Level0, Strategy
from paimon_core.lsm.compaction.universal import UniversalCompaction, full_unit
from paimon_core.lsm.levels import Levels
from tests.support.lsm_files import byte_order, data_file, is_clean
from tests.support.oracle import java_command

CASES = Path(__file__).resolve().parents[1] / "golden" / "java-picks" / "picks.json"
NOW = 1_700_000_000_000


def ask_java(buckets, first=None):
    """Return Java's picks; ``first``: a folder of classes that override classes of the jar."""
    command = java_command("PaimonPicks")
    if first is not None:
        at = command.index("-cp") + 1
        command[at] = f"{first}{os.pathsep}{command[at]}"
    done = subprocess.run(command, input=json.dumps(buckets), capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1])


def our_answer(bucket):
    """Return the picks of the strategy under test, in the form of Java's answer."""
    options = bucket["options"]
    files = [
        data_file(
            f"f{number:03}",
            level=level,
            size=size,
            keys=(first, last),
            sequences=(least, most),
            created=created,
            deletes=deletes,
        )
        for number, (level, size, first, last, least, most, created, deletes) in enumerate(bucket["files"])
    ]
    levels = Levels.of(files, options["numLevels"])
    out = {"runs": [[run.level, *sorted(numbers(run.files))] for run in levels.runs]}
    moment = Moment(NOW, bucket["hour"], NOW - bucket["age"] if "age" in bucket else None)
    force = options.get("forceRewrite", False)
    unit = strategy(options).pick(levels, moment, overdue=options.get("level0") == 1)
    out |= show("unit", "steps", unit, options, force)
    return out | show("full", "fullSteps", full_unit(levels, force_rewrite=force), options, force)


def strategy(options):
    level_0 = {None: Level0.WHEN_PICKED, 0: Level0.ALWAYS, 1: Level0.WHEN_OVERDUE, 2: Level0.WHEN_OVERDUE}
    return Strategy(
        UniversalCompaction(options["trigger"], options["maxAmplification"], options["ratio"]),
        EarlyFull(options.get("interval"), options.get("total"), options.get("increment")),
        OffPeak(*options.get("offPeak", (-1, -1, 0))),
        level_0[options.get("level0")],
    )


def show(name, steps, unit, options, force):
    if unit is None:
        return {}
    planned = plan_rewrite(
        unit, key_order=byte_order, small_file_bytes=options["smallFile"], is_clean=is_clean, force_rewrite=force
    )
    return {
        name: [unit.output_level, int(unit.drop_delete), *numbers(unit.files)],
        steps: [
            numbers([step.file])[0]
            if isinstance(step, Upgrade)
            else [[numbers(run.files) for run in section.runs] for section in step.sections]
            for step in planned
        ],
    }


def numbers(files):
    return [int(f.file_name[1:]) for f in files]


def unordered(answer):
    """Return an answer without details that have no meaning.

    These are the order of files in a run and of runs in a section and, because Java chooses at random between runs that
    end at the same key, which of them a file joins. The number of runs is kept.
    """
    out = dict(answer)
    out["runs"] = [[run[0], *sorted(run[1:])] for run in answer["runs"]]
    for name in {"unit", "full"} & out.keys():
        out[name] = [*answer[name][:2], *sorted(answer[name][2:])]
    for name in {"steps", "fullSteps"} & out.keys():
        out[name] = [s if isinstance(s, int) else [_section(runs) for runs in s] for s in out[name]]
    return out


def _section(runs):
    return len(runs), sorted(number for run in runs for number in run)
