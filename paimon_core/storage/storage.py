"""Storage: the protocol through which every file of a warehouse is read and written.

The core accesses files only through these methods, so that another store or a fault injector can replace the local
disk. Paths are absolute strings of the store, built only by ``storage.paths``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from paimon_core.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One entry of a directory listing: size in bytes, time in epoch milliseconds.

    For a directory, the size is 0. The time of a directory is 0 as well, except on a local disk: there it is the time
    at which an entry of the directory was last added or removed.
    """

    path: str
    is_directory: bool
    size: int = 0
    modified_millis: int = 0
    is_link: bool = False
    """Whether the entry is a symbolic link, to a file or a directory."""
    version: str = field(default="", compare=False)
    """A text that changes when the file is replaced or written again, for ``open_version``; empty for a directory."""
    checksum: str = field(default="", compare=False)
    """A checksum of the content from the store's listing (S3: the ETag); empty if the listing has no checksum."""

    @property
    def name(self) -> str:
        """Return the last component of the path."""
        return self.path.rsplit("/", 1)[-1]


class Storage(Protocol):
    """Read and write files by path.

    Every method raises StorageError when the store fails, and FileNotFoundError only where its docstring says so.
    """

    @property
    def is_local(self) -> bool:
        """Whether the paths are files of this machine, which other libraries can open directly."""

    @property
    def is_remote(self) -> bool:
        """Whether a call waits for the answer of a server, so that several calls at the same time take less time."""
        return False

    def read(self, path: str) -> bytes:
        """Return the content of the file; raises FileNotFoundError when it is missing."""

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the path."""

    def has_file(self, path: str) -> bool:
        """Whether a file exists at the path. The result for a directory depends on the store."""
        return self.exists(path)

    def list(self, directory: str) -> list[FileInfo]:
        """Return the direct entries of a directory; [] for a directory that does not exist."""

    def file_sizes(self, directory: str) -> tuple[Sequence[bytes], Sequence[int]] | None:
        """Return the names and the sizes in bytes of the files of a directory, without a value for each file.

        A name is encoded as by ``os.fsencode``.
        None, if the store has no such listing, the directory is missing, or one of its entries is not a file: then
        ``list`` tells more.
        """
        return None

    def walk(self, directory: str) -> Iterator[FileInfo]:
        """Yield every file below a directory, in any order; nothing when the directory does not exist.

        Symbolic links are listed as files and never followed.
        """

    def open_input(self, path: str) -> pa.NativeFile:
        """Open the file for random access; raises FileNotFoundError when it is missing."""

    def open_version(self, path: str, version: str) -> AbstractContextManager[pa.NativeFile]:
        """Open a file for random access, and check that it has the version that a listing stated.

        Raises FileNotFoundError when the file is missing. Raises StorageError when the file has another version: when
        the file is opened, when it is read, or at the latest when the context ends.
        """
        raise UnsupportedFeature(f"cannot open a version of {path}: this store does not compare versions", path=path)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file to stream into; missing parent directories are created. The file is durable once closed."""

    def write(self, path: str, data: bytes) -> None:
        """Write a new file under a name that no other writer uses (data files, manifests)."""

    def overwrite(self, path: str, data: bytes) -> None:
        """Create or replace a small file atomically (hints, tags with replace)."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create the file with all of its bytes, durably, unless it exists.

        Return True when the file was created, False when it already existed. Snapshots and schemas are published this
        way: readers see no file or the whole file. Raises CommitStateUnknown when it is not known whether the file was
        created.
        """

    def move(self, source: str, target: str) -> None:
        """Move a file to a path that no other writer uses; missing parent directories are created.

        After a crash or an error the file exists at ``source``, at ``target`` or at both. Raises FileNotFoundError
        when ``source`` is missing.
        """

    def move_directory(self, source: str, target: str) -> None:
        """Rename a directory to an unused path in one atomic step; missing parent directories are created.

        Raises UnsupportedFeature on stores that cannot rename directories, FileNotFoundError when ``source`` is
        missing, StorageError when ``target`` exists.
        """
        raise UnsupportedFeature(f"cannot move {source}: this store cannot rename directories", path=source)

    def make_directory(self, directory: str) -> None:
        """Create a directory and its parents; an existing directory is no error."""

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files and return the number of deleted files; missing files are no error.

        The number is exact for a single path. For several paths it includes missing files on stores that do not report
        missing files (S3).
        """

    def delete_directory(self, directory: str) -> None:
        """Delete a directory and everything below it; a missing directory is no error."""

    def remove_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty.

        Return True when the directory was deleted, otherwise False; always False on stores without directories.
        """
