"""LocalCache: a directory of this machine with copies of those files of a warehouse that never change.

Several processes can use one directory, and later processes find the files again. The cache may lose files at any time.
The cache never makes a read fail: when the copy of a file is missing, damaged or cannot be read, the caller reads the
file from the warehouse.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import threading
import time
import uuid
import zlib
from dataclasses import dataclass
from pathlib import Path

from paimon_core.errors import InvalidOption

TRIMMED_TO = 0.9
"""When the cache is too large, the files used longest ago are deleted until this part of ``max_bytes`` is left."""
FILES_PER_LISTING = 64
"""The directory is listed again after this number of new files, because other processes also add files."""
STALE_SECONDS = 3600
"""The age in seconds at which a temporary file is deleted: the process that wrote it is assumed to have ended."""

_CRC_BYTES = 4
_NAME = re.compile(r"[0-9a-f]{64}\.cached")
_TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.cached\.[0-9a-f]{32}\.tmp")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _CachedFile:
    path: str
    size: int
    used: float
    """When the file was last written or read, in epoch seconds."""


class LocalCache:
    """A directory of at most about ``max_bytes``; the files that were used longest ago are deleted first.

    ``scope`` names the store, so that files with equal paths in two stores have different copies. The directory is
    listed after every ``FILES_PER_LISTING`` new files. In between, files of other processes can make the directory
    larger than the maximum.
    """

    def __init__(self, directory: str, max_bytes: int, scope: str) -> None:
        """Create the cache, and its directory when it is missing.

        Raises InvalidOption for a directory that cannot be used, or that other users of the machine can change.
        """
        self.directory = directory
        self.max_bytes = max_bytes
        self.scope = scope
        self._lock = threading.Lock()
        self._size: int | None = None
        """The bytes in the directory; None before the first listing."""
        self._added = 0
        self._has_failed = False
        _check_directory(directory)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file of the warehouse; None when the cache has no copy, or a damaged one."""
        cached = self._path(path)
        try:
            content = cached.read_bytes()
            os.utime(cached)
        except OSError:
            return None
        data = content[_CRC_BYTES:]
        if len(content) < _CRC_BYTES or zlib.crc32(data).to_bytes(_CRC_BYTES, "little") != content[:_CRC_BYTES]:
            self.forget(path)
            return None
        return data

    def keep(self, path: str, data: bytes) -> None:
        """Add ``data``, unless it is too large, as the copy of a file that never changes.

        Only the first disk error is logged.
        """
        if len(data) + _CRC_BYTES > self.max_bytes:
            return
        cached = self._path(path)
        temporary = cached.with_name(f".{cached.name}.{uuid.uuid4().hex}.tmp")
        try:
            try:
                temporary.write_bytes(zlib.crc32(data).to_bytes(_CRC_BYTES, "little") + data)
                temporary.replace(cached)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            self._count(len(data) + _CRC_BYTES)
        except OSError as error:
            if not self._has_failed:
                _log.warning("the local cache %s cannot be written: %s", self.directory, error)
            self._has_failed = True

    def has(self, path: str) -> bool:
        """Whether the cache has a copy of a file of the warehouse, damaged or not."""
        return self._path(path).exists()

    def forget(self, path: str) -> None:
        """Delete the copy of a file of the warehouse."""
        with contextlib.suppress(OSError):
            self._path(path).unlink()

    def _path(self, path: str) -> Path:
        return Path(self.directory, hashlib.sha256(f"{self.scope}\0{path}".encode()).hexdigest() + ".cached")

    def _count(self, added: int) -> None:
        with self._lock:
            self._added += 1
            if self._size is not None and self._added % FILES_PER_LISTING:
                self._size += added
                if self._size <= self.max_bytes:
                    return
            self._size = self._trimmed()

    def _trimmed(self) -> int:
        """If the directory is too large, delete the files that were used longest ago. Return the remaining bytes."""
        files = sorted(self._listed(), key=lambda file: file.used)
        size = sum(file.size for file in files)
        if size <= self.max_bytes:
            return size
        for file in files:
            if size <= TRIMMED_TO * self.max_bytes:
                break
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file.path)
            size -= file.size
        return size

    def _listed(self) -> list[_CachedFile]:
        """Return the cached files; delete old temporary files, and ignore all other files."""
        found = []
        with os.scandir(self.directory) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    state = entry.stat(follow_symlinks=False)
                    if _NAME.fullmatch(entry.name):
                        found.append(_CachedFile(entry.path, state.st_size, state.st_mtime))
                    elif _TEMPORARY.fullmatch(entry.name) and state.st_mtime < time.time() - STALE_SECONDS:
                        os.unlink(entry.path)
        return found


def _check_directory(directory: str) -> None:
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        state = os.stat(directory)
    except OSError as error:
        raise InvalidOption(f"the local cache {directory} cannot be created: {error.strerror}") from error
    if state.st_uid != os.geteuid() or state.st_mode & 0o022:
        raise InvalidOption(
            f"the local cache {directory} must belong to the user of this process, and no other user may write to it"
        )
    if not os.access(directory, os.W_OK | os.X_OK):
        raise InvalidOption(f"the local cache {directory} is not writable")
