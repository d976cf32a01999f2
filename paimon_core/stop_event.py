"""StopEvent: an event that a handler of signals sets, and that ends a wait.

``threading.Event`` is not made for that: a handler runs in the main thread between two steps of Python, and if the main
thread holds the lock of the event at that moment, ``set`` waits for ever. A signal that arrives just before a wait
begins does not interrupt the wait, and its handler only runs afterwards, so no wait is long.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue

LONGEST_WAIT = 1.0
"""Seconds after which a wait begins anew, so that the handler of a signal that it has missed can run."""


class StopEvent:
    """An event as ``threading.Event``, which one thread waits for."""

    def __init__(self) -> None:
        self._is_set = False
        self._wake: SimpleQueue[None] = SimpleQueue()

    def is_set(self) -> bool:
        """Return whether the event is set."""
        return self._is_set

    def set(self) -> None:
        """Set the event and end the wait; a handler of signals may call this at any time."""
        self._is_set = True
        self._wake.put(None)  # may interrupt a call of ``get`` or ``put`` in the same thread

    def wait(self, seconds: float) -> bool:
        """Wait until the event is set, at most ``seconds``, which may be any number; return whether it is set."""
        end = time.monotonic() + seconds
        while not self._is_set and (left := end - time.monotonic()) > 0:
            with contextlib.suppress(Empty):
                self._wake.get(timeout=min(left, LONGEST_WAIT))
        return self._is_set


@contextlib.contextmanager
def stop_by_signal(*, second_interrupts: bool) -> Iterator[StopEvent]:
    """Yield an event that SIGINT and SIGTERM set; at the end, restore the previous handlers of signals.

    ``second_interrupts``: a second signal raises KeyboardInterrupt. In a thread other than the main thread no signal
    sets the event.
    """
    stop = StopEvent()

    def ended(*_: object) -> None:
        if second_interrupts and stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, ended) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
