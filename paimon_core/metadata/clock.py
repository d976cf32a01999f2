"""clock: the current time in the unit of the format, epoch milliseconds."""

from __future__ import annotations

import time


def now_millis(told: int | None = None) -> int:
    """Return ``told``, the time that the caller was given as now, or (None) the time of this machine's clock."""
    return time.time_ns() // 1_000_000 if told is None else told
