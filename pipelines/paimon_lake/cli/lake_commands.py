"""The commands of a declared lake: new, check, apply, infer, load and release."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from paimon_core.errors import PaimonError
from paimon_lake.checks import problems
from paimon_lake.cli.load_command import add_load_arguments, load
from paimon_lake.cli.new_lake import new_lake
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.tables import disagreements
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.differences import differences
from paimon_lake.loads.files.path_rules import order_notes, path_problems
from paimon_lake.loads.files.source_files import file_kind, source_files
from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.loads.inputs.stale_text import stale_text
from paimon_lake.loads.part_states import part_states
from paimon_lake.loads.postgres.left_slots import left_slots
from paimon_lake.loads.postgres.left_versions import left_versions, release_versions
from paimon_lake.loads.postgres.release import release
from paimon_lake.overview import nothing_declared
from paimon_lake.protocol import PipelineError
from paimon_lake.query_analysis import query_problems
from paimon_lake.session import Spark
from paimon_lake.steps.apply import PartlyApplied, apply
from paimon_lake.steps.infer import infer
from paimon_lake.tables import open_lake

Add = Callable[..., argparse.ArgumentParser]
SETTINGS_ONLY = ("check", "apply", "infer", "release")
"""Commands that print lines and run no step."""


def add_lake_commands(add: Add) -> None:
    """Add the commands to the command line."""
    making = add("new", "write the folder of a new lake with two example tables")
    making.add_argument("folder", type=Path, metavar="PATH", help="a folder that does not exist or is empty")
    add("check", "compare the declarations with the tables of the lake and with their sources")
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
    inferring.add_argument("--table", required=True, metavar="DATABASE.TABLE", help="the table")
    add_load_arguments(add("load", "load tables from their sources, or some of their partitions", load))
    releasing = add("release", "drop the replication slot and the publication that loads of a table made")
    what = releasing.add_mutually_exclusive_group(required=True)
    what.add_argument("--table", metavar="DATABASE.TABLE", help="the table")
    what.add_argument(
        "--group", metavar="NAME", help="delete the versions of the group of a database that is not consistent any more"
    )
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
        return [*columns, *left_out, *(found.sampled.lines() if found.sampled else ())], not found.left_out
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
    lines = [*disagreements(settings), *(f"{name}: {text}" for name, text in _problems(settings))]
    lines += [f"{name} {text}" for name, texts in differences(settings).items() for text in texts]
    lines += query_problems(spark, settings)
    lines += [*_unloaded_parts(settings), *_stale(settings)]
    left = left_slots(settings)
    lines += [*left.problems, *left_versions(settings)]
    notes = [f"note: {text}" for text in left.notes]
    notes += [f"note: {name}: {text}" for name, spec in settings.tables.items() for text in order_notes(spec)]
    return [*(lines or [f"{len(settings.tables)} tables agree with their declarations"]), *notes], not lines


def _problems(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield (table, problem) for each problem of the declared checks and of the paths of sources."""
    for name, spec in settings.tables.items():
        yield from ((name, text) for text in problems(spec))
        for one in load_specs(spec):
            if isinstance(one.source, FilesSource):
                yield from ((one.load_name, text) for text in _file_problems(settings, one, one.source))


def _file_problems(settings: Settings, spec: TableSpec, source: FilesSource) -> Iterator[str]:
    try:
        file_kind(source)
        yield from path_problems(spec)
        if not source.fetch and not source_files(settings, source, None):
            yield f"no file matches source.path {source.path}"
    except PipelineError as error:
        yield str(error)


def _unloaded_parts(settings: Settings) -> Iterator[str]:
    """Yield one line for each part that was never loaded, if another part of the same table was loaded."""
    catalog = open_lake(settings)
    for name, spec in settings.tables.items():
        try:
            if not spec.parts or not catalog.table_exists(name):
                continue
            states = part_states(settings, spec, catalog.table(name))
        except (PaimonError, PipelineError) as error:
            yield f"{name}: which parts were loaded is not known: {error}"
            continue
        if any(state.loaded_at for state in states):
            for state in states:
                if state.loaded_at is None:
                    yield f"{name}: the part {state.part} was never loaded"


def _stale(settings: Settings) -> Iterator[str]:
    """Yield one line for each table with stale partitions, and for each table whose ledger cannot be read."""
    for name in settings.tables:
        try:
            found = stale_now(settings, name)
        except (PaimonError, PipelineError) as error:
            yield f"{name}: whether partitions are stale is not known: {error}"
            continue
        if found:
            yield f"{name} is stale: {stale_text(found)}; load them again"
