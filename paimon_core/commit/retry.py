"""Retries of a commit: how often, and how long to wait before each (format 14.1)."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from paimon_core.options import TableOptions


def pauses(options: TableOptions, count: int) -> Iterator[float]:
    """Seconds to wait before each retry: doubling, with up to a fifth more by chance."""
    for retry in range(count):
        millis = min(options["commit.min-retry-wait"] * 2 ** min(retry, 40), options["commit.max-retry-wait"])
        yield millis * (1 + random.random() / 5) / 1000


def tries(options: TableOptions) -> Iterator[None]:
    """One step a try, with the pauses between, until the retries or the time of the options are used up."""
    start = time.monotonic()
    timeout = options["commit.timeout"]
    yield
    for pause in pauses(options, options["commit.max-retries"]):
        if timeout is not None and (time.monotonic() - start + pause) * 1000 > timeout:
            return
        time.sleep(pause)
        yield
