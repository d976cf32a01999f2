"""FsspecStorage: the Storage of the local disk (``file``) and of this process's memory (``memory``), over fsspec.

A storage is a small value that pickles, so that it travels to workers. Reading, listing and deleting go through
fsspec; writes on the local disk are durable (``storage.local_disk``), as fsspec's are not. Data files are opened
without a memory map: a disk error or a file cut short is then an error of the read and not a killed process.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from paimon_core.errors import PaimonError, StorageError, UnsupportedFeature
from paimon_core.storage import local_disk
from paimon_core.storage.storage import FileInfo, Storage
from paimon_core.storage.symbolic_links import Bounds

LOCAL = "file"
MEMORY = "memory"
_memory_publish = threading.Lock()


@dataclass(frozen=True, slots=True)
class FsspecStorage(Storage):
    """Bytes by absolute path on one fsspec protocol, ``file`` or ``memory``; see ``Storage`` for the methods."""

    protocol: str = LOCAL
    bounds: Bounds | None = field(default=None, repr=False)
    """On the local disk, the root below which no symbolic link is followed; see ``confined``."""

    def __post_init__(self) -> None:
        if self.protocol not in (LOCAL, MEMORY):
            raise UnsupportedFeature(f"storage {self.protocol!r} is not supported; use file or memory")

    @property
    def filesystem(self) -> Any:
        """The fsspec file system, which fsspec keeps one of per process."""
        import fsspec

        return fsspec.filesystem(self.protocol, use_listings_cache=False)

    @property
    def is_local(self) -> bool:
        """Whether the paths are files of this machine."""
        return self.protocol == LOCAL

    def read(self, path: str) -> bytes:
        """The whole file; raises FileNotFoundError when there is none."""
        self._check_entry(path)
        with _failing("read", path, missing=True):
            if self.is_local:
                return local_disk.read(path, follow=self.bounds is None)
            return bytes(self.filesystem.cat_file(path))

    def exists(self, path: str) -> bool:
        """Whether a file, a directory or a link is there."""
        self._check_entry(path)
        try:
            with _failing("look for", path, missing=True):
                os.lstat(path) if self.is_local else self.filesystem.info(path)
        except FileNotFoundError:
            return False
        return True

    def list(self, directory: str) -> list[FileInfo]:
        """The direct entries in the order of their names; [] for a directory that does not exist."""
        if self.bounds is not None:
            self.bounds.check_directory(directory)
        try:
            with _failing("list", directory, missing=True):
                entries = self.filesystem.ls(directory, detail=True)
        except FileNotFoundError:
            return []
        found = [self._info(e) for e in entries if len(e["name"]) > len(directory.rstrip("/"))]
        return sorted(found, key=lambda f: f.path)

    def walk(self, directory: str) -> Iterator[FileInfo]:
        """Every file below a directory; symbolic links count as files."""
        for entry in self.list(directory):
            if entry.is_directory and not (self.is_local and os.path.islink(entry.path)):
                yield from self.walk(entry.path)
            else:
                yield entry

    def _info(self, entry: Mapping[str, Any]) -> FileInfo:
        path = entry["name"]
        is_link = bool(entry.get("islink"))
        if entry["type"] == "directory" or (is_link and os.path.isdir(path)):
            return FileInfo(path, True, is_link=is_link)
        modified = entry["mtime"] if self.is_local else entry["created"]
        if isinstance(modified, datetime.datetime):
            modified = modified.timestamp()
        return FileInfo(path, False, entry["size"], int(modified * 1000), is_link)

    def open_input(self, path: str) -> pa.NativeFile:
        """The file for random access; raises FileNotFoundError when there is none."""
        if not self.is_local:
            return pa.BufferReader(self.read(path))
        self.check_file(path)
        with _failing("open", path, missing=True):
            return pa.OSFile(path, "rb")

    def open_output(self, path: str) -> pa.NativeFile:
        """A new file to stream into; directories appear by themselves. Durable, and on memory visible, once closed."""
        if not self.is_local:
            return _MemoryOutput(self, path)
        self._check_entry(path)
        with _failing("write", path):
            return local_disk.open_new(path)

    def write(self, path: str, data: bytes) -> None:
        """A whole new file under a name that nobody else uses; a taken name is a StorageError."""
        self._check_entry(path)
        with _failing("write", path):
            if self.is_local:
                local_disk.create(path, data)
            else:
                self.filesystem.pipe_file(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a small file atomically."""
        self._check_entry(path)
        with _failing("overwrite", path):
            if self.is_local:
                local_disk.replace(path, data)
            else:
                self.filesystem.pipe_file(path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create the whole file durably unless it exists: True created, False somebody was first (format 14.4)."""
        self._check_entry(path)
        with _failing("publish", path):
            if self.is_local:
                return local_disk.create_whole(path, data)
            with _memory_publish:
                if self.exists(path):
                    return False
                self.filesystem.pipe_file(path, data)
                return True

    def move(self, source: str, target: str) -> None:
        """Give a file a new path; raises FileNotFoundError when there is no ``source``."""
        self._check_entry(source)
        self._check_entry(target)
        with _failing("move", source, missing=True):
            if self.is_local:
                local_disk.move(source, target)
            else:
                self.filesystem.cp_file(source, target)  # mv takes names for patterns
                self.filesystem.rm_file(source)

    def move_directory(self, source: str, target: str) -> None:
        """Give a directory a new path that is free, at once; on the local disk only."""
        if not self.is_local:
            Storage.move_directory(self, source, target)
        self._check_entry(source)
        self._check_entry(target)
        with _failing("move", source, missing=True):
            local_disk.move_directory(source, target)

    def make_directory(self, directory: str) -> None:
        """Make a directory and its parents; one that exists is no error."""
        if self.bounds is not None:
            self.bounds.check_directory(directory)
        with _failing("make directory", directory):
            if self.is_local:
                local_disk.make_directory(directory)
            else:
                self.filesystem.makedirs(directory, exist_ok=True)

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files, and links but never their targets; missing ones are no error. The number deleted."""
        deleted = 0
        known: set[str] = set()
        for path in paths:
            if self.bounds is not None and (directory := os.path.dirname(path)) not in known:
                self.bounds.check_directory(directory)
                known.add(directory)
            with contextlib.suppress(FileNotFoundError), _failing("delete", path, missing=True):
                self.filesystem.rm_file(path)
                deleted += 1
        return deleted

    def delete_directory(self, directory: str) -> None:
        """Delete a directory and all below it, links but never their targets; a missing one is no error."""
        if not self.is_local:
            found = self.filesystem.find(directory, withdirs=True, detail=True)
            self.delete(path for path, entry in found.items() if entry["type"] != "directory")
            for path in sorted((*found, directory), reverse=True):
                with contextlib.suppress(FileNotFoundError):  # most directories in memory are only implied
                    self.filesystem.rmdir(path)
            return
        self._check_entry(directory)
        with contextlib.suppress(FileNotFoundError), _failing("delete", directory, missing=True):
            local_disk.delete_directory(directory)

    def remove_empty_directory(self, directory: str) -> bool:
        """Remove a directory if nothing is in it."""
        self._check_entry(directory)
        try:
            os.rmdir(directory) if self.is_local else self.filesystem.rmdir(directory)
        except OSError:  # not empty, or not there
            return False
        return True

    def check_file(self, path: str) -> None:
        """Raises CorruptTable where reading the file would follow a link below the root that we are confined to."""
        if self.bounds is not None:
            self.bounds.check_file(path)

    def _check_entry(self, path: str) -> None:
        if self.bounds is not None:
            self.bounds.check_entry(path)


def confined(storage: Storage, root: str) -> Storage:
    """The storage for what lies below ``root``; on the local disk it follows no link there (``Bounds``)."""
    if not isinstance(storage, FsspecStorage) or not storage.is_local:
        return storage
    if storage.bounds is not None and storage.bounds.root == root:
        return storage
    return replace(storage, bounds=Bounds(root))


def forget_directories(storage: Storage) -> None:
    """Let a confined storage look for links anew, as an operation begins."""
    if isinstance(storage, FsspecStorage) and storage.bounds is not None:
        storage.bounds.forget()


class _MemoryOutput(pa.BufferOutputStream):  # type: ignore[misc]
    def __init__(self, storage: FsspecStorage, path: str) -> None:
        self._storage = storage
        self._path = path

    def __new__(cls, storage: FsspecStorage, path: str) -> Any:
        return pa.BufferOutputStream.__new__(cls)

    def close(self) -> None:
        if not self.closed:
            self._storage.overwrite(self._path, self.getvalue().to_pybytes())


@contextlib.contextmanager
def _failing(verb: str, path: str, *, missing: bool = False) -> Iterator[None]:
    """Failures of the store as StorageError; FileNotFoundError passes where it is an answer (``missing``)."""
    try:
        yield
    except PaimonError:
        raise
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError):
            raise
        raise StorageError(f"cannot {verb} {path}: {error!r}", path=path) from error
