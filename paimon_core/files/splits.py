"""Splits: lists the files of paths, and cuts their bytes into equal parts, one part for each task.

The parts keep the order of the paths, of the file names below a path, and of the rows of a file. As in Spark and Hive,
these are left out below a path: files and directories whose name begins with ``.`` or ``_`` (but not a directory such
as ``_day=1``), and files whose name ends with ``.tmp`` or ``.crc``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest, NotFound
from paimon_core.files.file_format import FileFormat
from paimon_core.storage.open import open_storage
from paimon_core.storage.storage import FileInfo, Storage

TASK_BYTES = 128 << 20
"""The bytes of the files that a task of a large job reads."""
_LEAST_BYTES = 16 << 20
"""With fewer bytes for each core, a job has fewer tasks than cores: each task adds a sorted run to the buckets."""
_DIVIDED_BYTES = 8 << 20
"""A file with fewer bytes is not divided: one task reads it."""


@dataclass(frozen=True)
class SourceFile:
    """A file that exists when the job starts; ``version`` changes when the file is replaced."""

    storage: Storage
    path: str
    size: int
    version: str


@dataclass(frozen=True)
class FileSplit:
    """The bytes of a file from ``start`` up to ``end`` (exclusive)."""

    file: SourceFile
    start: int
    end: int

    def holds(self, number: int, count: int) -> bool:
        """Whether an item of the file, such as a row group, belongs to this split.

        The file has ``count`` such items, and ``number`` (from 0) is the number of the item.
        """
        middle = self.file.size * (2 * number + 1) // (2 * count)
        return self.start <= middle < self.end


def list_files(paths: str | Iterable[str], storage_options: Mapping[str, str] | None) -> list[SourceFile]:
    """Return the files at the paths: a path names a file, or a folder with all files below it.

    Raises InvalidRequest for a path without files, for a symbolic link, and for a file that two paths name; NotFound
    for a path that does not exist; the errors of ``open_storage``.
    """
    listed = [paths] if isinstance(paths, str) else list(paths) if isinstance(paths, Iterable) else []
    if not listed or not all(isinstance(path, str) for path in listed):
        raise InvalidRequest(f"paths must be one path or a list of paths, not {paths!r:.100}")
    found: dict[str, SourceFile] = {}
    for path in listed:
        storage, root = open_storage(path, storage_options)
        for info in _below(storage, root, path):
            if info.is_link:
                raise InvalidRequest(f"{info.path} is a symbolic link: name its target instead", path=info.path)
            if info.path in found:
                raise InvalidRequest(f"two of the paths name the file {info.path}: its rows would be written twice")
            found[info.path] = SourceFile(storage, info.path, info.size, info.version)
    return list(found.values())


def _below(storage: Storage, root: str, path: str) -> list[FileInfo]:
    parent, name = posixpath.split(root)
    own = next((entry for entry in storage.list(parent) if entry.name == name), None)
    if own is not None and not own.is_directory and not own.is_link:
        return [own]
    start = len(root) + 1
    infos = [info for info in storage.walk(root) if not info.is_directory and not _is_left_out(info.path[start:])]
    if not infos and own is None and not storage.exists(root):
        hint = "; wildcards are not supported, name a folder or list the files" if set("*?[") & set(path) else ""
        raise NotFound(f"path {path} does not exist{hint}", path=path)
    if not infos:
        raise InvalidRequest(f"the folder {path} has no files to read", path=path)
    return sorted(infos, key=lambda info: info.path)


def _is_left_out(inner: str) -> bool:
    *directories, name = inner.split("/")
    hidden = any(d.startswith(".") or (d.startswith("_") and "=" not in d) for d in directories)
    return hidden or name.startswith((".", "_")) or name.endswith((".tmp", ".crc"))


def task_count(files: Sequence[SourceFile], cores: int) -> int:
    """Return the number of tasks: about one for each TASK_BYTES, and fewer than ``cores`` for few bytes."""
    total = sum(file.size for file in files)
    return max(1, -(-total // TASK_BYTES), min(cores, total // _LEAST_BYTES))


def cut_files(files: Sequence[SourceFile], file_format: FileFormat, tasks: int) -> list[list[FileSplit]]:
    """Return the splits of each task: at most ``tasks`` consecutive parts of all files, of about equal bytes.

    A file that is small or cannot be divided belongs to the part that contains its middle byte. Empty files of text
    have no split. Raises the errors of ``FileFormat.is_divisible``.
    """
    weights = [max(1, file.size) for file in files]
    total, before = sum(weights), 0
    parts: list[list[FileSplit]] = [[] for _ in range(tasks)]
    for file, weight in zip(files, weights, strict=True):
        divided = file_format.is_divisible(file.path) and file.size >= _DIVIDED_BYTES
        if not divided:
            part = min(tasks - 1, (before + weight // 2) * tasks // total)
            parts[part] += [FileSplit(file, 0, file.size)] if file.size or not file_format.is_text else []
        else:
            first, last = before * tasks // total, min(tasks - 1, (before + weight - 1) * tasks // total)
            cuts = [0, *(-(-total * n // tasks) - before for n in range(first + 1, last + 1)), file.size]
            for part in range(first, last + 1):
                start, end = cuts[part - first], cuts[part - first + 1]
                parts[part] += [FileSplit(file, start, end)] if start < end else []
        before += weight
    return [part for part in parts if part]
