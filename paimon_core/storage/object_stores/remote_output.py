"""Remote output: a file of an object store that is written as an Arrow stream.

A file is written in parts and becomes visible with ``close``. When the stream is discarded or garbage-collected, or
when an exception leaves its ``with`` block, no file is created.
"""

from __future__ import annotations

import contextlib
import io
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa


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
