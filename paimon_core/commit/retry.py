"""Retries of a commit: the number of retries, and the time to wait before each retry (format 14.1)."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from paimon_core.options import TableOptions


def pauses(options: TableOptions, count: int) -> Iterator[float]:
    """Yield the seconds to wait before each retry.

    The time doubles with each retry, up to a maximum. A random part of up to a fifth of the time is added.
    """
    for retry in range(count):
        millis = min(options["commit.min-retry-wait"] * 2 ** min(retry, 40), options["commit.max-retry-wait"])
        yield millis * (1 + random.random() / 5) / 1000


def attempts(options: TableOptions, count: int) -> Iterator[None]:
    """Yield ``count`` times and sleep before each retry."""
    for pause in (None, *pauses(options, count - 1)):
        if pause is not None:
            time.sleep(pause)
        yield


def tries(options: TableOptions) -> Iterator[None]:
    """Yield once per attempt and sleep before each retry, until commit.max-retries or commit.timeout is reached."""
    start = time.monotonic()
    timeout = options["commit.timeout"]
    yield
    for pause in pauses(options, options["commit.max-retries"]):
        if timeout is not None and (time.monotonic() - start + pause) * 1000 > timeout:
            return
        time.sleep(pause)
        yield
