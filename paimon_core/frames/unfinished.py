"""Unfinished: streams that other libraries read in threads of their own end before the interpreter does.

DuckDB and Arrow read ahead. When a query needs no more rows, such a thread may still run Python code, and a process
that ends meanwhile would be aborted. So at the end of the process no stream begins another batch, and the process waits
for the batches that are being read.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Iterable, Iterator

import pyarrow as pa

_PAUSE = 0.02
"""Seconds in which a thread that has read its last batch leaves Python code."""
_LONGEST = 30.0
"""Seconds to wait for a batch; a process that ends must not hang."""


class Unfinished:
    """The batches of a reader, until ``stop``."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._lock = threading.Lock()
        self._is_over = False
        _STREAMS.add(self)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            if self._is_over:
                raise StopIteration
            try:
                return next(self._batches)
            except BaseException:
                self._is_over = True
                raise

    def stop(self) -> bool:
        """End the stream after the batch that is being read; returns whether it had more batches."""
        if self._is_over:
            return False
        self._is_over = True  # before the lock, so that no other batch begins
        if self._lock.acquire(timeout=_LONGEST):
            self._lock.release()
        return True


_STREAMS: weakref.WeakSet[Unfinished] = weakref.WeakSet()


@atexit.register
def stop_streams() -> None:
    """End all streams."""
    ended = [stream.stop() for stream in list(_STREAMS)]
    if any(ended):
        time.sleep(_PAUSE)


def until_exit(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return a reader of the same batches that ends at the latest when the process ends."""
    return pa.RecordBatchReader.from_batches(reader.schema, Unfinished(reader))
