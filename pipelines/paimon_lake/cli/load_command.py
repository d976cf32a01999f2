"""The command load: load one table, or several tables in the order of their inputs, within one Spark session.

The declared groups whose tables the run has loaded are published afterwards.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from paimon_lake.cli.selectors import add_selectors, chosen
from paimon_lake.declarations import Settings
from paimon_lake.declarations.agreement.selection import ordered, with_readers
from paimon_lake.loads.groups.group_versions import Published
from paimon_lake.loads.load import load_table
from paimon_lake.loads.partitions.partition_ranges import Asked, asked_keys
from paimon_lake.overview import nothing_declared
from paimon_lake.protocol import NOT_DELETED, PipelineError, StepResult, TablesFailed
from paimon_lake.session import Spark
from paimon_lake.steps.load_group import GroupRun
from paimon_lake.steps.load_several import NotLoaded, load_several


def add_load_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_selectors(command)
    command.add_argument("--all", action="store_true", help="load every table that has a source")
    command.add_argument("--downstream", action="store_true", help="also load the tables that are made from them")
    command.add_argument(
        "--partition",
        action="append",
        metavar="KEY",
        help="load only this partition, or a range such as 2024-01-01..2024-01-31; may be repeated",
    )
    command.add_argument("--from", dest="since", metavar="KEY", help="load the partitions from this one on")
    command.add_argument("--to", dest="until", metavar="KEY", help="load the partitions up to this one")
    command.add_argument("--part", default="", metavar="NAME", help="load only this part of a table with parts")
    command.add_argument("--reload", action="store_true", help="load again what was loaded before")


def load(spark: Spark, settings: Settings, asked: argparse.Namespace) -> Iterator[StepResult | Published]:
    """Load the tables that the arguments choose, and yield the result of each; then publish the declared groups.

    A table that fails, and each table that is not loaded for this reason, is a line on the error output, and so is a
    group that is not published; at the end TablesFailed names them. When only one table
    is chosen, its error is raised as it is. Raises PipelineError for a wrong request, before a table is loaded.
    """
    names = _chosen(settings, asked)
    if not names:
        return
    run = GroupRun(settings, names)
    wanted = Asked(tuple(asked.partition or ()), asked.since, asked.until)
    if len(names) == 1:
        yield from _one(spark, settings, names[0], wanted, asked, run)
    else:
        yield from _several(spark, settings, names, wanted, asked, run)


def _one(
    spark: Spark, settings: Settings, name: str, wanted: Asked, asked: argparse.Namespace, run: GroupRun
) -> Iterator[StepResult | Published]:
    keys = asked_keys(settings.table(name), wanted)
    try:
        result = load_table(spark, settings, name, keys, part=asked.part, reload=asked.reload)
    except Exception:  # after any error, the groups of the table stay as they are
        run.failed(name)
        list(_published(run))
        raise
    run.add(result)
    yield replace(result, others=())
    yield from result.others
    problems = _undeleted([result])
    yield from _published(run, problems)
    _check_groups(problems)


def _several(
    spark: Spark, settings: Settings, names: list[str], wanted: Asked, asked: argparse.Namespace, run: GroupRun
) -> Iterator[StepResult | Published]:
    if asked.part:
        raise PipelineError(f"--part {asked.part} needs one table: {len(names)} are chosen")
    divided = [name for name in names if settings.table(name).partitions is not None]
    if wanted and not divided:
        raise PipelineError(f"none of the {len(names)} chosen tables has partitions: load them as a whole")
    keys_of = {name: asked_keys(settings.table(name), wanted) for name in divided}
    for name in names if wanted else ():
        if name not in divided:
            _say(f"{name} has no partitions: it is loaded as a whole")
    failed: dict[str, Exception] = {}
    problems: dict[str, str] = {}
    for one in load_several(spark, settings, names, keys_of, reload=asked.reload):
        run.add(one)
        if isinstance(one, NotLoaded):
            failed[one.table] = one.error
            told = one.reason.removeprefix(f"{one.table}: ")  # most reasons of PipelineError begin with the table
            _say(f"{one.table}: {told}")
            yield from one.results
        else:
            yield replace(one, others=())
            yield from one.others
            problems |= _undeleted([one])
    yield from _published(run, problems)
    if failed:
        raise TablesFailed(f"{len(failed)} of {len(names)} tables were not loaded: {', '.join(failed)}", (), failed)
    _check_groups(problems)


_UNPUBLISHED = "the tables were loaded, but a group was not published"
_UNDELETED = "the tables were loaded and the group was published, but its old versions were not deleted"


def _check_groups(problems: Mapping[str, str]) -> None:
    """Raise TablesFailed for groups that were not published, or whose old versions were not deleted."""
    if problems:
        kinds = dict.fromkeys(problems.values())
        parts = [f"{kind}: {', '.join(name for name, own in problems.items() if own == kind)}" for kind in kinds]
        raise TablesFailed("; ".join(parts), (), {name: PipelineError(kind) for name, kind in problems.items()})


def _undeleted(results: Iterable[StepResult]) -> dict[str, str]:
    return {one.table: _UNDELETED for one in results if one.details.get(NOT_DELETED)}


def _published(run: GroupRun, problems: dict[str, str] | None = None) -> Iterator[Published]:
    """Yield the groups that the run publishes; tell on the error output which ones it does not, and which failed
    afterwards. Groups that the run should have published, and those that failed afterwards, are added to ``problems``.
    """
    for one in run.published():
        if isinstance(one, Published):
            yield one
            if one.not_deleted:
                _say(f"group {one.group}: {one.problem()}")
            if one.not_deleted and problems is not None:
                problems[one.group] = _UNDELETED
            continue
        _say(one.sentence())
        if one.is_failure and problems is not None:
            problems[one.group] = _UNPUBLISHED


def _chosen(settings: Settings, asked: argparse.Namespace) -> list[str]:
    """Return the tables to load, in the order of their inputs; tables without a source are named and left out, unless
    only one table is chosen.
    """
    if not settings.tables:
        raise PipelineError(nothing_declared(settings))
    if asked.all == bool(asked.table):
        wrong = f"--all loads every table: remove it, or {' '.join(asked.table)}" if asked.table else ""
        raise PipelineError(wrong or "name the tables to load, as in `paimon-lake load shop.orders`, or write --all")
    if asked.all and asked.downstream:
        raise PipelineError("--downstream has no effect with --all, which loads every table: remove one of them")
    if asked.all and asked.state is not None:
        raise PipelineError("--state has no effect with --all, which loads every table: remove one of them")
    names = list(settings.tables) if asked.all else chosen(settings, asked)
    if not names:
        _say(f"nothing to load: no definition differs from {asked.state}")
    if asked.downstream:
        names = list(with_readers(settings.tables, names))
    names = ordered(settings.tables, names)
    loaded = [name for name in names if settings.table(name).has_loads]
    if not loaded and len(names) > 1:
        raise PipelineError(f"none of the {len(names)} chosen tables has a source, so they cannot be loaded")
    for name in names if loaded else ():
        if name not in loaded:
            _say(f"{name} has no source: it is not loaded")
    return loaded or names


def _say(text: str) -> None:
    print(f"paimon-lake load: {text}", file=sys.stderr, flush=True)
