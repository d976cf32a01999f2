"""Timing: seconds on the clock of some work, and lines about progress on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds on the clock that ``work`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def log(text: str) -> None:
    """Write a line about progress."""
    print(f"  {text} ...", file=sys.stderr, flush=True)
