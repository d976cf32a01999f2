"""Storage: the one seam through which every byte of a warehouse is read and written.

The core calls nothing but these methods, so that another store or a fault injector can take the place of the local
disk. Paths are absolute strings of the store, made by ``storage.paths`` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from paimon_core.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One entry of a directory listing; sizes in bytes, times in epoch milliseconds (0 for directories)."""

    path: str
    is_directory: bool
    size: int = 0
    modified_millis: int = 0
    is_link: bool = False
    """A symbolic link, whatever it leads to."""

    @property
    def name(self) -> str:
        """The last component of the path."""
        return self.path.rsplit("/", 1)[-1]


class Storage(Protocol):
    """Bytes by path. Every method raises StorageError when the store fails, NotFound where named."""

    @property
    def is_local(self) -> bool:
        """Whether the paths are files of this machine, which other readers can open by themselves."""

    def read(self, path: str) -> bytes:
        """The whole file; raises FileNotFoundError when there is none."""

    def exists(self, path: str) -> bool:
        """Whether a file or directory is there."""

    def list(self, directory: str) -> list[FileInfo]:
        """The direct entries; [] for a directory that does not exist."""

    def walk(self, directory: str) -> Iterator[FileInfo]:
        """Every file below a directory, in any order; none for one that does not exist.

        Symbolic links are told as files and never followed.
        """

    def open_input(self, path: str) -> pa.NativeFile:
        """The file for random access; raises FileNotFoundError when there is none."""

    def open_output(self, path: str) -> pa.NativeFile:
        """A new file to stream into; parent directories appear by themselves. Durable once closed."""

    def write(self, path: str, data: bytes) -> None:
        """A whole new file under a name that nobody else uses (data, manifests)."""

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a small file atomically (hints, tags with replace)."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create the file with all of its bytes, durably, unless it exists: True created, False somebody was first.

        This is the publish of a snapshot or schema: readers see no file or the whole file. Raises
        CommitStateUnknown when the store cannot say whether the file was created.
        """

    def move(self, source: str, target: str) -> None:
        """Give a file a new path that nobody else uses, parent directories appear by themselves.

        A crash, or an error, leaves it under one name or both. Raises FileNotFoundError when there is no ``source``.
        """

    def move_directory(self, source: str, target: str) -> None:
        """Give a directory a new path that is free, all of it at once, parent directories appear by themselves.

        Raises UnsupportedFeature on stores without it, FileNotFoundError when there is no ``source``, StorageError when
        ``target`` is taken.
        """
        raise UnsupportedFeature(f"cannot move {source}: this store has no rename of directories", path=source)

    def make_directory(self, directory: str) -> None:
        """Make a directory and its parents; one that exists is no error."""

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files; missing ones are no error.

        The number deleted, exact for a single path; of more, a store that does not tell counts the missing ones too.
        """

    def delete_directory(self, directory: str) -> None:
        """Delete a directory and all below it; a missing one is no error."""

    def remove_empty_directory(self, directory: str) -> bool:
        """Remove a directory if nothing is in it: True removed; False it stays, or the store has no directories."""
