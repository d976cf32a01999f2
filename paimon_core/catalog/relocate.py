"""relocate: the files of a table to another directory, so that a move that is cut short can be finished."""

from __future__ import annotations

import contextlib

from paimon_core.errors import UnsupportedFeature
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import Storage


def relocate(storage: Storage, source: str, target: str) -> None:
    """Move all files below ``source`` to ``target``: at once where the store can, else one by one, main's schemas last.

    So ``target`` is a table that can be opened only once it is whole, and ``source`` is told to be unfinished by its
    schemas. Raises StorageError; the same call again goes on.
    """
    with contextlib.suppress(UnsupportedFeature):
        storage.move_directory(source, target)
        return
    schemas = TablePaths(source).schema_directory + "/"
    files = sorted((f.path for f in storage.walk(source)), key=lambda path: (path.startswith(schemas), path))
    for path in files:
        with contextlib.suppress(FileNotFoundError):  # an earlier try has moved it
            storage.move(path, target + path.removeprefix(source))
    storage.delete_directory(source)
