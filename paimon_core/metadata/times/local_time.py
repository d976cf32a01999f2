"""Creation times: local wall clock time that is stored as if it were UTC (format 4.1)."""

from __future__ import annotations

import calendar
import time

_FIRST, _LAST = -62_000_000_000_000, 253_000_000_000_000


def local_millis(epoch_millis: int) -> int:
    """Convert epoch milliseconds to a creation time in this process's time zone.

    Times outside of the calendar of Python are replaced by the first or last possible time.
    """
    seconds, millis = divmod(min(max(epoch_millis, _FIRST), _LAST), 1000)
    return calendar.timegm(time.localtime(seconds)) * 1000 + millis


def epoch_millis(local_millis: int) -> int | None:
    """Convert a creation time in this process's time zone to epoch milliseconds.

    None for times that Python cannot convert.
    """
    seconds, millis = divmod(local_millis, 1000)
    try:
        return int(time.mktime((*time.gmtime(seconds)[:8], -1))) * 1000 + millis
    except (OverflowError, ValueError, OSError):
        return None
