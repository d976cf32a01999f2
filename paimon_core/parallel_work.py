"""run_parallel: calls one function for many items, in at most as many threads as there are processors.

Threads are useful because Arrow and numpy release the interpreter lock and storage calls wait for I/O. All threads take
their items from one shared queue: a thread pool that passes each item to a worker is slow for thousands of small items.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TypeVar

from paimon_core import processors

_SHARE: ContextVar[int | None] = ContextVar("share", default=None)
"""The number of processors of this thread while it works for ``run_parallel``.

A context variable also stays apart where a thread switches between coroutines.
"""

REMOTE_CALLS = 16
"""The largest number of calls of one operation that wait for a remote store at the same time."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_parallel(work: Callable[[Item], Result], items: Iterable[Item], most: int | None = None) -> list[Result]:
    """Return the result of ``work`` for each item, in the order of the items; the calling thread also processes items.

    ``most``: the largest number of items that are processed at the same time; None: the number of processors.
    After an exception no further item is started. The first exception is raised when all threads have ended.
    """
    waiting = deque(enumerate(items))
    count = thread_count(len(waiting)) if most is None else max(1, min(most, len(waiting)))
    if count < 2:  # the calling thread keeps its share of the processors
        return [work(item) for _, item in waiting]
    results: dict[int, Result] = {}
    failures: list[BaseException] = []
    known = _SHARE.get()
    share = max(1, own_processors() // max(1, count))

    def work_on_items() -> None:
        _SHARE.set(share)
        while waiting and not failures:
            try:
                number, item = waiting.popleft()
            except IndexError:
                return
            try:
                results[number] = work(item)
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=work_on_items, daemon=True) for _ in range(count - 1)]
    started = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
        work_on_items()
    except BaseException as error:  # an interrupt between two items, or no thread could be started
        failures.append(error)
    _SHARE.set(known)
    while started:
        try:
            started[-1].join()
            started.pop()
        except BaseException as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return [results[number] for number in range(len(results))]


def call_together(*calls: Callable[[], Result]) -> list[Result]:
    """Return the results of calls that wait for a server, each in a thread of its own; raises as ``run_parallel``."""
    return run_parallel(lambda call: call(), calls, most=len(calls))


def own_processors() -> int:
    """Return the number of processors that the calling thread may keep busy: inside of ``run_parallel`` its share, in a
    task of Spark the processors of the task.
    """
    return _SHARE.get() or processors.usable_by_task()


def thread_count(items: int) -> int:
    """Return the number of threads for this number of items: at most one per processor."""
    return items if items < 2 else min(items, processors.usable())  # ``usable`` asks the system at each call
