"""Missing files: why a source of files has no file, with the part of its path that does not exist."""

from __future__ import annotations

import os
from pathlib import Path

from paimon_lake.declarations import Settings
from paimon_lake.declarations.errors import nearest
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.declarations.yaml_file import shown
from paimon_lake.sources.files.listing import escaped
from paimon_lake.sources.files.pattern import PathPattern, parse_pattern


def names_one_file(source: FilesSource) -> bool:
    """Whether the path of a source has no wildcard and no placeholder, and does not end with ``/``.

    Raises PipelineError for a wrong path.
    """
    pattern = parse_pattern(source.path)
    return not pattern.is_directory and len(pattern.literal_prefix()) == len(pattern.components)


def missing_text(settings: Settings, source: FilesSource) -> str:
    """Return a sentence about a source of which no file was listed; raises PipelineError for a wrong path.

    For a path on the local disk it names the first part that does not exist, and a similar name beside this part.
    """
    pattern = parse_pattern(source.path)
    path = f"source.path {source.path}"
    text = f"{path} does not exist" if names_one_file(source) else f"no file matches {path}"
    if pattern.root:
        return text
    if not pattern.is_absolute:
        pattern = pattern.below(os.path.abspath(settings.landing if source.fetch else settings.folder))
    return text + _reason(pattern)


def _reason(pattern: PathPattern) -> str:
    """Return why the path leads to no file as the end of a sentence; "" when all literal parts of the path exist."""
    folder, names = Path("/"), pattern.literal_prefix()
    for number, name in enumerate(names):
        path, is_last = folder / name, number == len(pattern.components) - 1
        if is_last and path.is_symlink():
            return ": it is a symbolic link, which loads leave out: name the file to which it points"
        if not path.exists():
            return f": {escaped(shown(folder))} has no {escaped(name)}{nearest(name, _names(folder))}"
        folder = path
    return ": the folder has no files" if len(names) == len(pattern.components) else ""


def _names(folder: Path) -> list[str]:
    try:
        return sorted(escaped(entry.name) for entry in folder.iterdir())
    except OSError:
        return []
