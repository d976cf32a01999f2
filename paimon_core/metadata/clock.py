"""Clock: the current time in epoch milliseconds, the unit of the format."""

from __future__ import annotations

import time


def now_millis(now: int | None = None) -> int:
    """Return ``now`` if given, otherwise the time of this machine's clock; both are milliseconds since 1970."""
    return time.time_ns() // 1_000_000 if now is None else now
