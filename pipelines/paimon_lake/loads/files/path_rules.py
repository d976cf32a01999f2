"""Path rules: whether a placeholder such as ``{date}`` in the path of a source fits the partitions of its table."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.sources.files.pattern import BY, DEFAULTS, parse_pattern

_WORDS = {by: word for word, by in BY.items()}


def path_problems(spec: TableSpec) -> Iterator[str]:
    """Yield a sentence for each contradiction between the path and the partitions.

    Raises PipelineError for a wrong path.
    """
    source, partitions = spec.source, spec.partitions
    if not isinstance(source, FilesSource):
        return
    word = parse_pattern(source.path).word
    wanted = _WORDS.get(partitions.by, "name") if partitions is not None else ""
    if partitions is None:
        if word is not None and "partition" not in source.add.values():
            advice = f"declare them by {BY.get(word, 'dynamic')}, or write *"
            yield f"source.path has the placeholder {{{word}}}, and the table has no partitions: {advice}"
    elif word is None:
        yield f"source.path {source.path} has no placeholder for partitions by {partitions.by}, such as {{{wanted}}}"
    elif partitions.by_time and word != wanted:
        yield (
            f"source.path has the placeholder {{{word}}}, and the partitions are by {partitions.by}: write {{{wanted}}}"
        )
    elif not partitions.by_time and word in DEFAULTS:
        yield (
            f"source.path has the placeholder {{{word}}}, a time, and the partitions are {partitions.by}: "
            "write {name}"
        )
    if word is None and source.late == "tell":
        yield "source.late needs a placeholder in source.path: without one, no file is late"


def order_notes(spec: TableSpec) -> Iterator[str]:
    """Yield a note for a table whose content depends on the order in which its partitions are loaded."""
    partitions = spec.partitions
    if not isinstance(spec.source, FilesSource) or partitions is None or not partitions.by_time:
        return
    ordered = spec.order_by or "sequence.field" in spec.options or spec.write_mode not in ("upsert", "changes")
    if not ordered and partitions.column not in spec.primary_key:
        yield (
            f"a {partitions.by} that is loaded after a later one, such as a late file, puts its rows in place of newer "
            "rows with the same key: give the table a column that source.add fills with the partition, and order_by it"
        )
