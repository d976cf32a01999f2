"""Emptied directories: buckets and partitions that lost their last file (option snapshot.clean-empty-directories)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from paimon_core.metadata.context import TableContext


def remove_emptied(context: TableContext, deleted: Iterable[str]) -> int:
    """Remove the directories of deleted data files that have nothing left in them, and their parents; how many.

    One that cannot be removed stays: somebody may write into it. A writer that is just about to may have to try again.
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
