"""Progress meter: tells how far a long operation has come, to a callback, a bar of tqdm, or lines on standard error.

>>> with progress(print):  # doctest: +SKIP
...     table.compact(full=True)

Writes count rows, compactions bytes of input files, expiry and removals deleted files, a check snapshots, and a deep
check also data files.
Work in Spark tasks and other processes is not counted.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from paimon_core.errors import InvalidRequest

LEAST_SECONDS = 0.1
"""The least time between two reports of one operation; its end is always reported."""
LINE_SECONDS = 5.0
"""The least time between two lines of one operation on standard error."""
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Progress:
    """What an operation has done since it began."""

    operation: str
    """"write", "compact", "delete files", "check" or "check rows".

    In the command line also "import", "export" or "copy".
    """
    unit: str
    """What is counted: "rows", "bytes", "files" or "snapshots"."""
    done: int
    total: int | None
    """The amount when the operation is complete; None when it is not known."""
    seconds: float
    """The time since the operation began."""
    is_complete: bool = False

    @property
    def rate(self) -> float:
        """Units a second since the operation began."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the rate; None when the total or the rate is not known."""
        return None if self.total is None or not self.rate else max(0, self.total - self.done) / self.rate

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        left = "" if self.seconds_left is None or self.is_complete else f", about {self.seconds_left:,.0f} s left"
        return f"{self.operation}: {self.done:,}{of} {self.unit}, {self.rate:,.0f} a second{left}"


Report = Callable[[Progress], object]
_REPORT: contextvars.ContextVar[Report | None] = contextvars.ContextVar("paimon_core.progress", default=None)


@dataclass
class Meter:
    """Counts what one operation has done, from any thread, and reports it."""

    operation: str
    unit: str
    total: int | None
    report: Report | None
    done: int = 0
    _began: float = field(default_factory=time.monotonic)
    _told: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def advance(self, amount: int) -> None:
        """Add what was done."""
        if self.report is None:
            return
        with self._lock:
            self.done += amount
            now = time.monotonic()
            if now - self._told >= LEAST_SECONDS:
                self._told = now
                self.report(self._state(now))

    def counting(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, and count each when the next one is taken."""
        for item in items:
            yield item
            self.advance(1)
        self.complete()

    def complete(self) -> None:
        """Report the end of the operation, if it did anything."""
        if self.report is not None and self.done:
            with self._lock:
                self.report(self._state(time.monotonic(), is_complete=True))

    def _state(self, now: float, *, is_complete: bool = False) -> Progress:
        return Progress(self.operation, self.unit, self.done, self.total, now - self._began, is_complete)


def meter(operation: str, unit: str, total: int | None = None) -> Meter:
    """Return the meter of an operation that begins now; it reports to the ``progress`` that surrounds the call."""
    return Meter(operation, unit, total, _REPORT.get())


@contextlib.contextmanager
def progress(report: Report | None = None) -> Iterator[None]:
    """Report the progress of operations in the ``with`` block, in this thread, to ``report``.

    Without ``report``, tqdm shows a bar if it is installed; otherwise lines go to standard error, also when the
    environment has a value for ``NO_COLOR`` or ``TERM=dumb``: bars move the cursor with escape codes. ``report`` is
    called from the threads that work, one call at a time for each operation; an error that it raises ends the
    operation.
    Raises InvalidRequest when ``report`` is no function.
    """
    if report is not None and not callable(report):
        raise InvalidRequest(f"progress takes a function of a Progress, not {report!r:.60}")
    shown = report or (_Bars() if _has_bars() else _Lines())
    token = _REPORT.set(shown)
    try:
        yield
    finally:
        _REPORT.reset(token)
        if isinstance(shown, _Bars):
            shown.close()


def _has_bars() -> bool:
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return not is_plain and importlib.util.find_spec("tqdm") is not None


class _Lines:
    """Prints a line on standard error every few seconds, and at the end of an operation that took so long."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def __call__(self, state: Progress) -> None:
        now = time.monotonic()
        if now - self._told >= LINE_SECONDS or (state.is_complete and state.seconds >= LINE_SECONDS):
            self._told = now
            sys.stderr.write(f"{state}\n")


class _Bars:
    """Shows a bar of tqdm for each operation."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}

    def __call__(self, state: Progress) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        bar = self._bars.get(state.operation)
        if bar is None:
            scaled = state.unit == "bytes"
            bar = tqdm(total=state.total, desc=state.operation, unit=f" {state.unit}", unit_scale=scaled)
            self._bars[state.operation] = bar
        bar.update(state.done - bar.n)
        if state.is_complete:
            self._bars.pop(state.operation).close()

    def close(self) -> None:
        """Close the bars of operations that have failed."""
        for bar in self._bars.values():
            bar.close()
