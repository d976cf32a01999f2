"""Source files: the files of a source as its declaration names them, and their format. Needs no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipelines.lake import Settings
from pipelines.lake.sources import FilesSource
from pipelines.protocol import PipelineError
from pipelines.sources.files.formats import FileFormat, file_format
from pipelines.sources.files.listing import SourceFile, list_files, partition_files


def source_files(settings: Settings, source: FilesSource, partitions: Sequence[str] | None) -> list[SourceFile]:
    """List the files of a source, sorted by path: those of the partitions when the path has a place for them.

    Where ``source.path`` is relative, ledgers name the files by their paths from the folder of the declarations.
    """
    pattern = source.path
    is_relative = "://" not in pattern and not pattern.startswith("/")
    if is_relative:
        pattern = _escaped(f"{settings.folder}/") + pattern
    options = settings.storage_for(pattern)
    if partitions is not None and "{" in source.path:
        found = partition_files(pattern, partitions, options)
    else:
        found = list_files(pattern, options)
    start = f"{settings.folder}/"
    return [replace(file, name=file.path.removeprefix(start)) for file in found] if is_relative else found


def _escaped(path: str) -> str:
    """Return the text of a path as a pattern that matches only this path."""
    return path.replace("{", "{{").replace("}", "}}")


def file_kind(source: FilesSource) -> FileFormat:
    """Return the format of the files of a source with its options; raises PipelineError for a wrong option."""
    return file_format(source.format or _ending(source.path), source.options)


def _ending(path: str) -> str:
    """Return the kind of files that a path names by its ending; raises PipelineError when it names none."""
    parts = path.rsplit("/", 1)[-1].lower().split(".")
    for part in reversed(parts[1:]):
        if part in ("csv", "json", "jsonl", "parquet", "orc", "avro"):
            return part
    raise PipelineError(f"source.path {path!r} does not end in the name of a format: set source.format")
