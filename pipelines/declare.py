"""Declarations and tables: what differs between them, the tables that are missing, and columns read from a source."""

from __future__ import annotations

import re
from pathlib import Path

from paimon_core.table.table import Table
from paimon_core.types import parse_type
from pipelines.column_types import type_object
from pipelines.lake import Settings, TableSpec
from pipelines.lake.sources import FilesSource
from pipelines.load.files import file_kind, source_files
from pipelines.protocol import PipelineError
from pipelines.sources.files.inference import infer_columns
from pipelines.sources.files.splits import plan_splits
from pipelines.tables import open_lake, open_table

_COLUMNS = re.compile(r"^columns:[ \t]*(infer[ \t]*)?(#.*)?$", re.MULTILINE)
_INFERRED_FROM = 3
"""The number of files that columns are inferred from."""


def differences(settings: Settings) -> dict[str, list[str]]:
    """Return for each declared table how it differs from its declaration, in sentences; [] when it agrees."""
    catalog = open_lake(settings)
    return {
        name: _differences(spec, catalog.table(name))
        if catalog.table_exists(name)
        else ["is not in the lake: apply creates it" if spec.columns else "has no columns: infer writes them down"]
        for name, spec in settings.tables.items()
    }


def create_missing(settings: Settings) -> list[str]:
    """Create the declared tables that are not in the lake; return their names.

    Raises PipelineError, before anything is created, for a table that differs from its declaration, because tables
    cannot be altered yet, and for one without columns.
    """
    catalog = open_lake(settings)
    missing = [name for name in settings.tables if not catalog.table_exists(name)]
    for name, found in differences(settings).items():
        if name not in missing and found:
            raise PipelineError(f"{name} {found[0]}: tables cannot be altered yet; change the declaration back")
        if name in missing and not settings.table(name).columns:
            raise PipelineError(f"{name} has no columns: `python -m pipelines infer --table {name}` writes them down")
    for name in missing:
        open_table(settings, name, create=True)
    return missing


def infer(settings: Settings, name: str) -> dict[str, str]:
    """Infer the columns of a table from its first files, write them into its declaration, and return them.

    Raises PipelineError for a table that has columns or no source of files, and when there are no files.
    """
    spec = settings.table(name)
    if spec.columns:
        raise PipelineError(f"{name} has columns already: remove them, or write `columns: infer`")
    if not isinstance(spec.source, FilesSource):
        raise PipelineError(f"{name}: columns can be inferred from files only; write them down")
    files = source_files(settings, spec.source, None)
    if not files:
        raise PipelineError(f"{name}: no file matches {spec.source.path}")
    kind, options = file_kind(spec.source), settings.storage_for(spec.source.path)
    columns: dict[str, str] = {}
    for split in plan_splits(files[:_INFERRED_FROM], kind):
        if split.start == 0:
            found = infer_columns(split, kind, options)
            columns |= {column: _common_type(columns.get(column, text), text) for column, text in found.items()}
    columns = {spec.source.rename.get(column, column): kind for column, kind in columns.items()}
    columns |= {column: "STRING" for column in spec.source.add if column not in columns}
    _write_columns(settings.folder / "tables" / f"{name}.yaml", columns)
    return columns


def _common_type(one: str, other: str) -> str:
    """Return the type of a column that has two types in two files: numbers become DOUBLE, other types STRING."""
    if one == other:
        return one
    return "DOUBLE" if {one, other} == {"BIGINT", "DOUBLE"} else "STRING"


def _write_columns(path: Path, columns: dict[str, str]) -> None:
    """Put the columns in the place of ``columns: infer``, or before the other keys of the file."""
    text = path.read_text(encoding="utf-8")
    lines = "columns:\n" + "".join(f"  {_key(name)}: {kind}\n" for name, kind in columns.items())
    found = _COLUMNS.search(text)
    if found is not None:
        text = text[: found.start()] + lines.rstrip("\n") + text[found.end() :]
    else:
        text = lines + text
    path.write_text(text, encoding="utf-8")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) and name.lower() not in _WORDS else f'"{name}"'


_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
"""Texts that YAML reads as another value."""


def _differences(spec: TableSpec, table: Table) -> list[str]:
    found = []
    have = {field.name: field.type for field in table.schema.fields}
    for column, text in spec.columns.items():
        if column not in have:
            found.append(f"has no column {column}, which is declared as {text}")
            continue
        declared = parse_type(type_object(text))
        if declared.to_arrow() != have[column].to_arrow():
            found.append(f"has column {column} as {have[column]}, and it is declared as {text}")
    found += [
        f"has column {column}, which is not declared" for column in have if spec.columns and column not in spec.columns
    ]
    for role, declared_names, names in (
        ("primary key", spec.primary_key, table.schema.primary_keys),
        ("partition columns", spec.partition_by, table.schema.partition_keys),
    ):
        if tuple(declared_names) != tuple(names):
            found.append(f"has the {role} ({', '.join(names)}), and ({', '.join(declared_names)}) is declared")
    for option, value in spec.table_options.items():
        if (present := table.schema.options.get(option)) != value:
            found.append(f"has option {option} = {present}, and {value} is declared")
    return found
