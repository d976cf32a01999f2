"""Durable writes on the local disk: what POSIX asks for so that a file survives a power loss whole.

A function that returns has its bytes and its directory entry on disk (fsync of the file, then of the directory).
``create_whole`` publishes by link(2): readers see no file or all of it, and of two racers exactly one wins. Temporary
files are called ``.<name>.<uuid>.tmp`` beside the final name (format 1.1) and are removed on every path.
"""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from paimon_core.errors import CommitStateUnknown, StorageError

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK})
_NO_DIRECTORY_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF})


def create_whole(path: str, data: bytes) -> bool:
    """Create ``path`` with all of ``data`` unless it exists: True created, False somebody was first.

    Raises StorageError where the file system has no hard links, CommitStateUnknown when the file is there but the
    disk would not confirm it, OSError otherwise.
    """
    if os.path.lexists(path):
        return False
    with _temporary(path, data) as temporary:
        try:
            os.link(temporary, path, follow_symlinks=False)
        except OSError as error:
            # A network file system may report an error, EEXIST too, for a link that it made: the link count knows.
            if os.stat(temporary).st_nlink < 2:
                if isinstance(error, FileExistsError):
                    return False
                if error.errno in _NO_LINKS:
                    raise StorageError(
                        f"cannot publish {path}: the file system has no hard links ({error.strerror}), and without "
                        "them a commit is not atomic",
                        path=path,
                    ) from error
                raise
    try:
        _sync_directory(path)
    except OSError as error:
        raise CommitStateUnknown(f"{path} was created, but the disk did not confirm it: {error}", path=path) from error
    return True


def create(path: str, data: bytes) -> None:
    """Write a new file; raises FileExistsError when the name is taken, and leaves nothing behind when it fails."""
    descriptor = _open_new(path)
    try:
        _write_all(descriptor, data)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    _sync_directory(path)


def replace(path: str, data: bytes) -> None:
    """Put ``data`` in the place of ``path``: readers see the old bytes or the new."""
    with _temporary(path, data) as temporary:
        os.replace(temporary, path)
    _sync_directory(path)


def move(source: str, target: str) -> None:
    """Give a file a new name that is free; raises FileExistsError when it is taken."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        if not os.path.lexists(source):
            raise
        make_directory(os.path.dirname(target))
        os.link(source, target, follow_symlinks=False)
    _sync_directory(target)
    os.unlink(source)


def move_directory(source: str, target: str) -> None:
    """Give a directory a new name that is free, durably; raises FileExistsError when it is taken."""
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    if not os.path.isdir(os.path.dirname(target)):
        make_directory(os.path.dirname(target))
    os.rename(source, target)
    _sync_directory(target)
    _sync_directory(source)


class DurableFile(pa.OSFile):  # type: ignore[misc]
    """A new file as an Arrow stream, ``DurableFile(path, "wb")``: ``close`` returns when the bytes are on disk."""

    def __init__(self, path: str, mode: str) -> None:
        self._path = path

    def close(self) -> None:
        """Sync and close; a second call does nothing. Raises StorageError when the disk does not confirm."""
        if self.closed:
            return
        try:
            os.fsync(self.fileno())
            super().close()
            _sync_directory(self._path)
        except OSError as error:
            raise StorageError(f"cannot write {self._path}: {error}", path=self._path) from error
        finally:
            super().close()


def open_new(path: str) -> DurableFile:
    """A new file to stream into; missing directories are made."""
    try:
        return DurableFile(path, "wb")
    except FileNotFoundError:
        make_directory(os.path.dirname(path))
        return DurableFile(path, "wb")


def make_directory(directory: str) -> None:
    """Make a directory and its missing parents, each entry durable; raises NotADirectoryError for a file."""
    try:
        os.mkdir(directory)
    except FileExistsError:
        if not os.path.isdir(directory):
            raise NotADirectoryError(errno.ENOTDIR, "is a file", directory) from None
        return
    except FileNotFoundError:
        parent = os.path.dirname(directory)
        if os.path.isdir(parent):
            raise  # the parent is there and takes no entry, as /proc
        make_directory(parent)
        make_directory(directory)
        return
    _sync_directory(directory)


@contextlib.contextmanager
def _temporary(path: str, data: bytes) -> Any:
    final = PurePosixPath(path)
    temporary = str(final.with_name(f".{final.name}.{uuid.uuid4()}.tmp"))
    try:
        _write_all(_open_new(temporary), data)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _open_new(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        make_directory(os.path.dirname(path))
        return os.open(path, flags, 0o666)


def _write_all(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())


def _sync_directory(path: str) -> None:
    """Make the entry ``path`` of its directory durable."""
    descriptor = os.open(os.path.dirname(path) or "/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
    finally:
        os.close(descriptor)
