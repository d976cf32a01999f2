"""Empty directories: removes buckets and partitions without files (option snapshot.clean-empty-directories)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from paimon_core.metadata.context import TableContext


def remove_empty_directories(context: TableContext, deleted: Iterable[str]) -> int:
    """Remove those directories of deleted data files that are empty now, then their parents that are empty then.

    Return the number of removed directories. Never removes the root. A directory that cannot be removed is kept,
    because a concurrent writer may have created a file in it. A writer that is about to create its first file in a
    removed directory has to create the directory again.
    """
    root, removed = context.paths.root, 0
    waiting = {path.rsplit("/", 1)[0] for path in deleted}
    while waiting:
        directory = max(waiting, key=lambda d: d.count("/"))
        waiting.discard(directory)
        if not directory.startswith(f"{root}/"):
            continue
        with contextlib.suppress(OSError):
            if context.storage.remove_empty_directory(directory):
                removed += 1
                waiting.add(directory.rsplit("/", 1)[0])
    return removed
