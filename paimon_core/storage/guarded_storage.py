"""GuardedStorage: a Storage that calls a check around each change, so that only the intended table is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.errors import StorageError, TableNotFound
from paimon_core.storage.storage import FileInfo, Storage


@dataclass(frozen=True, slots=True)
class GuardedStorage(Storage):
    """Forwards every call to ``inner``, and calls ``check`` before each change and after each small file.

    ``check`` raises TableNotFound when nothing may be changed. If it raises this after a small file was created or
    replaced, and the file still has the content of the call, the file is deleted; if it raises StorageError then, the
    file stays, because other processes may have built on it. Deletions, moves and files that are streamed are
    checked only before. Each check costs what ``check`` costs: use it for operations with few files.
    """

    inner: Storage
    check: Callable[[], object]

    @property
    def is_local(self) -> bool:
        """Whether the paths are files of this machine."""
        return self.inner.is_local

    @property
    def is_remote(self) -> bool:
        """Whether a call waits for the answer of a server."""
        return self.inner.is_remote

    def read(self, path: str) -> bytes:
        """Return the content of the file."""
        return self.inner.read(path)

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the path."""
        return self.inner.exists(path)

    def has_file(self, path: str) -> bool:
        """Whether a file exists at the path."""
        return self.inner.has_file(path)

    def list(self, directory: str) -> list[FileInfo]:
        """Return the direct entries of a directory."""
        return self.inner.list(directory)

    def file_sizes(self, directory: str) -> tuple[Sequence[bytes], Sequence[int]] | None:
        """Return the names and the sizes of the files of a directory."""
        return self.inner.file_sizes(directory)

    def walk(self, directory: str) -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        return self.inner.walk(directory)

    def open_input(self, path: str) -> pa.NativeFile:
        """Open the file for random access."""
        return self.inner.open_input(path)

    def open_version(self, path: str, version: str) -> AbstractContextManager[pa.NativeFile]:
        """Open one version of a file for random access."""
        return self.inner.open_version(path, version)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file to stream into."""
        self.check()
        return self.inner.open_output(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a new file."""
        self.check()
        self.inner.write(path, data)
        self._check_created(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        """Create or replace a small file atomically."""
        self.check()
        self.inner.overwrite(path, data)
        self._check_created(path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create the file unless it exists."""
        self.check()
        created = self.inner.create_exclusive(path, data)
        if created:
            self._check_created(path, data)
        return created

    def move(self, source: str, target: str) -> None:
        """Move a file to a path that no other writer uses."""
        self.check()
        self.inner.move(source, target)

    def move_directory(self, source: str, target: str) -> None:
        """Rename a directory to an unused path."""
        self.check()
        self.inner.move_directory(source, target)

    def make_directory(self, directory: str) -> None:
        """Create a directory and its parents."""
        self.check()
        self.inner.make_directory(directory)

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files, after one check, and return the number of deleted files."""
        self.check()
        return self.inner.delete(paths)

    def delete_directory(self, directory: str) -> None:
        """Delete a directory and everything below it."""
        self.check()
        self.inner.delete_directory(directory)

    def remove_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty."""
        self.check()
        return self.inner.remove_empty_directory(directory)

    def _check_created(self, path: str, data: bytes) -> None:
        try:
            self.check()
        except StorageError:  # not known: the file may be used by now, and the caller checks again at its end
            return
        except TableNotFound:
            try:
                is_own = self.inner.read(path) == data
            except FileNotFoundError:
                is_own = False
            if is_own:
                self.inner.delete([path])
                self.inner.remove_empty_directory(path.rpartition("/")[0])
            raise
