"""ObjectStorage: the Storage of one warehouse in an object store (S3, Google Cloud Storage, Azure Blob Storage).

A directory is only the part of a file name before a ``/``: a directory exists when it contains a file, or when an
empty object represents it. Listings are never cached. A snapshot is published by one conditional request that is sent
only once, so that the answer "exists" always refers to another writer's file.
"""

from __future__ import annotations

import contextlib
import itertools
import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from paimon_core.errors import CommitStateUnknown, InvalidRequest, PaimonError, StorageError
from paimon_core.storage.object_stores.connections import connection
from paimon_core.storage.object_stores.object_store import Failure, Meaning, ObjectStore, Page, StoredObject, Upload
from paimon_core.storage.object_stores.probe import check_conditional_write_once
from paimon_core.storage.object_stores.remote_file import TAIL_BYTES, RemoteInput, RemoteReader
from paimon_core.storage.object_stores.remote_output import RemoteOutput, RemoteWriter
from paimon_core.storage.secret import Secret, scrubbed
from paimon_core.storage.storage import FileInfo, Storage

DELETE_BATCH = 1000
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class ObjectStorage(Storage):
    """Files below ``base``, the URL of a warehouse such as ``s3://bucket/lake``, without a trailing slash.

    An ObjectStorage is a small value that can be pickled. Each process connects on first use, once for each bucket
    and set of options. Nothing outside ``base`` is read or changed: every method raises InvalidRequest for such a path.
    """

    kind: str
    """The kind of store: a key of ``connections.STORES``."""
    base: str
    options: tuple[tuple[str, str | Secret], ...] = ()

    @property
    def is_local(self) -> bool:
        """False: the files are not on this machine."""
        return False

    @property
    def is_remote(self) -> bool:
        """True."""
        return True

    @property
    def bucket(self) -> str:
        """Return the bucket or container, with the account when the URL names one."""
        return self.base.split("://", 1)[1].split("/", 1)[0]

    @property
    def _store(self) -> ObjectStore:
        return connection(self.kind, self.bucket, self.options)

    def read(self, path: str) -> bytes:
        """Return the content of the file; raises FileNotFoundError when it is missing."""
        key = self._key(path)
        return self._request("read", path, lambda: self._store.read(key))

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the path."""
        if self.has_file(path):
            return True
        found = self._page(path, _below(self._key(path)), is_flat=True, limit=1)
        return bool(found.objects)

    def has_file(self, path: str) -> bool:
        """Whether a file exists at the path: one request, without the listing by which a directory is found."""
        key = self._key(path)
        try:
            if key:
                self._request("check", path, lambda: self._store.head(key))
        except FileNotFoundError:
            return False
        return bool(key)

    def list(self, directory: str) -> list[FileInfo]:
        """Return the direct entries of a directory, sorted by path; [] for a directory that does not exist."""
        prefix = _below(self._key(directory))
        found: dict[str, FileInfo] = {}
        for page in self._pages(directory, prefix, is_flat=False):
            for stored in page.objects:
                if stored.key != prefix and not stored.is_directory:
                    found[stored.key] = self._info(stored)
            for below in (*page.prefixes, *(f"{o.key}/" for o in page.objects if o.is_directory and o.key != prefix)):
                path = self._path(below.rstrip("/"))
                found[below] = FileInfo(path, True)
        return sorted(found.values(), key=lambda f: f.path)

    def walk(self, directory: str) -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        for page in self._pages(directory, _below(self._key(directory)), is_flat=True):
            yield from (self._info(o) for o in page.objects if not _is_marker(o))

    def open_input(self, path: str) -> pa.NativeFile:
        """Open the file for random access; raises FileNotFoundError when it is missing."""
        return self._open(path, "")

    @contextlib.contextmanager
    def open_version(self, path: str, version: str) -> Iterator[pa.NativeFile]:
        """Open a file; each request is conditional, so that no byte of another version is read."""
        with self._open(path, version) as stream:
            yield stream

    def _open(self, path: str, version: str) -> pa.NativeFile:
        key = self._key(path)
        tail, size = self._request("open", path, lambda: self._store.read_tail(key, TAIL_BYTES, version))
        if len(tail) == size:
            return pa.BufferReader(tail)

        def fetch(start: int, end: int) -> bytes:
            return self._request("read", path, lambda: self._store.read(key, start, end, version))

        return RemoteInput(RemoteReader(fetch, tail, size))

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file to stream into. The file is sent in parts and becomes visible when it is closed."""
        return RemoteOutput(RemoteWriter(_Sink(self, path, self._key(path)), self._store.part_bytes))

    def write(self, path: str, data: bytes) -> None:
        """Write a new file under a name that no other writer uses."""
        key = self._key(path)
        self._perform("write", path, lambda: self._store.put(key, data))

    def overwrite(self, path: str, data: bytes) -> None:
        """Create or replace a small file: readers see the old bytes or the new bytes."""
        key = self._key(path)
        self._perform("overwrite", path, lambda: self._store.put(key, data))

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create the file; return True when it was created, False when it exists already (format 14.4).

        The first call of a process tests whether the store supports conditional writes, and raises
        ConditionalWriteUnsupported when the store does not support them. Raises StorageError when nothing was created,
        CommitStateUnknown when it is not known whether the file was created.
        """
        if not data:
            raise InvalidRequest(f"cannot publish {path}: an empty file cannot be created exclusively", path=path)
        place = (self.base, *(option for option in self.options if not isinstance(option[1], Secret)))
        check_conditional_write_once(place, self._create, self.delete, posixpath.dirname(path))
        return self._create(path, data)

    def _create(self, path: str, data: bytes) -> bool:
        key = self._key(path)
        try:
            self._store.put_new(key, data)
            return True
        except PaimonError:
            raise
        except Exception as error:
            failed = self._failure(error)
        if failed.meaning is Meaning.EXISTS:
            return False
        if failed.meaning is Meaning.UNKNOWN:
            raise CommitStateUnknown(f"it is not known whether {path} was created: {failed.text}", path=path)
        raise self._error("publish", path, failed)

    def move(self, source: str, target: str) -> None:
        """Copy a file to an unused path within the store, then delete the original."""
        old, new = self._key(source), self._key(target)
        self._perform("move", source, lambda: self._store.copy(old, new))
        self._perform("delete", source, lambda: self._store.delete([old]))

    def make_directory(self, directory: str) -> None:
        """Create the empty object that other tools treat as a directory, unless the directory exists."""
        key = self._key(directory)
        if key and not self.exists(directory):
            self._perform("create directory", directory, lambda: self._store.mark_directory(key))

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files and return their number; missing files are no error, but some stores count them."""
        deleted = 0
        for batch in _batches(dict.fromkeys(paths), DELETE_BATCH):
            keys = [self._key(path) for path in batch]
            deleted += self._request("delete", batch[0], lambda keys=keys: self._store.delete(keys))  # type: ignore[misc]
        return deleted

    def delete_directory(self, directory: str) -> None:
        """Delete everything below a directory; raises InvalidRequest for the warehouse itself."""
        key = self._key(directory)
        if directory == self.base:
            raise InvalidRequest(f"cannot delete {directory}: it is the warehouse itself", path=directory)
        marks = [key] if self.kind == "azure" else []
        for page in self._pages(directory, _below(key), is_flat=True):
            marks += [o.key for o in page.objects if o.is_directory]
            files = [o.key for o in page.objects if not o.is_directory]
            self._delete_keys(directory, files)
        self._delete_keys(directory, sorted(marks, reverse=True))

    def remove_empty_directory(self, directory: str) -> bool:
        """Do nothing and return False: an object store has no empty directories."""
        return False

    def _delete_keys(self, directory: str, keys: Iterable[str]) -> None:
        for batch in _batches(keys, DELETE_BATCH):
            self._perform("delete", directory, lambda batch=batch: self._store.delete(batch))  # type: ignore[misc]

    # -- names

    def _key(self, path: str) -> str:
        """Return the object's key in the bucket; raises InvalidRequest for a path outside the warehouse."""
        if path != self.base and not path.startswith(f"{self.base}/"):
            raise InvalidRequest(f"{path} is not below the warehouse {self.base}", path=path)
        key = path.split("://", 1)[1].partition("/")[2]
        if any(part in (".", "..") for part in key.split("/")):
            raise InvalidRequest(f"{path} contains the component '.' or '..', which is not allowed", path=path)
        return key

    def _path(self, key: str) -> str:
        scheme = self.base.split("://", 1)[0]
        return f"{scheme}://{self.bucket}/{key}"

    def _info(self, stored: StoredObject) -> FileInfo:
        path = self._path(stored.key)
        return FileInfo(path, False, stored.size, stored.modified_millis, False, stored.version, stored.checksum)

    # -- requests to the store

    def _pages(self, directory: str, prefix: str, *, is_flat: bool) -> Iterator[Page]:
        token: str | None = None
        while True:
            page = self._page(directory, prefix, is_flat=is_flat, token=token)
            yield page
            token = page.token
            if token is None:
                return

    def _page(
        self, directory: str, prefix: str, *, is_flat: bool, token: str | None = None, limit: int | None = None
    ) -> Page:
        request = lambda: self._store.page(prefix, is_flat=is_flat, token=token, limit=limit)  # noqa: E731
        try:
            return self._request("list", directory, request)
        except FileNotFoundError as error:
            raise StorageError(
                f"cannot list {directory}: bucket {self.bucket} does not exist", path=directory
            ) from error

    def _perform(self, verb: str, path: str, action: Callable[[], object]) -> None:
        self._request(verb, path, action)

    def _request(self, verb: str, path: str, action: Callable[[], _Answer]) -> _Answer:
        """Return the store's answer; raises FileNotFoundError for a missing file, StorageError for other failures.

        The raised error does not contain the client's exception, not even as its context, because the client's
        exception may contain signed URLs and headers.
        """
        try:
            return action()
        except PaimonError:
            raise
        except Exception as error:
            failed = self._failure(error)
        if failed.meaning is Meaning.MISSING and verb in ("read", "open", "check", "move", "list"):
            raise FileNotFoundError(path)
        if failed.meaning is Meaning.EXISTS and verb in ("read", "open"):
            raise StorageError(f"{path} was replaced or changed after it was listed", path=path, status=failed.status)
        raise self._error(verb, path, failed)

    def _failure(self, error: Exception) -> Failure:
        failed = self._store.failure(error)
        secrets = [value for _, value in self.options if isinstance(value, Secret)]
        return Failure(failed.meaning, scrubbed(failed.text, secrets), failed.status)

    def _error(self, verb: str, path: str, failed: Failure) -> StorageError:
        return StorageError(f"cannot {verb} {path}: {failed.text}", path=path, status=failed.status)


class _Sink:
    """Sends the bytes of an ``open_output`` to one object, in one request or in parts."""

    def __init__(self, storage: ObjectStorage, path: str, key: str) -> None:
        self._storage, self._path, self._key = storage, path, key
        self._upload: Upload | None = None

    def put(self, data: bytes) -> None:
        self._storage.write(self._path, data)

    def part(self, data: bytes) -> None:
        if self._upload is None:
            self._upload = self._storage._request("write", self._path, lambda: self._storage._store.upload(self._key))
        upload = self._upload
        self._storage._perform("write", self._path, lambda: upload.part(data))

    def complete(self) -> None:
        if self._upload is not None:
            self._storage._perform("write", self._path, self._upload.complete)

    def abort(self) -> None:
        if self._upload is not None:
            self._storage._perform("abort the upload of", self._path, self._upload.abort)


def _below(key: str) -> str:
    return f"{key}/" if key else ""


def _is_marker(stored: StoredObject) -> bool:
    return stored.is_directory or stored.key.endswith("/")


def _batches(items: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(items)
    while batch := list(itertools.islice(rest, size)):
        yield batch
