"""Parallel batches: reads several items, such as splits, in a few threads, and yields their batches in bounded memory.

The threads take the items in order. The batches that were read are in queues until the consumer takes them; when the
queues contain ``held_bytes``, the threads pause. In ordered output, the thread that reads the consumer's next item does
not pause but reads one batch at a time: otherwise full queues of later items would block the read.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import pyarrow as pa

HELD_BYTES = 64 << 20
"""The default limit for the bytes of batches that have been read and that the consumer has not taken yet."""
MAX_THREADS = 8
"""The default maximum of threads, because each thread may have a window of a merge in memory."""

Item = TypeVar("Item")


def parallel_batches(
    read: Callable[[Item], Iterable[pa.RecordBatch]],
    items: Sequence[Item],
    *,
    threads: int,
    held_bytes: int | None = HELD_BYTES,
    ordered: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of all items, in the order of the items; with ``ordered=False``, each batch as soon as it is
    ready.

    Memory: ``held_bytes`` in queues (None: no bound), and one batch per thread beyond that. The first error of a thread
    is raised as soon as the consumer asks for the next batch. When the consumer stops early, or after an error, the
    threads end after the batch that they are reading; they have ended when this generator is closed. With one thread,
    or one item, the calling thread reads and no thread is started.
    """
    if threads < 2 or len(items) < 2:
        for item in items:
            yield from read(item)
        return
    reading = _Reading(read, items, held_bytes, ordered=ordered)
    try:
        reading.start(min(threads, len(items)))
        while (batch := reading.take()) is not None:
            yield batch
    finally:
        reading.stop()


class _Reading(Generic[Item]):
    """The state that the threads and the consumer share; ``_changed`` is the lock for the whole state."""

    def __init__(
        self,
        read: Callable[[Item], Iterable[pa.RecordBatch]],
        items: Sequence[Item],
        held_bytes: int | None,
        *,
        ordered: bool,
    ) -> None:
        self._read = read
        self._items = items
        self._held_bytes = held_bytes
        self._ordered = ordered
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._queues: dict[int, deque[pa.RecordBatch]] = {}
        self._ended: set[int] = set()
        self._started = 0
        """The number of items that a thread has taken."""
        self._current = 0
        """The number of the item whose batches the consumer takes next; always 0 when the output is not ordered."""
        self._held = 0
        self._failure: BaseException | None = None
        self._stopped = False

    def start(self, count: int) -> None:
        _RUNNING.add(self)
        for _ in range(count):
            thread = threading.Thread(target=self._work, name="paimon-read", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Make the threads end, wait until they have ended, and free the batches that they have read."""
        with self._changed:
            self._stopped = True
            self._queues.clear()
            self._changed.notify_all()
        # The garbage collector may call this method in one of these threads, even while the thread holds a lock for
        # which the other threads wait: joining the other threads would then never end.
        if threading.current_thread() not in self._threads:
            for thread in self._threads:
                thread.join()
        _RUNNING.discard(self)

    # -- the consumer --------------------------------------------------------------------------------------------------

    def take(self) -> pa.RecordBatch | None:
        """Return the next batch, None at the end; raises the first error of a thread."""
        with self._changed:
            self._changed.wait_for(self._is_ready)
            if self._failure is not None:
                raise self._failure
            queue = self._queues.get(self._current)
            if not queue:
                return None
            batch = queue.popleft()
            self._held -= batch.nbytes
            self._changed.notify_all()
            return batch

    def _is_ready(self) -> bool:
        if self._failure is not None or self._stopped or self._queues.get(self._current):
            return True
        if not self._ordered:
            return len(self._ended) == len(self._items)
        before = self._current
        while self._current in self._ended and not self._queues.get(self._current):
            self._ended.discard(self._current)
            self._queues.pop(self._current, None)
            self._current += 1
        if self._current != before:
            self._changed.notify_all()
        return self._current == len(self._items) or bool(self._queues.get(self._current))

    # -- the threads ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            while (number := self._next_item()) is not None:
                self._read_item(number)
        except BaseException as error:
            with self._changed:
                self._failure = self._failure or error
                self._stopped = True
                self._changed.notify_all()

    def _next_item(self) -> int | None:
        with self._changed:
            if self._stopped or self._started == len(self._items):
                return None
            self._started += 1
            return self._started - 1

    def _read_item(self, number: int) -> None:
        batches = iter(self._read(self._items[number]))
        try:
            while self._has_room(number):
                batch = next(batches, None)
                with self._changed:
                    if batch is None:
                        self._ended.add(number)
                    elif not self._stopped:
                        self._queues.setdefault(self._queue_of(number), deque()).append(batch)
                        self._held += batch.nbytes
                    self._changed.notify_all()
                if batch is None:
                    return
        finally:
            close: Any = getattr(batches, "close", None)
            if close is not None:
                close()

    def _queue_of(self, number: int) -> int:
        return number if self._ordered else 0

    def _has_room(self, number: int) -> bool:
        """Wait until the thread of the item may read a batch; return False when the thread must end."""

        def may_read() -> bool:
            if self._stopped or self._held_bytes is None or self._held < self._held_bytes:
                return True
            return self._ordered and number == self._current and not self._queues.get(number)

        with self._changed:
            self._changed.wait_for(may_read)
            return not self._stopped


_RUNNING: weakref.WeakSet[_Reading[Any]] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Stop the threads of reads that have not finished: a thread must not run while the interpreter shuts down."""
    for reading in list(_RUNNING):
        reading.stop()
