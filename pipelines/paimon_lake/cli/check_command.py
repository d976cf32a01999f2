"""The command test: run the declared checks of tables, and show how they were after earlier loads."""

from __future__ import annotations

import argparse

from paimon_core.cli.parsing.values import number
from paimon_lake.check_result import CheckResult
from paimon_lake.cli.selectors import add_selectors, chosen
from paimon_lake.declarations import Settings
from paimon_lake.overview import existing, nothing_declared
from paimon_lake.protocol import PipelineError
from paimon_lake.session import Spark
from paimon_lake.steps.audits.declared_checks import declared_results, has_past, past_results

MOST = 100
"""The greatest number of earlier loads."""


def add_test_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_selectors(command)
    command.add_argument(
        "--history", type=number, default=0, metavar="LOADS", help="also show the checks after each of the last loads"
    )


def run_declared_checks(spark: Spark, settings: Settings, asked: argparse.Namespace) -> int:
    """Print a line for each declared check of the chosen tables (default: all); return 1 when a check with the severity
    ``error`` fails or a chosen table with checks is not in the lake, else 0.

    Raises PipelineError when no chosen table declares a check.
    """
    if not settings.tables:
        raise PipelineError(nothing_declared(settings))
    if not 0 <= asked.history <= MOST:
        raise PipelineError(f"--history must be a number of loads from 0 to {MOST}, not {asked.history}")
    names = chosen(settings, asked)
    if not names:
        print(f"no definition differs from {asked.state}")
        return 0
    tested = [spec for name in names if (spec := settings.table(name)).checks]
    if not tested:
        raise PipelineError(f"no check is declared for {', '.join(names)}: add the key checks")
    failed, there = False, existing(settings)
    for spec in tested:
        if spec.name not in there:
            print(f"WRONG {spec.name}: is not in the lake yet: load it first")
            failed = True
            continue
        past = past_results(settings, spec, asked.history)
        for position, result in enumerate(declared_results(settings, spec, spec.checks, spark)):
            print(f"{_word(result)} {spec.name} {result.audit}: {result.sentence}")
            failed |= not result.passed and result.severity == "error"
            if asked.history and not has_past(spec.checks[position]):
                print("      no history: the check asks a server or may read other tables")
            for load in past:
                for one in load.results:
                    if one.audit == result.audit:
                        at = f"{load.committed_at:%Y-%m-%d %H:%M:%S}"
                        print(f"      {_word(one)} snapshot {load.snapshot_id}, {at} UTC: {one.sentence}")
    return 1 if failed else 0


def _word(result: CheckResult) -> str:
    return "ok   " if result.passed else "warn " if result.severity == "warn" else "WRONG"
