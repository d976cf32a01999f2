"""Removal of a table's files, so that a drop that is cut short is no table, and the same call again finishes it.

A mark beside the schemas comes first: from then on the table is not there. The schemas go next, newest first, so open
handles and other engines find no table either; then the branches, the rest, and the mark last. Of a table directory
that is a symbolic link only the link goes.
"""

from __future__ import annotations

import re

from paimon_core.metadata.schema_store import DROPPED
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import FileInfo, Storage

_ROUNDS = 5
_SURE = re.compile(r"schema|snapshot|manifest|bucket-(\d+|postpone)")
"""Entries that only the directory of a table has."""
_NAMED = ("tag", "branch", "changelog", "consumer")
"""Directories whose files a table calls after the directory: ``tag/tag-x``."""
_USUAL = re.compile(r"tag|branch|changelog|consumer|index|statistics|quarantine|_SUCCESS|\..*")


def mark_dropped(storage: Storage, root: str) -> None:
    """Let the table at ``root`` be none from now on; nothing where there are no files."""
    if is_link(storage, root) or not storage.list(root):
        return
    schemas = TablePaths(root).schema_directory
    if is_link(storage, schemas):
        storage.delete([schemas])
    confined(storage, root).overwrite(f"{schemas}/{DROPPED}", b"")


def remove_files(storage: Storage, root: str) -> None:
    """Delete the files of a table after ``mark_dropped``, or go on with that; what others add meanwhile goes too."""
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


def is_half_dropped(storage: Storage, root: str) -> bool:
    """Whether files lie at ``root`` that are no table, and nothing but what a table leaves when it is dropped.

    That is known by the mark, or, after others' drops, by what lies there: no schema, and directories of a table only.
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
    return any(_is_sure(inside, f) for f in entries) and all(
        _USUAL.fullmatch(f.name) or _is_sure(inside, f) for f in entries
    )


def is_marked(storage: Storage, root: str) -> bool:
    """Whether the drop of the table at ``root`` has begun."""
    return storage.exists(f"{TablePaths(root).schema_directory}/{DROPPED}")


def is_free(storage: Storage, root: str) -> bool:
    """Whether a new table may be made at ``root``: there is nothing of an old one but empty directories."""
    inside = confined(storage, root)
    return not any(
        _is_sure(inside, f) and (f.is_link or any(not i.name.startswith(".") for i in inside.walk(f.path)))
        for f in inside.list(root)
        if f.is_directory
    )


def _is_sure(storage: Storage, entry: FileInfo) -> bool:
    if _SURE.fullmatch(entry.name):
        return True
    if entry.is_link or not entry.is_directory or not ("=" in entry.name or entry.name in _NAMED):
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
    """On stores without directories objects may stand for them; they go unless files have come again."""
    if storage.exists(root) and next(iter(storage.walk(root)), None) is None:
        storage.delete_directory(root)


def _is_file(entry: FileInfo) -> bool:
    return entry.is_link or not entry.is_directory


def _newest_first(entry: FileInfo) -> tuple[int, str]:
    number = entry.name.removeprefix("schema-")
    return (-int(number) if number.isdecimal() else 0, entry.name)


def is_link(storage: Storage, path: str) -> bool:
    """Whether the path is a symbolic link, by a listing of the directory that it lies in."""
    return any(f.is_link for f in storage.list(path.rpartition("/")[0]) if f.path == path)
