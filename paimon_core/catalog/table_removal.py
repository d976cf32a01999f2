"""Table removal: deletes the files of a table. The same call completes an interrupted removal.

A drop first writes a mark file into the schema directory: from then on, the table does not exist. Then the drop deletes
the schemas, the newest first, so that open handles and other engines do not find the table. Then it deletes the
branches, then all other files, and the mark last. When the directory of the table is a symbolic link, only the link is
deleted.
"""

from __future__ import annotations

import re

from paimon_core.metadata.stores.schema_store import DROPPED
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import FileInfo, Storage

_ROUNDS = 5
"""How often the directory is listed at most: each listing finds the files that concurrent writers added meanwhile."""
_TABLE_ONLY = re.compile(r"schema|snapshot|manifest|bucket-(\d+|postpone)")
"""Entries that occur only in the directory of a table."""
_PREFIXED = ("tag", "branch", "changelog", "consumer")
"""Directories of a table in which file names start with the name of the directory: ``tag/tag-x``."""
_ALSO_IN_TABLES = re.compile(r"tag|branch|changelog|consumer|index|statistics|quarantine|_SUCCESS|\..*")
"""Entries that may occur in the directory of a table, and also in other directories."""


def mark_dropped(storage: Storage, root: str) -> None:
    """Write the mark file, so that the table at ``root`` no longer exists.

    Do nothing when ``root`` is a symbolic link or has no files.
    """
    if is_link(storage, root) or not storage.list(root):
        return
    schemas = TablePaths(root).schema_directory
    if is_link(storage, schemas):
        storage.delete([schemas])
    confined(storage, root).overwrite(f"{schemas}/{DROPPED}", b"")


def dropped(storage: Storage, root: str) -> bool:
    """Drop the table at ``root``; return False when a concurrent drop or rename has already removed the table.

    When another process renames the table after the mark is written, the mark moves to the new path too. The rename
    then calls ``completed_drop``, which completes the drop at the new path.
    """
    schemas = TablePaths(root).schema_directory
    has_link = is_link(storage, root) or is_link(storage, schemas)
    mark_dropped(storage, root)  # deletes the link if the schema directory is one
    if not has_link and not _has_schema_file(storage, schemas):
        storage.delete([f"{schemas}/{DROPPED}"])
        for directory in (schemas, root):
            storage.remove_empty_directory(directory)
        return False
    remove_files(storage, root)
    return True


def completed_drop(storage: Storage, root: str) -> bool:
    """Complete a drop whose files a rename has moved to ``root``; return False when there is no drop to complete."""
    if _has_schema_file(storage, TablePaths(root).schema_directory) and not has_drop_mark(storage, root):
        return False
    remove_files(storage, root)
    return True


def _has_schema_file(storage: Storage, schemas: str) -> bool:
    return any(f.name.startswith("schema-") for f in storage.list(schemas))


def remove_files(storage: Storage, root: str) -> None:
    """Delete the files of a table after ``mark_dropped``, and files that writers add meanwhile; can be repeated."""
    if is_link(storage, root):
        storage.delete_directory(root)
        return
    inside, paths = confined(storage, root), TablePaths(root)
    schemas, mark = paths.schema_directory, f"{paths.schema_directory}/{DROPPED}"
    inside.delete(f.path for f in sorted(inside.list(schemas), key=_newest_first) if _is_file(f) and f.path != mark)
    for _ in range(_ROUNDS):
        left = [f for f in inside.list(root) if f.path != schemas]
        if not left:
            break
        for entry in sorted(left, key=lambda f: (f.path != paths.branch_directory, f.path)):
            _remove(inside, entry)
    for entry in inside.list(schemas):
        if entry.path != mark:
            _remove(inside, entry)
    inside.delete([mark])
    if not inside.remove_empty_directory(schemas) or not inside.remove_empty_directory(root):
        _remove_markers(inside, root)


def is_interrupted_drop(storage: Storage, root: str) -> bool:
    """Whether ``root`` contains only the remains of a table after an interrupted drop.

    True when the mark exists, and for an empty directory. A drop by another program leaves no mark: without a mark, the
    result is True when ``root`` contains no schema, only entries that may occur in tables, and at least one entry that
    occurs only in tables. False for a symbolic link and for a missing directory.
    """
    if is_link(storage, root) or not storage.exists(root):
        return False
    inside, paths = confined(storage, root), TablePaths(root)
    entries = inside.list(root)
    if not entries:
        return True
    schemas = [] if is_link(storage, paths.schema_directory) else inside.list(paths.schema_directory)
    if any(f.name == DROPPED for f in schemas):
        return True
    if any(f.name.startswith("schema-") for f in schemas):
        return False
    return any(_is_of_a_table(inside, f) for f in entries) and all(
        _ALSO_IN_TABLES.fullmatch(f.name) or _is_of_a_table(inside, f) for f in entries
    )


def has_drop_mark(storage: Storage, root: str) -> bool:
    """Whether a drop of the table at ``root`` has started: the mark exists."""
    return storage.exists(f"{TablePaths(root).schema_directory}/{DROPPED}")


def is_free(storage: Storage, root: str) -> bool:
    """Whether a new table may be created at ``root``: it contains no files of a former table."""
    inside = confined(storage, root)
    return not any(
        _is_of_a_table(inside, f) and (f.is_link or any(not i.name.startswith(".") for i in inside.walk(f.path)))
        for f in inside.list(root)
        if f.is_directory
    )


def _is_of_a_table(storage: Storage, entry: FileInfo) -> bool:
    if _TABLE_ONLY.fullmatch(entry.name):
        return True
    if entry.is_link or not entry.is_directory or not ("=" in entry.name or entry.name in _PREFIXED):
        return False
    first = next(iter(storage.walk(entry.path)), None)
    below = "" if first is None else first.path.removeprefix(entry.path)
    return "/bucket-" in below if "=" in entry.name else below.startswith(f"/{entry.name}-")


def _remove(storage: Storage, entry: FileInfo) -> None:
    if _is_file(entry):
        storage.delete([entry.path])
    else:
        storage.delete_directory(entry.path)


def _remove_markers(storage: Storage, root: str) -> None:
    """Delete the objects that represent directories on object stores, unless new files were added below ``root``."""
    if storage.exists(root) and next(iter(storage.walk(root)), None) is None:
        storage.delete_directory(root)


def _is_file(entry: FileInfo) -> bool:
    return entry.is_link or not entry.is_directory


def _newest_first(entry: FileInfo) -> tuple[int, str]:
    number = entry.name.removeprefix("schema-")
    return (-int(number) if number.isdecimal() and len(number) < 20 else 0, entry.name)


def is_link(storage: Storage, path: str) -> bool:
    """Whether the path is a symbolic link; lists the parent directory to find out."""
    return any(f.is_link for f in storage.list(path.rpartition("/")[0]) if f.path == path)
