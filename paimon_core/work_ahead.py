"""Work ahead: the next item of an iterator is made in a thread while the caller works on the item before it.

So one bucket uses several processors: the rows of a window are decoded while the window before it is merged, and merged
while the rows before them are encoded. The items and their order do not change.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


def made_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, in order; the next one is made while the caller works on the last one.

    Memory: one item more than the caller holds. An error of ``items`` is raised where its item would be yielded. When
    the caller stops early, the thread ends after the item that it makes, and ``items`` is closed in that thread; it has
    ended when this generator is closed.
    """
    ahead = _Ahead(items)
    try:
        ahead.start()
        while (item := ahead.take()) is not None:
            yield item
            del item  # the caller alone decides how long the item is in memory
    finally:
        ahead.stop()


class _Ahead(Generic[Item]):
    """One thread that makes items; ``_changed`` is the lock for the whole state."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._changed = threading.Condition()
        self._made: Item | None = None
        self._is_wanted = True
        self._has_ended = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="paimon-ahead", daemon=True)

    def start(self) -> None:
        _RUNNING.add(self)
        self._thread.start()

    def take(self) -> Item | None:
        """Return the next item, None at the end, and let the thread make the item after it."""
        with self._changed:
            self._changed.wait_for(lambda: self._made is not None or self._has_ended)
            if self._made is None and self._failure is not None:
                raise self._failure
            item, self._made = self._made, None
            self._changed.notify_all()
            return item

    def stop(self) -> None:
        """Make the thread end and wait until it has ended."""
        with self._changed:
            self._is_wanted, self._made = False, None
            self._changed.notify_all()
        # The garbage collector may close the generator in the thread itself.
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            self._thread.join()
        _RUNNING.discard(self)

    def _work(self) -> None:
        failure: BaseException | None = None
        try:
            while self._has_room() and (item := next(self._items, None)) is not None:
                with self._changed:
                    self._made = item if self._is_wanted else None
                    self._changed.notify_all()
                del item  # free its memory as soon as the caller releases it
        except BaseException as error:
            failure = error
        try:
            close: Any = getattr(self._items, "close", None)
            if close is not None:
                close()
        except BaseException as error:
            failure = failure or error
        with self._changed:
            self._failure, self._has_ended = failure, True
            self._changed.notify_all()

    def _has_room(self) -> bool:
        """Wait until the caller has taken the last item; return False when the thread must end."""
        with self._changed:
            self._changed.wait_for(lambda: self._made is None or not self._is_wanted)
            return self._is_wanted


_RUNNING: weakref.WeakSet[_Ahead[Any]] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Stop the threads whose callers have not finished: a thread must not run while the interpreter shuts down."""
    for ahead in list(_RUNNING):
        ahead.stop()
