"""RootedStorage: the Storage of a warehouse in an object store and of the allowed roots outside of it.

Each path is accessed through the storage of the directory that contains the path, with the options of the warehouse.
Files are not moved between two storages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_core.storage.external_roots import ExternalRoots
from paimon_core.storage.object_stores.object_storage import ObjectStorage
from paimon_core.storage.storage import FileInfo, Storage


def rooted(storage: Storage, roots: ExternalRoots) -> Storage:
    """Return a storage that accesses the files of ``storage`` and the files below the roots."""
    if not isinstance(storage, ObjectStorage):
        return storage
    outside = [root for root in roots.paths if not f"{root}/".startswith(f"{storage.base}/")]
    return RootedStorage(storage, tuple(replace(storage, base=root) for root in outside)) if outside else storage


@dataclass(frozen=True, slots=True)
class RootedStorage(Storage):
    """Forwards every call to the storage whose directory contains the path, by default the warehouse's storage."""

    warehouse: ObjectStorage
    others: tuple[ObjectStorage, ...]

    def _of(self, path: str) -> ObjectStorage:
        inside = (other for other in self.others if f"{path}/".startswith(f"{other.base}/"))
        return next(inside, self.warehouse) if not path.startswith(f"{self.warehouse.base}/") else self.warehouse

    @property
    def is_local(self) -> bool:
        """False: the files are not on this machine."""
        return False

    @property
    def is_remote(self) -> bool:
        """True."""
        return True

    def read(self, path: str) -> bytes:
        """Return the content of the file."""
        return self._of(path).read(path)

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the path."""
        return self._of(path).exists(path)

    def has_file(self, path: str) -> bool:
        """Whether a file exists at the path."""
        return self._of(path).has_file(path)

    def list(self, directory: str) -> list[FileInfo]:
        """Return the direct entries of a directory."""
        return self._of(directory).list(directory)

    def walk(self, directory: str) -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        return self._of(directory).walk(directory)

    def open_input(self, path: str) -> pa.NativeFile:
        """Open the file for random access."""
        return self._of(path).open_input(path)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file to stream into."""
        return self._of(path).open_output(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a new file."""
        self._of(path).write(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        """Create or replace a small file."""
        self._of(path).overwrite(path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists; return whether it was created."""
        return self._of(path).create_exclusive(path, data)

    def move(self, source: str, target: str) -> None:
        """Move a file; both paths must be in the warehouse, or both in the same root."""
        self._of(source).move(source, target)

    def make_directory(self, directory: str) -> None:
        """Create a directory."""
        self._of(directory).make_directory(directory)

    def remove_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty."""
        return self._of(directory).remove_empty_directory(directory)

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files and return their number; some stores count missing files too (``Storage.delete``)."""
        by_storage: dict[str, tuple[ObjectStorage, list[str]]] = {}
        for path in paths:
            storage = self._of(path)
            by_storage.setdefault(storage.base, (storage, []))[1].append(path)
        return sum(storage.delete(found) for storage, found in by_storage.values())

    def delete_directory(self, directory: str) -> None:
        """Delete a directory."""
        self._of(directory).delete_directory(directory)
