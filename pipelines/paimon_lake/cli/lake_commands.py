"""The commands of a declared lake: new, check, apply, infer, load and release."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from paimon_lake.cli.check_lines import check_lines
from paimon_lake.cli.load_command import add_load_arguments, load
from paimon_lake.cli.new_lake import new_lake
from paimon_lake.cli.selectors import add_selectors, add_table
from paimon_lake.declarations import Settings
from paimon_lake.loads.groups.left_versions import release_versions
from paimon_lake.loads.postgres.release import release
from paimon_lake.overview import nothing_declared
from paimon_lake.protocol import PipelineError
from paimon_lake.session import Spark
from paimon_lake.steps.apply import PartlyApplied, apply
from paimon_lake.steps.infer import infer

Add = Callable[..., argparse.ArgumentParser]
SETTINGS_ONLY = ("check", "apply", "infer", "release")
"""Commands that print lines and run no step."""


def add_lake_commands(add: Add) -> None:
    """Add the commands to the command line."""
    making = add("new", "write the folder of a new lake with two example tables")
    making.add_argument("folder", type=Path, metavar="PATH", help="a folder that does not exist or is empty")
    add_selectors(add("check", "compare the declarations with the tables of the lake and with their sources"))
    applying = add("apply", "create the declared tables that are not in the lake, and alter those that differ")
    applying.add_argument("--drop", action="store_true", help="drop columns that are no longer declared")
    applying.add_argument(
        "--lossy",
        action="append",
        default=[],
        metavar="DATABASE.TABLE.COLUMN",
        help="give this column its declared type, also if stored values are lost; may be repeated",
    )
    inferring = add("infer", "read the columns of a table from its source and write them into its declaration")
    add_table(inferring)
    add_load_arguments(add("load", "load tables from their sources, or some of their partitions", load))
    releasing = add("release", "drop the replication slot and the publication that loads of a table made")
    what = releasing.add_mutually_exclusive_group(required=True)
    what.add_argument("--table", metavar="DATABASE.TABLE", help="the table")
    text = "delete the versions of a group that is not declared any more, or whose database is not consistent any more"
    what.add_argument("--group", metavar="NAME", help=text)
    releasing.add_argument("--part", default="", metavar="NAME", help="only what loads of this part made; with --table")


def write_new(folder: Path) -> str:
    """Write a new lake and return a text about the next steps."""
    files = new_lake(folder)
    return f"{folder} has {len(files)} files: read {folder / 'README.md'}"


def lines_of(spark: Spark, settings: Settings, asked: argparse.Namespace) -> tuple[list[str], bool]:
    """Run ``check``, ``apply``, ``infer`` or ``release``; return the lines to print, and whether the command found no
    problem.

    Only ``check`` uses Spark, and only for a lake with queries.
    """
    if asked.command == "infer":
        found = infer(settings, asked.table)
        width = max(map(len, found.columns))
        columns = [f"{name:{width}}  {kind}" for name, kind in found.columns.items()]
        left_out = [f"{name} is left out: {why}" for name, why in found.left_out.items()]
        sampled = found.sampled.lines() if found.sampled else ()
        return [*columns, *left_out, *sampled, *([found.buckets] if found.buckets else [])], not found.left_out
    if asked.command == "release" and asked.group:
        if asked.part:
            raise PipelineError("--part needs --table: a group has no parts")
        return release_versions(settings, asked.group), True
    if asked.command == "release":
        return release(settings, asked.table, asked.part) or [
            "nothing to do: loads made no slot and no publication"
        ], True
    if not settings.tables:
        return [nothing_declared(settings)], True
    if asked.command == "apply":
        try:
            done = apply(settings, drop=asked.drop, lossy=asked.lossy)
        except PartlyApplied as partly:
            return [*partly.problems, *partly.done], False
        return done or ["nothing to do: all tables are as declared"], True
    return check_lines(spark, settings, asked)
