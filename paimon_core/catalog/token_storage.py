"""TokenStorage: a table's files under credentials that a REST server lends for a while (format 14.9)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_core.storage.storage import FileInfo, Storage

SAFE_MILLIS = 3_600_000
"""Credentials are renewed an hour before they end, or after half of their time where that is later."""


@dataclass(frozen=True, slots=True)
class Loan:
    """A storage that works until a time in epoch milliseconds."""

    storage: Storage
    expires_millis: int


@dataclass
class TokenStorage(Storage):
    """Asks ``borrow`` for a storage and passes every call on to it; pickles without it, as it can ask again."""

    borrow: Callable[[], Loan]
    clock: Callable[[], float] = time.time
    _loan: Loan | None = field(default=None, compare=False, repr=False)
    _renew_millis: float = field(default=0, compare=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[TokenStorage], tuple[Callable[[], Loan]]]:
        return TokenStorage, (self.borrow,)

    @property
    def _now(self) -> Storage:
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
        return self._now.is_local

    def read(self, path: str) -> bytes:
        """The whole file."""
        return self._now.read(path)

    def exists(self, path: str) -> bool:
        """Whether a file or directory is there."""
        return self._now.exists(path)

    def list(self, directory: str) -> list[FileInfo]:
        """The direct entries."""
        return self._now.list(directory)

    def walk(self, directory: str) -> Iterator[FileInfo]:
        """Every file below a directory."""
        return self._now.walk(directory)

    def open_input(self, path: str) -> pa.NativeFile:
        """The file for random access."""
        return self._now.open_input(path)

    def open_output(self, path: str) -> pa.NativeFile:
        """A new file to stream into."""
        return self._now.open_output(path)

    def write(self, path: str, data: bytes) -> None:
        """A whole new file."""
        self._now.write(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace a small file."""
        self._now.overwrite(path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists."""
        return self._now.create_exclusive(path, data)

    def move(self, source: str, target: str) -> None:
        """Give a file a new path."""
        self._now.move(source, target)

    def move_directory(self, source: str, target: str) -> None:
        """Give a directory a new path, where the store can."""
        self._now.move_directory(source, target)

    def make_directory(self, directory: str) -> None:
        """Make a directory."""
        self._now.make_directory(directory)

    def remove_empty_directory(self, directory: str) -> bool:
        """Remove a directory that holds nothing."""
        return self._now.remove_empty_directory(directory)

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files."""
        return self._now.delete(paths)

    def delete_directory(self, directory: str) -> None:
        """Delete a directory."""
        self._now.delete_directory(directory)
