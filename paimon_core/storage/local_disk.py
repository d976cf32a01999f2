"""Durable writes on the local disk: what POSIX asks for so that a file survives a power loss whole.

A function that returns has its bytes and its directory entry on disk (fsync of the file, then of the directory).
``create_whole`` publishes by link(2): readers see no file or all of it, and of two racers exactly one wins. Temporary
files are called ``.<name>.<uuid>.tmp`` beside the final name (format 1.1) and are removed on every path.

Other threads and processes may make the same directories at any moment, and an expiry may remove empty ones. So a
directory that is missing, or that is removed before the new file is in it, is made again, up to ``TRIES`` times.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any, TypeVar

import pyarrow as pa

from paimon_core.errors import CommitStateUnknown, StorageError
from paimon_core.storage.symbolic_links import link_error

TRIES = 20
"""How often a directory that keeps disappearing is made again; the limit also ends tries in places such as /proc."""
_T = TypeVar("_T")
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK})
_READ_BYTES = 1 << 20
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


def read(path: str, *, follow: bool) -> bytes:
    """The bytes of a file; unless ``follow``, raises CorruptTable for a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            raise link_error(path) from error
        raise
    try:
        data = os.read(descriptor, os.fstat(descriptor).st_size + 1)
        while more := os.read(descriptor, _READ_BYTES):
            data += more
        return data
    finally:
        os.close(descriptor)


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
    _in_directory(target, lambda: os.link(source, target, follow_symlinks=False), source)
    _sync_directory(target)
    os.unlink(source)


def move_directory(source: str, target: str) -> None:
    """Give a directory a new name that is free, durably; raises FileExistsError when it is taken."""
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    _in_directory(target, lambda: os.rename(source, target), source)
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
    return _in_directory(path, lambda: DurableFile(path, "wb"))


def make_directory(directory: str) -> None:
    """Make a directory and its missing parents, each entry durable; raises NotADirectoryError for a file."""
    if os.path.isdir(directory):
        return
    _in_directory(directory, lambda: _make(directory))


def delete_directory(directory: str) -> None:
    """Delete a directory and all below it; of symbolic links, this one or below, only the link.

    Entries that others remove meanwhile are no error. Raises FileNotFoundError when there is none.
    """
    if os.path.islink(directory):
        os.unlink(directory)
        return
    for _ in range(TRIES):
        try:
            shutil.rmtree(directory)
        except FileNotFoundError:
            if not os.path.lexists(directory):
                raise
        else:
            return
    shutil.rmtree(directory)


def _make(directory: str) -> None:
    """One directory in one that is there, its entry durable."""
    try:
        os.mkdir(directory)
    except FileExistsError:
        if os.path.lexists(directory) and not os.path.isdir(directory):
            raise NotADirectoryError(errno.ENOTDIR, "is a file", directory) from None
        return
    _sync_directory(directory)


def _in_directory(path: str, act: Callable[[], _T], source: str | None = None) -> _T:
    """Call ``act``, which makes an entry at ``path``; make the directory of ``path`` first when it is missing.

    Raises FileNotFoundError when ``source`` is missing, or the directory after all tries.
    """
    for _ in range(TRIES):
        try:
            return act()
        except FileNotFoundError:
            if source is not None and not os.path.lexists(source):
                raise
            make_directory(os.path.dirname(path))
    return act()


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
    return _in_directory(path, lambda: os.open(path, flags, 0o666))


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
