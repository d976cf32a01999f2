"""Changed: the tables whose definitions differ from those of an earlier folder of declarations."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from paimon_lake.declarations import Settings, load_settings
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.sources.source import FilesSource, PythonSource, SqlSource
from paimon_lake.declarations.table import TableSpec
from paimon_lake.query_text import query_text
from paimon_lake.steps.compiled import compiled


def changed_tables(settings: Settings, state: str | Path) -> list[str]:
    """Return the tables that the folder ``state`` does not declare, or declares otherwise.

    Whole definitions are compared, as `paimon-lake compile` prints them, so the form and the order of the keys do not
    count; and the texts of query files and of the files of functions. The order of loads, groups, the settings of the
    environment, and files that functions import are not compared. ``state`` is read in the same environment. Raises
    SettingsError for a folder that cannot be read, and PipelineError for a query file that cannot be read.
    """
    earlier = load_settings(settings.environment, configs=state)
    return [
        name
        for name in settings.tables
        if name not in earlier.tables or _definition(settings, name) != _definition(earlier, name)
    ]


def _definition(settings: Settings, name: str) -> dict[str, Any]:
    found = compiled(settings, name)
    del found["order"], found["groups"]
    return {**found, "texts": [_text(settings, spec) for spec in load_specs(settings.table(name))]}


def _text(settings: Settings, spec: TableSpec) -> str:
    """Return the query of a source, or a checksum of the file of its function; "" for other sources."""
    match spec.source:
        case SqlSource():
            return query_text(settings, spec)
        case PythonSource(function=function):
            return _checksum(settings, function)
        case FilesSource(fetch=fetch) if fetch:
            return _checksum(settings, fetch)
    return ""


def _checksum(settings: Settings, function: str) -> str:
    """Return the checksum of the file of ``module:function``; "" for a module that is not in the folder."""
    stem = settings.folder / Path(*function.partition(":")[0].split("."))
    file = next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)
    return "" if file is None else hashlib.sha256(file.read_bytes()).hexdigest()
