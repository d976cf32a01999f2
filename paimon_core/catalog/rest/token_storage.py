"""TokenStorage: a table's files, accessed with temporary credentials of a REST server (format 14.9)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_core.storage.storage import FileInfo, Storage

SAFE_MILLIS = 3_600_000
"""Credentials are renewed one hour before they expire, or after half of their lifetime if this time is later."""


@dataclass(frozen=True, slots=True)
class TemporaryStorage:
    """A storage whose credentials expire at a time in epoch milliseconds."""

    storage: Storage
    expires_millis: int


@dataclass
class TokenStorage(Storage):
    """Gets a storage from ``borrow``, and forwards every call to it; only ``borrow`` is pickled, not the storage."""

    borrow: Callable[[], TemporaryStorage]
    clock: Callable[[], float] = time.time
    _loan: TemporaryStorage | None = field(default=None, compare=False, repr=False)
    _renew_millis: float = field(default=0, compare=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[TokenStorage], tuple[Callable[[], TemporaryStorage]]]:
        return TokenStorage, (self.borrow,)

    @property
    def _current(self) -> Storage:
        with self._lock:
            millis = self.clock() * 1000
            if self._loan is None or millis >= self._renew_millis:
                self._loan = self.borrow()
                lasts = self._loan.expires_millis - millis
                self._renew_millis = millis + max(lasts - SAFE_MILLIS, lasts / 2)
            return self._loan.storage

    @property
    def is_local(self) -> bool:
        """Whether the paths are files of this machine."""
        return self._current.is_local

    @property
    def is_remote(self) -> bool:
        """Whether a call waits for the answer of a server."""
        return self._current.is_remote

    def read(self, path: str) -> bytes:
        """Return the content of the file."""
        return self._current.read(path)

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the path."""
        return self._current.exists(path)

    def has_file(self, path: str) -> bool:
        """Whether a file exists at the path."""
        return self._current.has_file(path)

    def list(self, directory: str) -> list[FileInfo]:
        """Return the direct entries."""
        return self._current.list(directory)

    def walk(self, directory: str) -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        return self._current.walk(directory)

    def open_input(self, path: str) -> pa.NativeFile:
        """Open the file for random access."""
        return self._current.open_input(path)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file to stream into."""
        return self._current.open_output(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a new file."""
        self._current.write(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        """Create or replace a small file."""
        self._current.overwrite(path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists; return whether it was created."""
        return self._current.create_exclusive(path, data)

    def move(self, source: str, target: str) -> None:
        """Move a file."""
        self._current.move(source, target)

    def move_directory(self, source: str, target: str) -> None:
        """Rename a directory, if the store can."""
        self._current.move_directory(source, target)

    def make_directory(self, directory: str) -> None:
        """Create a directory."""
        self._current.make_directory(directory)

    def remove_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty."""
        return self._current.remove_empty_directory(directory)

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files and return the number of deleted files."""
        return self._current.delete(paths)

    def delete_directory(self, directory: str) -> None:
        """Delete a directory."""
        self._current.delete_directory(directory)
