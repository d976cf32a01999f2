"""relocate: moves the files of a table to another directory; an interrupted move can be completed."""

from __future__ import annotations

import contextlib

from paimon_core.errors import UnsupportedFeature
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import Storage


def relocate(storage: Storage, source: str, target: str) -> None:
    """Move all files below ``source`` to ``target``.

    A store that can rename directories moves them in one atomic step. On other stores, the files are moved one by one,
    the schemas of branch main last. So ``target`` can be opened as a table only when it is complete, and ``source`` has
    its schemas until then. Raises StorageError; repeating the call continues the move.
    """
    with contextlib.suppress(UnsupportedFeature):
        storage.move_directory(source, target)
        return
    schemas = TablePaths(source).schema_directory + "/"
    files = sorted((f.path for f in storage.walk(source)), key=lambda path: (path.startswith(schemas), path))
    for path in files:
        with contextlib.suppress(FileNotFoundError):  # an earlier call has moved the file
            storage.move(path, target + path.removeprefix(source))
    storage.delete_directory(source)
