"""Source files: fetch and list the files of a source, and find their format, without Spark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from paimon_lake.declarations import Settings, SettingsError, TableSpec
from paimon_lake.declarations.lake.functions import function_of
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.fetch_step import FetchStep
from paimon_lake.sources.files.formats import FileFormat, file_format
from paimon_lake.sources.files.listing import SourceFile, list_files, partition_files
from paimon_lake.sources.files.pattern import parse_pattern


def source_files(settings: Settings, source: FilesSource, partitions: Sequence[str] | None) -> list[SourceFile]:
    """List the files of a source, sorted by path; only the files of ``partitions`` when the path has a placeholder.

    When ``source.path`` is relative, the ledger contains relative paths as well, so that the folder can be moved.
    """
    pattern = parse_pattern(source.path)
    root = os.path.abspath(settings.landing if source.fetch else settings.folder)
    is_relative = not pattern.root and not pattern.is_absolute
    if is_relative:
        pattern = pattern.below(root)
    options = settings.storage_for(source.path)
    if partitions is not None and "{" in source.path:
        found = partition_files(pattern, partitions, options)
    else:
        found = list_files(pattern, options)
    if not is_relative:
        return found
    return [replace(file, name=os.path.relpath(file.ledger_name, root)) for file in found]


def fetch_files(settings: Settings, spec: TableSpec, source: FilesSource, partitions: Sequence[str] | None) -> None:
    """Call the function ``source.fetch``, if it is declared; errors of the function are not caught.

    Raises PipelineError when the declared function does not exist.
    """
    if not source.fetch:
        return
    try:
        function = function_of(source.fetch, settings.folder, ("step",))
        landing = settings.landing.absolute()
    except SettingsError as error:
        raise PipelineError(f"{spec.name}: {error}") from None
    function(FetchStep(spec.name, None if partitions is None else tuple(partitions), settings.folder, landing))


def file_kind(source: FilesSource) -> FileFormat:
    """Return the format of the files of a source with its options; raises PipelineError for a wrong option."""
    return file_format(source.format or _ending(source.path), source.options)


def _ending(path: str) -> str:
    """Return the format in the ending of a path, such as ``csv``; raises PipelineError when no ending is a format."""
    parts = path.rsplit("/", 1)[-1].lower().split(".")
    for part in reversed(parts[1:]):
        if part in ("csv", "json", "jsonl", "parquet", "orc", "avro"):
            return part
    raise PipelineError(f"source.path {path!r} does not end in the name of a format: set source.format")
