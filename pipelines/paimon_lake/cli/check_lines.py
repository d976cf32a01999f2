"""Check lines: what the command check prints: how declarations, tables and sources differ."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from paimon_core.errors import PaimonError
from paimon_lake.checks import problems
from paimon_lake.cli.selectors import chosen
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.tables import disagreements
from paimon_lake.declarations.lake.groups import groups_of
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.differences import differences
from paimon_lake.loads.files.missing_files import missing_text
from paimon_lake.loads.files.path_rules import order_notes, path_problems
from paimon_lake.loads.files.source_files import file_kind, source_files
from paimon_lake.loads.groups.group_versions import shown_version
from paimon_lake.loads.groups.left_versions import left_versions
from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.loads.inputs.stale_text import stale_text
from paimon_lake.loads.parts.part_states import part_states
from paimon_lake.loads.postgres.left_slots import left_slots
from paimon_lake.protocol import PipelineError
from paimon_lake.query_analysis import query_problems
from paimon_lake.session import Spark
from paimon_lake.tables import open_lake


def check_lines(spark: Spark, settings: Settings, asked: argparse.Namespace) -> tuple[list[str], bool]:
    """Return the lines of ``check`` for the chosen tables (default: all), and whether no problem was found.

    Slots and versions of groups that are left over belong to no declared table: they are told when no table is named.
    Spark starts only for queries.
    """
    names = chosen(settings, asked)
    if not names:
        return [f"no definition differs from {asked.state}"], True
    lines = [*disagreements(settings, names), *(f"{name}: {text}" for name, text in _problems(settings, names))]
    lines += [f"{name} {text}" for name, texts in differences(settings, names).items() for text in texts]
    lines += query_problems(spark, settings, names)
    lines += [*_unloaded_parts(settings, names), *_stale(settings, names)]
    versions = [shown_version(settings, name) for name in groups_of(settings.groups, names)]
    lines += [f"group {one.group}: {text}" for one in versions for text in one.problems()]
    notes = [f"note: {one.sentence()}" for one in versions if one.version is None and not one.problems()]
    if asked.table is None:
        left = left_slots(settings)
        lines += [*left.problems, *left_versions(settings)]
        notes += [f"note: {text}" for text in left.notes]
    notes += [f"note: {name}: {text}" for name in names for text in order_notes(settings.table(name))]
    if not lines:
        lines = [f"{_counted(len(names))} with {'its declaration' if len(names) == 1 else 'their declarations'}"]
        return [*lines, *notes], True
    return [*lines, *notes], False


def _counted(count: int) -> str:
    return "1 table agrees" if count == 1 else f"{count} tables agree"


def _problems(settings: Settings, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (table, problem) for each problem of the declared checks and of the paths of sources."""
    for name in names:
        spec = settings.table(name)
        yield from ((name, text) for text in problems(spec))
        for one in load_specs(spec):
            if isinstance(one.source, FilesSource):
                yield from ((one.load_name, text) for text in _file_problems(settings, one, one.source))


def _file_problems(settings: Settings, spec: TableSpec, source: FilesSource) -> Iterator[str]:
    try:
        file_kind(source)
        yield from path_problems(spec)
        if not source.fetch and not source_files(settings, source, None):
            yield missing_text(settings, source)
    except PipelineError as error:
        yield str(error)


def _unloaded_parts(settings: Settings, names: Sequence[str]) -> Iterator[str]:
    """Yield one line for each part that was never loaded, if another part of the same table was loaded."""
    catalog = open_lake(settings)
    for name in names:
        spec = settings.table(name)
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


def _stale(settings: Settings, names: Sequence[str]) -> Iterator[str]:
    """Yield one line for each table with stale partitions, and for each table whose ledger cannot be read."""
    for name in names:
        try:
            found = stale_now(settings, name)
        except (PaimonError, PipelineError) as error:
            yield f"{name}: whether partitions are stale is not known: {error}"
            continue
        if found:
            yield f"{name} is stale: {stale_text(found)}; load them again"
