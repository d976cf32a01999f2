"""SpillSpace: stores sorted runs on local disk when the rows exceed the memory of a TableWriter (format 18).

Runs are files of batches (``write.spill_batches``) in a separate directory below the system's temporary directory. The
first run creates the directory. ``close`` deletes the directory; without ``close``, the garbage collection of the space
deletes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from threading import Lock

import pyarrow as pa

from paimon_core.errors import StorageError
from paimon_core.options import TableOptions
from paimon_core.write.spill_batches import BatchWriter, StoredBatch, read_batch

_LONG_BYTES = 1 << 10
"""Rows with more bytes than this on average are called long."""


class SpillSpace:
    """A directory of sorted runs on local disk, with a size limit. Thread-safe, but only one thread may use a run."""

    def __init__(self, limit_bytes: int, compression: pa.Codec | None) -> None:
        self._limit_bytes = limit_bytes
        self._compression = compression
        self._lock = Lock()
        self._numbers = count()
        self._used = 0
        self._folder: str | None = None
        self._removal: weakref.finalize[[str, int], SpillSpace] | None = None

    @staticmethod
    def of(options: TableOptions) -> SpillSpace | None:
        """Return the space that the options allow; None with write-buffer-spillable = false."""
        if not options["write-buffer-spillable"]:
            return None
        name = options["spill-compression"]
        level = options["spill-compression.zstd-level"] if name == "zstd" else None
        codec = None if name == "none" else pa.Codec(name, compression_level=level)
        return SpillSpace(options["write-buffer-spill.max-disk-size"], codec)

    @property
    def used_bytes(self) -> int:
        """The bytes of all runs on disk."""
        return self._used

    @property
    def has_room(self) -> bool:
        """Whether the runs use fewer bytes than the limit. The last run that is written may exceed the limit."""
        return self._used < self._limit_bytes

    def put(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> SpilledRun:
        """Write a run and return it. Raises StorageError when the disk fails or is full; the file is then deleted."""
        path = ""
        try:
            path = os.path.join(self._directory(), f"run-{next(self._numbers)}.arrow")
            rows = row_bytes = 0
            stored = []
            with pa.OSFile(path, "wb") as sink:
                writer = BatchWriter(sink, self._compression)
                for batch in batches:
                    stored.append(writer.write(batch))
                    rows += batch.num_rows
                    row_bytes += batch.nbytes
            size = os.path.getsize(path)
        except BaseException as error:
            if path:
                with contextlib.suppress(OSError):
                    os.unlink(path)
            if isinstance(error, OSError) and not isinstance(error, StorageError):
                where = path or "the temporary directory"
                raise StorageError(
                    f"cannot write rows that exceed write-buffer-size to local disk, {where}: {error}", path=where
                ) from error
            raise
        self._count(size)
        if row_bytes > _LONG_BYTES * rows:
            pa.default_memory_pool().release_unused()  # the memory of other rows is used again for the next rows
        return SpilledRun(self, path, rows, size, schema, tuple(stored))

    def close(self) -> None:
        """Delete all runs; the space may be used again."""
        with self._lock:
            if self._removal is not None:
                self._removal()
            self._folder, self._removal, self._used = None, None, 0

    def _directory(self) -> str:
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.mkdtemp(prefix="paimon-spill-")
                self._removal = weakref.finalize(self, _remove, self._folder, os.getpid())
            return self._folder

    def _count(self, size: int) -> None:
        with self._lock:
            self._used += size


@dataclass(frozen=True, slots=True)
class SpilledRun:
    """A sorted run on local disk."""

    space: SpillSpace
    path: str
    rows: int
    size: int
    schema: pa.Schema
    stored: tuple[StoredBatch, ...]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as they were written, batch by batch; raises StorageError when the file cannot be read."""
        try:
            with pa.OSFile(self.path) as source:
                for batch in self.stored:
                    yield read_batch(source, self.schema, batch)
        except (OSError, pa.ArrowException) as error:
            raise StorageError(
                f"cannot read back rows from local disk, {self.path}: {error}", path=self.path
            ) from error

    def delete(self) -> None:
        """Delete the file; a missing file is no error."""
        self.space._count(-self.size)
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def _remove(folder: str, owner: int) -> None:
    """Delete the directory, but not in a forked process: the directory belongs to the process ``owner``."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
