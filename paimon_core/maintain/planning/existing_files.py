"""existing_files: returns the files to delete that exist, so that plans and reports do not count deleted files.

An expiry reads the files to delete from manifests. The manifests also name files that an earlier run has deleted, for
example files that the first remaining snapshot deleted, or files of a run that was interrupted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from paimon_core.maintain.planning.plan import PlannedFile
from paimon_core.storage.storage import Storage

FEW = 8
"""Up to this number of files in one directory are checked one by one; if there are more, the directory is listed."""


def existing_files(storage: Storage, files: Iterable[PlannedFile]) -> tuple[PlannedFile, ...]:
    """Return the files that exist now, in the given order; lists each directory at most once."""
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
