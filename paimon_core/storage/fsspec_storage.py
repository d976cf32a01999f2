"""FsspecStorage: the Storage of the local disk (``file``) and of this process's memory (``memory``), based on fsspec.

A storage is a small value that can be pickled and sent to workers. Writes on the local disk use ``storage.local_disk``,
because fsspec's writes are not durable. Data files are opened without a memory map, so that a disk error or a truncated
file raises an exception and does not kill the process.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import pyarrow as pa

from paimon_core.errors import PaimonError, StorageError, UnsupportedFeature
from paimon_core.storage import local_disk
from paimon_core.storage.storage import FileInfo, Storage
from paimon_core.storage.symbolic_links import Bounds

LOCAL = "file"
MEMORY = "memory"
_memory_publish_lock = threading.Lock()

_FLOAT_ERROR = 0.001
"""Milliseconds: more than the rounding of a present time in seconds, as a float."""


@functools.cache
def _filesystem(protocol: str) -> Any:
    """Return the file system of a protocol. The result is cached, because a call of fsspec takes ten times as long."""
    import fsspec

    return fsspec.filesystem(protocol, use_listings_cache=False)


@dataclass(frozen=True, slots=True)
class FsspecStorage(Storage):
    """Files by absolute path in one fsspec protocol, ``file`` or ``memory``; ``Storage`` describes the methods."""

    protocol: str = LOCAL
    bounds: Bounds | None = field(default=None, repr=False)
    """On the local disk: the directories below which no symbolic link is followed; None: links are followed."""

    def __post_init__(self) -> None:
        if self.protocol not in (LOCAL, MEMORY):
            raise UnsupportedFeature(f"storage {self.protocol!r} is not supported; use file or memory")

    @property
    def filesystem(self) -> Any:
        """Return the fsspec file system; all threads of a process share one instance."""
        return _filesystem(self.protocol)

    @property
    def is_local(self) -> bool:
        """Whether the paths are files of this machine."""
        return self.protocol == LOCAL

    def read(self, path: str) -> bytes:
        """Return the content of the file; raises FileNotFoundError when it is missing."""
        self._check_entry(path)
        with _storage_errors("read", path, missing=True):
            if self.is_local:
                return local_disk.read(path, follow=self.bounds is None)
            return bytes(self.filesystem.cat_file(path))

    def exists(self, path: str) -> bool:
        """Whether a file, a directory or a symbolic link exists at the path."""
        self._check_entry(path)
        try:
            with _storage_errors("check", path, missing=True):
                os.lstat(path) if self.is_local else self.filesystem.info(path)
        except FileNotFoundError:
            return False
        return True

    def list(self, directory: str) -> list[FileInfo]:
        """Return the direct entries of a directory, sorted by path; [] for a directory that does not exist."""
        if self.bounds is not None:
            self.bounds.check_directory(directory)
        try:
            with _storage_errors("list", directory, missing=True):
                if self.is_local:  # without fsspec, which takes 0.04 seconds to import
                    entries = local_disk.entries(directory)
                else:
                    entries = self.filesystem.ls(directory, detail=True)
        except FileNotFoundError:
            return []
        found = [self._info(e) for e in entries if len(e["name"]) > len(directory.rstrip("/"))]
        return sorted(found, key=lambda f: f.path)

    def file_sizes(self, directory: str) -> tuple[Sequence[bytes], Sequence[int]] | None:
        """Return the names and sizes of the files; None in memory, and as ``Storage.file_sizes`` states."""
        if not self.is_local:
            return None
        if self.bounds is not None:
            self.bounds.check_directory(directory)
        try:
            with _storage_errors("list", directory, missing=True):
                return local_disk.file_sizes(directory)
        except FileNotFoundError:
            return None

    def walk(self, directory: str) -> Iterator[FileInfo]:
        """Yield every file below a directory; symbolic links are listed as files."""
        for entry in self.list(directory):
            if entry.is_directory and not (self.is_local and os.path.islink(entry.path)):
                yield from self.walk(entry.path)
            else:
                yield entry

    def _info(self, entry: Mapping[str, Any]) -> FileInfo:
        path = entry["name"]
        is_link = bool(entry.get("islink"))
        if entry["type"] == "directory" or (is_link and os.path.isdir(path)):
            changed = entry.get("mtime") if self.is_local else None
            return FileInfo(path, True, 0, self._millis(path, changed) if changed else 0, is_link)
        modified = entry["mtime"] if self.is_local else entry["created"]
        if isinstance(modified, datetime.datetime):
            modified = modified.timestamp()
        version = _version(entry["size"], modified, entry.get("ino", 0))
        return FileInfo(path, False, entry["size"], self._millis(path, modified), is_link, version)

    def _millis(self, path: str, seconds: float) -> int:
        """Return a modification time in whole milliseconds, rounded down as in Java.

        A float has not all nanoseconds of the time: near a whole millisecond, a local file system is asked again.
        """
        millis = seconds * 1000
        if self.is_local and abs(millis - round(millis)) < _FLOAT_ERROR:
            with contextlib.suppress(OSError):
                return os.stat(path).st_mtime_ns // 1_000_000
        return int(millis)

    def open_input(self, path: str) -> pa.NativeFile:
        """Open the file for random access; raises FileNotFoundError when it is missing."""
        if not self.is_local:
            return pa.BufferReader(self.read(path))
        self.check_file(path)
        with _storage_errors("open", path, missing=True):
            return pa.OSFile(path, "rb")

    @contextlib.contextmanager
    def open_version(self, path: str, version: str) -> Iterator[pa.NativeFile]:
        """Open a file, and compare its version with ``version`` when the file is opened and when the context ends."""
        with self._opened(path) as stream, contextlib.ExitStack() as opened:
            handle = os.dup(stream.fileno()) if self.is_local else None  # duplicated: a reader may close the stream
            if handle is not None:
                opened.callback(os.close, handle)
            self._check_version(path, handle, version)
            try:
                yield stream
            except Exception:  # the reader may have failed because the file was changed or truncated
                self._check_version(path, handle, version)
                raise
            self._check_version(path, handle, version)

    def _opened(self, path: str) -> pa.NativeFile:
        """Open a file as ``open_input`` does.

        Python opens a file whose name is not UTF-8, because Arrow cannot open it.
        """
        try:
            return self.open_input(path)
        except UnicodeEncodeError:
            with _storage_errors("open", path, missing=True):
                return _Handle(open(path, "rb"), mode="r")

    def _check_version(self, path: str, handle: int | None, version: str) -> None:
        if handle is None:
            found = self._info(self.filesystem.info(path)).version
        else:
            entry = os.fstat(handle)
            found = _version(entry.st_size, entry.st_mtime, entry.st_ino)
        if found != version and not _is_same_elsewhere(found, version):
            raise StorageError(f"{path} was replaced or changed after it was listed", path=path)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file to stream into; missing directories are created. The file is durable once closed.

        In memory, the file does not exist until it is closed.
        """
        if not self.is_local:
            return _MemoryOutput(self, path)
        self._check_entry(path)
        with _storage_errors("write", path):
            return local_disk.open_new(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a new file under a name that no other writer uses; on disk an existing file raises StorageError."""
        self._check_entry(path)
        with _storage_errors("write", path):
            if self.is_local:
                local_disk.create(path, data)
            else:
                self.filesystem.pipe_file(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        """Create or replace a small file atomically."""
        self._check_entry(path)
        with _storage_errors("overwrite", path):
            if self.is_local:
                local_disk.replace(path, data)
            else:
                self.filesystem.pipe_file(path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create the file durably; return True when it was created, False when it exists already (format 14.4)."""
        self._check_entry(path)
        with _storage_errors("publish", path):
            if self.is_local:
                return local_disk.create_whole(path, data)
            with _memory_publish_lock:
                if self.exists(path):
                    return False
                self.filesystem.pipe_file(path, data)
                return True

    def move(self, source: str, target: str) -> None:
        """Move a file; raises FileNotFoundError when ``source`` is missing."""
        self._check_entry(source)
        self._check_entry(target)
        with _storage_errors("move", source, missing=True):
            if self.is_local:
                local_disk.move(source, target)
            else:
                self.filesystem.cp_file(source, target)  # fsspec's mv treats names as patterns
                self.filesystem.rm_file(source)

    def move_directory(self, source: str, target: str) -> None:
        """Rename a directory to an unused path in one atomic step; in memory, raise UnsupportedFeature."""
        if not self.is_local:
            Storage.move_directory(self, source, target)
        self._check_entry(source)
        self._check_entry(target)
        with _storage_errors("move", source, missing=True):
            local_disk.move_directory(source, target)

    def make_directory(self, directory: str) -> None:
        """Create a directory and its parents; an existing directory is no error."""
        if self.bounds is not None:
            self.bounds.check_directory(directory)
        with _storage_errors("create directory", directory):
            if self.is_local:
                local_disk.make_directory(directory)
            else:
                self.filesystem.makedirs(directory, exist_ok=True)

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files and return the number of deleted files; missing files are no error.

        For a symbolic link, only the link is deleted.
        """
        deleted = 0
        known: set[str] = set()
        for path in paths:
            if self.bounds is not None and (directory := os.path.dirname(path)) not in known:
                self.bounds.check_directory(directory)
                known.add(directory)
            with contextlib.suppress(FileNotFoundError), _storage_errors("delete", path, missing=True):
                self.filesystem.rm_file(path)
                deleted += 1
        return deleted

    def delete_directory(self, directory: str) -> None:
        """Delete a directory and everything below it; a missing directory is no error.

        For a symbolic link, only the link is deleted.
        """
        if not self.is_local:
            found = self.filesystem.find(directory, withdirs=True, detail=True)
            self.delete(path for path, entry in found.items() if entry["type"] != "directory")
            for path in sorted((*found, directory), reverse=True):
                with contextlib.suppress(
                    FileNotFoundError
                ):  # most directories in memory exist only as parts of file names
                    self.filesystem.rmdir(path)
            return
        self._check_entry(directory)
        with contextlib.suppress(FileNotFoundError), _storage_errors("delete", directory, missing=True):
            local_disk.delete_directory(directory)

    def remove_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty; return whether it was deleted."""
        self._check_entry(directory)
        try:
            os.rmdir(directory) if self.is_local else self.filesystem.rmdir(directory)
        except OSError:  # not empty, or missing
            return False
        return True

    def check_file(self, path: str) -> None:
        """Raise CorruptTable when reading the file would follow a symbolic link below the root of ``bounds``."""
        if self.bounds is not None:
            self.bounds.check_file(path)

    def _check_entry(self, path: str) -> None:
        if self.bounds is not None:
            self.bounds.check_entry(path)


@functools.cache
def _machine() -> str:
    """Return the name of this machine; asking the system takes as long as formatting the version of a file."""
    return os.uname().nodename


def _version(size: int, modified: float, inode: int) -> str:
    return f"{size}:{modified!r}:{inode}@{_machine()}"


def _is_same_elsewhere(found: str, listed: str) -> bool:
    """Whether two versions come from different machines and have the same size and time.

    Different machines may show different inode numbers for one file.
    """
    (one, one_place), (other, other_place) = (text.rsplit("@", 1) for text in (found, listed))
    return one_place != other_place and one.rsplit(":", 1)[0] == other.rsplit(":", 1)[0]


def confined(storage: Storage, root: str, others: tuple[str, ...] = ()) -> Storage:
    """Return ``storage``, or on the local disk a copy that follows no symbolic link below ``root`` and ``others``.

    See ``Bounds``.
    """
    if not isinstance(storage, FsspecStorage) or not storage.is_local:
        return storage
    if storage.bounds is not None and (storage.bounds.root, storage.bounds.others) == (root, others):
        return storage
    return replace(storage, bounds=Bounds(root, others))


def forget_directories(storage: Storage) -> None:
    """Make a confined storage check all directories for links again; every operation on a table calls this first."""
    if isinstance(storage, FsspecStorage) and storage.bounds is not None:
        storage.bounds.forget()


class _Handle(pa.PythonFile):  # type: ignore[misc]
    """An Arrow file over a file that Python opened; ``fileno`` returns its descriptor."""

    def __init__(self, file: BinaryIO, mode: str) -> None:
        self._file = file

    def fileno(self) -> int:
        return self._file.fileno()


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
def _storage_errors(verb: str, path: str, *, missing: bool = False) -> Iterator[None]:
    """Convert an OSError of the store to StorageError; with ``missing``, FileNotFoundError is raised unchanged."""
    try:
        yield
    except PaimonError:
        raise
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError):
            raise
        raise StorageError(f"cannot {verb} {path}: {error!r}", path=path) from error
