"""Files of an object store as Arrow streams.

Reading asks for ranges: the end of the file first, where Parquet and ORC keep their footers and which is all of a
small file, then what is asked for, with some more after a small read. Writing sends parts; nothing shows before
``close``, and a stream that is left by an exception, discarded or forgotten leaves nothing.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa

TAIL_BYTES = 256 * 1024
"""Read when a file is opened: about what comes in the time of one round trip."""
AHEAD_BYTES = 1024 * 1024
"""The least that is read at once after that."""


class RemoteReader(io.RawIOBase):
    """A file by ranges: ``fetch(start, end)`` gives exactly those bytes."""

    def __init__(self, fetch: Callable[[int, int], bytes], tail: bytes, size: int) -> None:
        self._fetch = fetch
        self._size = size
        self._at = 0
        self._tail = (size - len(tail), tail)
        self._ahead = (0, b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The position in bytes."""
        return self._at

    def size(self) -> int:
        """The bytes of the whole file."""
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position, as for any file."""
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence])
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes, fewer only at the end of the file."""
        rest = max(0, self._size - self._at)
        data = self._bytes(self._at, self._at + (rest if size is None or size < 0 else min(size, rest)))
        self._at += len(data)
        return data

    def readall(self) -> bytes:
        """All that is left."""
        return self.read()

    def _bytes(self, start: int, end: int) -> bytes:
        for first, held in (self._tail, self._ahead):
            if first <= start and end <= first + len(held):
                return held[start - first : end - first]
        tail_start, tail = self._tail
        if end > tail_start:
            return self._bytes(start, tail_start) + tail[max(0, start - tail_start) : end - tail_start]
        if end - start >= AHEAD_BYTES:
            return self._fetch(start, end)
        self._ahead = (start, self._fetch(start, min(start + AHEAD_BYTES, tail_start)))
        return self._ahead[1][: end - start]


class Sink(Protocol):
    """Where a ``RemoteWriter`` puts its bytes; each call raises PaimonErrors only."""

    def put(self, data: bytes) -> None:
        """The whole file at once."""

    def part(self, data: bytes) -> None:
        """The next part of a large file."""

    def complete(self) -> None:
        """The end of a large file."""

    def abort(self) -> None:
        """Drop the parts sent so far."""


class RemoteWriter(io.RawIOBase):
    """Collects bytes into parts of one size; ``close`` completes the file, unless a call failed before."""

    def __init__(self, sink: Sink, part_bytes: int) -> None:
        self._sink = sink
        self._part_bytes = part_bytes
        self._buffer = bytearray()
        self._sent = 0
        self._is_over = False

    def writable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The bytes written so far."""
        return self._sent + len(self._buffer)

    def write(self, data: Any) -> int:
        """Take bytes; whole parts are sent."""
        view = memoryview(data).cast("B")
        self._buffer += view
        while len(self._buffer) >= 2 * self._part_bytes:  # the last part must not be empty
            self._send(self._part_bytes)
        return len(view)

    def close(self) -> None:
        """Make the file appear; raises StorageError, and then there is none."""
        if self.closed or self._is_over:
            return super().close()
        try:
            if not self._sent:
                self._is_over = True
                self._sink.put(bytes(self._buffer))
            else:
                self._send(len(self._buffer))
                self._is_over = True
                self._sink.complete()
        finally:
            super().close()
        return None

    def discard(self) -> None:
        """Close without a file; a second call, or one after ``close``, does nothing."""
        if not self._is_over:
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
        self._is_over = True
        with contextlib.suppress(OSError):  # parts that stay are seen by nobody, and the bucket's lifecycle ends them
            self._sink.abort()

    def __del__(self) -> None:
        self._is_over = True


class RemoteOutput(pa.PythonFile):  # type: ignore[misc]
    """A ``RemoteWriter`` as an Arrow stream, which an exception in its ``with`` block discards."""

    def __new__(cls, writer: RemoteWriter) -> RemoteOutput:  # noqa: D102 - Arrow opens the file here
        stream: RemoteOutput = pa.PythonFile.__new__(cls, writer, mode="w")
        return stream

    def __init__(self, writer: RemoteWriter) -> None:
        self._writer = writer

    def discard(self) -> None:
        """Close without a file."""
        self._writer.discard()
        self.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close() if kind is None else self.discard()


def discard(stream: pa.NativeFile) -> None:
    """Close a stream whose file is not wanted: where the store can, the file never appears."""
    if isinstance(stream, RemoteOutput):
        stream.discard()
    else:
        stream.close()
