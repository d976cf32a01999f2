"""Creation times: local wall clock time that is stored as if it were UTC (format 4.1)."""

from __future__ import annotations

import calendar
import time

_FIRST, _LAST = -62_000_000_000_000, 253_000_000_000_000


def local_millis(epoch_millis: int) -> int:
    """Return the creation time that this process's time zone gives to epoch milliseconds, within the calendar."""
    seconds, millis = divmod(min(max(epoch_millis, _FIRST), _LAST), 1000)
    return calendar.timegm(time.localtime(seconds)) * 1000 + millis


def epoch_millis(local_millis: int) -> int | None:
    """Convert a creation time to epoch milliseconds in this process's time zone; None outside of the calendar."""
    seconds, millis = divmod(local_millis, 1000)
    try:
        return int(time.mktime((*time.gmtime(seconds)[:8], -1))) * 1000 + millis
    except (OverflowError, ValueError, OSError):
        return None
