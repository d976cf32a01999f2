"""Creation times: local wall clock time that is stored as if it were UTC (format 4.1)."""

from __future__ import annotations

import time


def epoch_millis(local_millis: int) -> int | None:
    """Convert a creation time to epoch milliseconds in this process's time zone; None outside of the calendar."""
    seconds, millis = divmod(local_millis, 1000)
    try:
        return int(time.mktime((*time.gmtime(seconds)[:8], -1))) * 1000 + millis
    except (OverflowError, ValueError, OSError):
        return None
