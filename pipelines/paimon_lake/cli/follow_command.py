"""The command follow: load tables again and again until a signal or a time limit ends it."""

from __future__ import annotations

import argparse
import sys

from paimon_core.stop_event import stop_by_signal
from paimon_lake.declarations import Settings
from paimon_lake.declarations.lake.groups import groups_of
from paimon_lake.loads.inputs.stale_text import stale_text
from paimon_lake.protocol import PipelineError
from paimon_lake.session import start_session
from paimon_lake.steps.follow import Failure, Follow


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("tables", nargs="*", metavar="DATABASE.TABLE", help="the tables")
    command.add_argument("--table", nargs="+", action="extend", metavar="DATABASE.TABLE", help="the same")
    command.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="wait after an empty load (1)")
    command.add_argument("--seconds", type=float, metavar="SECONDS", help="end after this time; default: never")
    command.add_argument("--json", action="store_true", help="print results as JSON, one object for each line")


def follow(settings: Settings, asked: argparse.Namespace) -> Follow:
    """Follow the tables; print a line for each commit, and one on the error output for each failure.

    At the end, the error output has a line for each table with stale partitions. SIGINT and SIGTERM end the
    command when the current load and compaction have ended. Returns the ended ``Follow``, which knows the failing and
    the stale tables. Raises PipelineError for a wrong request.
    """
    for name, value in (("--every", asked.every), ("--seconds", asked.seconds)):
        if value is not None and not 0 < value < 31_536_000:
            raise PipelineError(f"{name} must be a number of seconds above 0 and at most a year, not {value:g}")
    if not asked.table:
        raise PipelineError("name the tables to follow, as in `paimon-lake follow shop.orders`")
    for name in asked.table:
        settings.table(name)
    for name in groups_of(settings.groups, asked.table):
        advice = f"`paimon-lake load group:{name}` does"
        print(f"paimon-lake follow: group {name} is not published by this command; {advice}", file=sys.stderr)
    session = start_session(settings)  # before the handlers are set: Spark sets a handler that cancels jobs
    with stop_by_signal(second_interrupts=False) as stop:
        following = Follow(lambda: session, settings, asked.table, every=asked.every, seconds=asked.seconds, stop=stop)
        for one in following.run():
            if isinstance(one, Failure):
                print(f"paimon-lake follow: {one.sentence()}", file=sys.stderr, flush=True)
            else:
                print(one.to_json(indent=None) if asked.json else one.sentence(), flush=True)
    for name, stale in following.stale.items():
        print(f"paimon-lake follow: {name} is stale: {stale_text(stale)}; load them again", file=sys.stderr)
    return following
