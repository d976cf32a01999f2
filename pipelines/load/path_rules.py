"""Path rules: whether the places in the path of a source fit the partitions of its table."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.lake import TableSpec
from pipelines.lake.sources import FilesSource
from pipelines.sources.files.pattern import BY, DEFAULTS, parse_pattern

_WORDS = {by: word for word, by in BY.items()}


def path_problems(spec: TableSpec) -> Iterator[str]:
    """Yield what is wrong between the path of a source of files and the partitions; raises PipelineError for a path."""
    source, said = spec.source, spec.partitions
    if not isinstance(source, FilesSource):
        return
    word = parse_pattern(source.path).word
    wanted = _WORDS.get(said.by, "name") if said is not None else ""
    if said is None:
        if word is not None and "partition" not in source.add.values():
            advice = f"declare them by {BY.get(word, 'dynamic')}, or write *"
            yield f"source.path has the place {{{word}}}, and the table has no partitions: {advice}"
    elif word is None:
        yield f"source.path {source.path} has no place for the partitions by {said.by}, such as {{{wanted}}}"
    elif said.by_time and word != wanted:
        yield f"source.path has the place {{{word}}}, and the partitions are by {said.by}: write {{{wanted}}}"
    elif not said.by_time and word in DEFAULTS:
        yield f"source.path has the place {{{word}}}, a time, and the partitions are {said.by}: write {{name}}"
    if word is None and source.late == "tell":
        yield "source.late needs a place in source.path: without one, no file is late"
