"""side_by_side: the same work on many items, in as many threads as there are processors.

Threads help, as Arrow and numpy release the interpreter lock and storage calls wait for I/O. Each thread takes the next
item from one queue, since a pool that is given each item by another thread is slow for thousands of small items.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The result of ``work`` for each item, in the order of the items; the calling thread takes part.

    After a failure no further item is started; the first failure is raised when all threads have ended.
    """
    waiting = deque(enumerate(items))
    results: dict[int, Result] = {}
    failures: list[BaseException] = []

    def take() -> None:
        while waiting and not failures:
            try:
                number, item = waiting.popleft()
            except IndexError:
                return
            try:
                results[number] = work(item)
            except BaseException as error:
                failures.append(error)

    others = [threading.Thread(target=take, daemon=True) for _ in range(thread_count(len(waiting)) - 1)]
    begun = []
    try:
        for thread in others:
            thread.start()
            begun.append(thread)
        take()
    except BaseException as error:  # an interrupt between two items, or no further thread to be had
        failures.append(error)
    while begun:
        try:
            begun[-1].join()
            begun.pop()
        except BaseException as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return [results[number] for number in range(len(results))]


def thread_count(items: int) -> int:
    """How many threads to use for this number of items."""
    return min(items, os.cpu_count() or 1)
