"""Remote files: files of an object store as Arrow streams.

A file is read by ranges. The first request reads the end of the file: the footer of a Parquet or ORC file, or all
bytes of a small file. Later requests read the requested ranges, and at least ``AHEAD_BYTES``. A file is
written in parts and becomes visible with ``close``. When the stream is discarded or garbage-collected, or when
an exception leaves its ``with`` block, no file is created.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa

TAIL_BYTES = 256 * 1024
"""The bytes to read when a file is opened: about as many as a store sends in the time of one round trip."""
AHEAD_BYTES = 1024 * 1024
"""The minimum number of bytes that each later request reads."""


class RemoteReader(io.RawIOBase):
    """A file that is read by ranges: ``fetch(start, end)`` returns exactly the bytes from ``start`` to ``end``."""

    def __init__(self, fetch: Callable[[int, int], bytes], tail: bytes, size: int) -> None:
        self._fetch = fetch
        self._size = size
        self._at = 0
        self._tail = (size - len(tail), tail)
        self._ahead = (0, b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position in bytes."""
        return self._at

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, see ``io.IOBase.seek``; return the new position."""
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence])
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end of the file."""
        rest = max(0, self._size - self._at)
        data = self._bytes(self._at, self._at + (rest if size is None or size < 0 else min(size, rest)))
        self._at += len(data)
        return data

    def readall(self) -> bytes:
        """Return the remaining bytes of the file."""
        return self.read()

    def _bytes(self, start: int, end: int) -> bytes:
        for first, data in (self._tail, self._ahead):
            if first <= start and end <= first + len(data):
                return data[start - first : end - first]
        tail_start, tail = self._tail
        if end > tail_start:
            return self._bytes(start, tail_start) + tail[max(0, start - tail_start) : end - tail_start]
        if end - start >= AHEAD_BYTES:
            return self._fetch(start, end)
        self._ahead = (start, self._fetch(start, min(start + AHEAD_BYTES, tail_start)))
        return self._ahead[1][: end - start]


class Sink(Protocol):
    """Receives the bytes of a ``RemoteWriter``; each method raises only PaimonErrors."""

    def put(self, data: bytes) -> None:
        """Write the whole file in one request."""

    def part(self, data: bytes) -> None:
        """Send the next part of a large file."""

    def complete(self) -> None:
        """Create the large file from the parts sent."""

    def abort(self) -> None:
        """Delete the parts sent so far."""


class RemoteWriter(io.RawIOBase):
    """Collects bytes into parts of equal size; ``close`` creates the file, unless an earlier call failed."""

    def __init__(self, sink: Sink, part_bytes: int) -> None:
        self._sink = sink
        self._part_bytes = part_bytes
        self._buffer = bytearray()
        self._sent = 0
        self._is_finished = False

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._sent + len(self._buffer)

    def write(self, data: Any) -> int:
        """Add bytes and send full parts; return the number of bytes added."""
        view = memoryview(data).cast("B")
        self._buffer += view
        while len(self._buffer) >= 2 * self._part_bytes:  # the last part must not be empty
            self._send(self._part_bytes)
        return len(view)

    def close(self) -> None:
        """Create the file; raises StorageError when that fails."""
        if self.closed or self._is_finished:
            return super().close()
        try:
            if not self._sent:
                self._is_finished = True
                self._sink.put(bytes(self._buffer))
            else:
                self._send(len(self._buffer))
                self._is_finished = True
                self._sink.complete()
        finally:
            super().close()
        return None

    def discard(self) -> None:
        """Close without creating the file; a second call, or a call after ``close``, does nothing."""
        if not self._is_finished:
            self._abort()
        super().close()

    def _send(self, count: int) -> None:
        part = bytes(memoryview(self._buffer)[:count])
        try:
            self._sink.part(part)
        except BaseException:
            self._abort()
            raise
        del self._buffer[:count]
        self._sent += count

    def _abort(self) -> None:
        self._is_finished = True
        with contextlib.suppress(OSError):  # parts that remain are not visible; a rule of the bucket can delete them
            self._sink.abort()

    def __del__(self) -> None:
        self._is_finished = True


class RemoteOutput(pa.PythonFile):  # type: ignore[misc]
    """A ``RemoteWriter`` as an Arrow stream; an exception in its ``with`` block discards the file."""

    def __new__(cls, writer: RemoteWriter) -> RemoteOutput:  # noqa: D102 - Arrow opens the file here
        stream: RemoteOutput = pa.PythonFile.__new__(cls, writer, mode="w")
        return stream

    def __init__(self, writer: RemoteWriter) -> None:
        self._writer = writer

    def discard(self) -> None:
        """Close without creating the file."""
        self._writer.discard()
        self.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close() if kind is None else self.discard()


def discard(stream: pa.NativeFile) -> None:
    """Close a stream whose file is not needed; on object stores the file is then not created."""
    if isinstance(stream, RemoteOutput):
        stream.discard()
    else:
        stream.close()
