"""existing_files: the files to delete that exist, so that plans and reports count no file that is gone already.

An expiry finds the files to delete in manifests. Manifests also name files that an earlier run deleted: those of the
first snapshot that it left, or all of them when that run was interrupted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from paimon_core.maintain.planning.plan import PlannedFile
from paimon_core.storage.storage import Storage

FEW = 8
"""Files of one directory that are looked up one by one; for more, the directory is listed."""


def existing_files(storage: Storage, files: Iterable[PlannedFile]) -> tuple[PlannedFile, ...]:
    """The files that exist now, in the order given; costs at most one listing a directory."""
    wanted = tuple(files)
    by_directory: defaultdict[str, list[str]] = defaultdict(list)
    for file in wanted:
        by_directory[file.path.rpartition("/")[0]].append(file.path)
    found: set[str] = set()
    for directory, paths in by_directory.items():
        if len(paths) <= FEW:
            found.update(filter(storage.exists, paths))
        else:
            found.update(entry.path for entry in storage.list(directory))
    return tuple(f for f in wanted if f.path in found)
