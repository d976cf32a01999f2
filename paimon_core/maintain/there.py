"""there: those of the files to delete that exist, so that plans and reports count nothing that is gone already.

What an expiry deletes is worked out from manifests, which also tell of files that an earlier run has deleted: of the
first snapshot that was left then, or of all of it when that run was cut short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from paimon_core.maintain.plan import PlannedFile
from paimon_core.storage.storage import Storage

FEW = 8
"""Files of one directory that are looked up one by one; for more, the directory is listed."""


def there(storage: Storage, files: Iterable[PlannedFile]) -> tuple[PlannedFile, ...]:
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
