"""Time text: parses ISO dates, times and timestamps exactly, with up to nine digits of a second.

The functions raise ValueError; the message continues a sentence that starts with the value: "is not a date ...".
"""

from __future__ import annotations

import re
from datetime import date, datetime, time

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_CLOCK = r"(\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?"
_TIME = re.compile(_CLOCK)
_DATETIME = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:[T ]{_CLOCK}\s*(Z|[+-]\d\d:?\d\d(?::?\d\d)?)?)?")


def nanos_of_day(value: str | time) -> int:
    """Return the nanoseconds since midnight for a time without a time zone."""
    found = _TIME.fullmatch(value if isinstance(value, str) else value.isoformat())
    if found is None:
        raise ValueError("is not a time without zone such as '12:30:00.5'")
    return _nanos(found.group(1), found.group(2))


def date_and_nanos(value: str | date) -> tuple[int, int, int | None]:
    """Return days since 1970-01-01, nanoseconds of that day, and the zone's offset in nanoseconds (None: no zone)."""
    found = _DATETIME.fullmatch(value if isinstance(value, str) else value.isoformat())
    if found is None:
        raise ValueError("is not a date such as '2026-05-01' or a time such as '2026-05-01T12:30:00.5'")
    day, clock, fraction, zone = found.groups()
    offset = None
    if zone is not None:
        delta = datetime.fromisoformat("1970-01-01T00:00:00" + zone).utcoffset()
        assert delta is not None
        offset = int(delta.total_seconds()) * 1_000_000_000
    return date.fromisoformat(day).toordinal() - _EPOCH_DAY, _nanos(clock, fraction), offset


def _nanos(clock: str | None, fraction: str | None) -> int:
    if clock is None:
        return 0
    at = time.fromisoformat(clock)
    seconds = (at.hour * 60 + at.minute) * 60 + at.second
    return seconds * 1_000_000_000 + int((fraction or "").ljust(9, "0"))
