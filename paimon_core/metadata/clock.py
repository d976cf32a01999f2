"""clock: what time it is, in the unit of the format: epoch milliseconds."""

from __future__ import annotations

import time


def now_millis(told: int | None = None) -> int:
    """The time that the caller was told to take as now, or (None) that of this machine's clock."""
    return time.time_ns() // 1_000_000 if told is None else told
