"""Query text: the query of a table with a sql source, and its place in the files of the lake."""

from __future__ import annotations

from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.tables import place_of
from paimon_lake.declarations.sources.source import SqlSource
from paimon_lake.protocol import PipelineError


def query_text(settings: Settings, spec: TableSpec) -> str:
    """Return the query of a table with a sql source; raises PipelineError when the query file cannot be read."""
    source = spec.source
    assert isinstance(source, SqlSource)
    if not source.file:
        return source.query
    path = settings.folder / source.file
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise PipelineError(f"{spec.name}: the query {path} cannot be read: {why}") from None


def query_place(settings: Settings, spec: TableSpec) -> str:
    """Return the file and line of the query in the declaration, and the path of the query file, if there is one."""
    source = spec.source
    assert isinstance(source, SqlSource)
    place = place_of(settings, spec.name, (*spec.source_key, "file" if source.file else "query"))
    return f"{place}: {source.file}" if source.file else place
