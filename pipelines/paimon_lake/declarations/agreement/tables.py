"""Agreement: the rules across the files of a lake, for example that inputs are declared and form no cycle."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from paimon_lake.declarations.agreement.key_from import key_from_disagreements
from paimon_lake.declarations.agreement.lookups import lookup_disagreements
from paimon_lake.declarations.errors import Key, SettingsError, nearest
from paimon_lake.declarations.lake.databases import database_problems
from paimon_lake.declarations.lake.functions import function_of
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.settings import Settings
from paimon_lake.declarations.sources.lake_table import followed_tables
from paimon_lake.declarations.sources.lookup import lookups_of
from paimon_lake.declarations.sources.source import FilesSource, PythonSource, Source, SqlSource
from paimon_lake.declarations.table import TableSpec
from paimon_lake.declarations.tables.partitions import Partitions
from paimon_lake.declarations.yaml_file import read_yaml, shown

_FINER = {"hour": {"hour", "day", "week", "month"}, "day": {"day", "week", "month"}, "week": {"week"}}


def disagreements(settings: Settings, names: Collection[str] | None = None) -> list[str]:
    """Return a sentence for each broken rule across files of the tables ``names`` (None: all).

    To check it, import the declared Python files.
    """
    found = early_disagreements(settings)
    for name in sorted(settings.tables if names is None else names):
        for spec in load_specs(settings.tables[name]):
            found += [_said(settings, name, key, text) for key, text in _of_table(settings, spec)]
    return found


def early_disagreements(settings: Settings) -> list[str]:
    """Return a sentence for each broken rule that needs only the declarations.

    ``load_settings`` raises an error with the first of these sentences.
    """
    tables = settings.tables
    rules = (
        *_names(tables),
        *_inputs(tables),
        *lookup_disagreements(tables),
        *key_from_disagreements(tables),
        *_cycles(tables),
        *_query_files(tables),
        *database_problems(tables, settings.postgres),
    )
    return [_said(settings, *one) for one in rules]


Rule = tuple[str, tuple[str, ...], str]
"""A table, the key in its declaration, and a text about the broken rule."""


def inputs_of(spec: TableSpec) -> tuple[str, ...]:
    """Return the tables of the lake from which a table, with all of its parts, is made."""
    sources = [spec.source, *(part.source for part in spec.parts.values())]
    found = [one for source in sources if isinstance(source, SqlSource | PythonSource) for one in source.inputs]
    followed = [one for source in sources for one in followed_tables(source)]
    return tuple(dict.fromkeys((*found, *followed)))


def tables_before(spec: TableSpec) -> tuple[str, ...]:
    """Return the tables that are loaded before a table: its inputs, and the tables that it looks up."""
    looked_up = [lookup.table for one in load_specs(spec) for lookup in lookups_of(one.source)]
    return tuple(dict.fromkeys((*inputs_of(spec), *looked_up)))


def _names(tables: Mapping[str, TableSpec]) -> Iterator[Rule]:
    folded: dict[str, str] = {}
    databases: dict[str, str] = {}
    rejects: dict[str, str] = {}
    for name, spec in sorted(tables.items()):
        database = name.partition(".")[0]
        if (other := folded.setdefault(name.casefold(), name)) != name:
            yield name, (), f"the name differs from {other} only by case: some file systems treat both as one"
        elif databases.setdefault(database.casefold(), database) != database:
            yield name, (), f"the database {database} differs from {databases[database.casefold()]} only by case"
        for refused in [one.rejects_table for one in load_specs(spec)] or [spec.rejects_table]:
            if refused in tables:
                yield name, ("rejects", "table"), f"the table of rejected rows, {refused}, is declared as a table"
            if (other := rejects.setdefault(refused.casefold(), name)) != name:
                text = f"the rejected rows go to {refused}, like the rejected rows of {other}"
                yield name, ("rejects", "table"), text


def _inputs(tables: Mapping[str, TableSpec]) -> Iterator[Rule]:
    rejects = {one.rejects_table for spec in tables.values() for one in load_specs(spec) or (spec,)}
    for name, spec in sorted(tables.items()):
        for loaded in load_specs(spec):
            key = (*loaded.source_key, "inputs")
            inputs = loaded.source.inputs if isinstance(loaded.source, SqlSource | PythonSource) else ()
            yield from ((name, key, f"{'.'.join(key)} names {text}") for text in _wrong_inputs(inputs, tables, rejects))


def _wrong_inputs(inputs: Sequence[str], tables: Mapping[str, TableSpec], rejects: Collection[str]) -> Iterator[str]:
    for one in inputs:
        if one not in tables and one in rejects:
            yield f"{one}: tables of rejects cannot be inputs yet"
        elif one not in tables:
            yield f"{one}, which is not declared{nearest(one, list(tables))}"
        elif inputs.count(one) > 1:
            yield f"{one} twice"
            break


def _cycles(tables: Mapping[str, TableSpec]) -> Iterator[Rule]:
    """Yield each cycle of inputs and lookups once. The function is not recursive, because a chain may be long."""
    done: set[str] = set()
    for start in sorted(tables):
        path: list[str] = []
        waiting: list[tuple[str, int]] = [(start, 0)]
        while waiting:
            name, depth = waiting.pop()
            del path[depth:]
            if name in path:
                cycle = [*path[path.index(name) :], name]
                made = next(one for one in load_specs(tables[cycle[0]]) if cycle[1] in tables_before(one))
                key, what = ("inputs", "inputs") if cycle[1] in inputs_of(made) else ("lookup", "lookups")
                yield cycle[0], (*made.source_key, key), f"the {what} form a cycle: {' <- '.join(cycle)}"
                continue
            if name in done:
                continue
            done.add(name)
            path.append(name)
            waiting += [(one, depth + 1) for one in sorted(tables_before(tables[name]), reverse=True) if one in tables]


def _query_files(tables: Mapping[str, TableSpec]) -> Iterator[Rule]:
    for name, spec in sorted(tables.items()):
        for one in load_specs(spec):
            file, key = one.source.file if isinstance(one.source, SqlSource) else "", (*one.source_key, "file")
            if file.startswith("/") or "\0" in file:
                yield name, key, f"{'.'.join(key)}: {file!r:.80} must be a path relative to the folder"


def _of_table(settings: Settings, spec: TableSpec) -> Iterator[tuple[tuple[str, ...], str]]:
    source = spec.source
    if isinstance(source, SqlSource) and source.file and not (settings.folder / source.file).is_file():
        key = (*spec.source_key, "file")
        yield key, f"{'.'.join(key)}: {shown(settings.folder / source.file)} does not exist"
    for what, text, parameters in _functions(source):
        try:
            function_of(text, settings.folder, parameters)
        except SettingsError as error:
            key = (*spec.source_key, what)
            yield key, f"{'.'.join(key)}: {error}"
    if isinstance(source, SqlSource) and source.read in ("whole", "changes"):
        return
    for name in inputs_of(spec):
        given = settings.tables[name].partitions if name in settings.tables else None
        if given is not None and spec.partitions is not None and (why := mismatch(given, spec.partitions)):
            yield ("partitions",), f"the partitions do not fit the partitions of the input {name}: {why}"


def _functions(source: Source | None) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield (key, ``module:function``, parameters) for each function that a source names."""
    if isinstance(source, PythonSource):
        yield "function", source.function, ("spark", "step")
    if isinstance(source, FilesSource) and source.fetch:
        yield "fetch", source.fetch, ("step",)


def mismatch(of_input: Partitions, wanted: Partitions) -> str:
    """Return why the partitions of a table cannot be made from the partitions of an input; "" when they can."""
    if of_input.by_time and wanted.by_time:
        if wanted.by not in _FINER.get(of_input.by, {of_input.by}):
            return f"a {wanted.by} is not made of whole {of_input.by}s"
        if of_input.timezone != wanted.timezone:
            return f"their time zones are {wanted.timezone} and {of_input.timezone}"
        return ""
    if of_input.by != wanted.by:
        return f"they are {wanted.by} and {of_input.by}"
    missing = [value for value in wanted.values if value not in of_input.values]
    return f"the input has no partition {missing[0]!r:.40}" if missing else ""


def place_of(settings: Settings, table: str, key: Key) -> str:
    """Return file and line of a key in the declaration of a table."""
    return read_yaml(settings.folder / "tables" / f"{table}.yaml").place(key)


def _said(settings: Settings, table: str, key: tuple[str, ...], text: str) -> str:
    return f"{place_of(settings, table, key)}: {text}"
