"""Argument checks: convert times, ages and numbers to the types of the lower layers; errors name the wrong argument."""

from __future__ import annotations

import datetime
from typing import Any

from paimon_core.errors import InvalidRequest, shown

_BOUND = 2**63
"""Paimon stores times, watermarks and ids in 64 bits."""


def epoch_millis(time: Any) -> int:
    """Return ``time`` as epoch milliseconds; raises InvalidRequest when it is not a time.

    ``time`` is a datetime or a text in ISO format (local time if it has no time zone), a date (its first moment in
    local time), or epoch milliseconds.
    """
    if isinstance(time, str):
        try:
            time = datetime.datetime.fromisoformat(time)
        except ValueError:
            raise InvalidRequest(f"time {time!r:.60} is not in ISO format, such as 2026-01-31T12:00:00+01:00") from None
    if isinstance(time, datetime.date) and not isinstance(time, datetime.datetime):
        time = datetime.datetime.combine(time, datetime.time())
    if isinstance(time, datetime.datetime):
        try:
            return int(time.timestamp() * 1000)
        except (ValueError, OverflowError, OSError) as error:
            raise InvalidRequest(f"time {time} cannot be converted to epoch milliseconds: {error}") from None
    if isinstance(time, int) and not isinstance(time, bool):
        return whole("time", time)
    raise InvalidRequest(f"time must be a datetime, a date, ISO text or epoch milliseconds, not {shown(time, 60)}")


def as_millis(name: str, value: object) -> int:
    """Return the milliseconds of a timedelta; raises InvalidRequest for other types and for negative timedeltas."""
    if not isinstance(value, datetime.timedelta) or value < datetime.timedelta():
        raise InvalidRequest(f"{name} must be a timedelta that is not negative, not {value!r:.60}")
    return int(value.total_seconds() * 1000)


def given_millis(name: str, value: datetime.timedelta | None) -> int | None:
    """Return ``as_millis`` of an argument that may be left out; None if it is."""
    return None if value is None else as_millis(name, value)


def whole(name: str, value: object) -> int:
    """Return a whole number of 64 bits unchanged; raises InvalidRequest, which names the argument, otherwise."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidRequest(f"{name} must be a whole number, not {shown(value, 60)}")
    if not -_BOUND <= value < _BOUND:
        raise InvalidRequest(f"{name} must be a whole number of 64 bits, not {shown(value, 60)}")
    return value


def parsed_id(text: str, name: str) -> int:
    """Return the number in a text of digits; raises InvalidRequest, which names the argument, for more than 64 bits."""
    digits = text.lstrip("0") or "0"
    if not digits.isdecimal() or len(digits) > len(str(_BOUND)) or int(digits) >= _BOUND:
        raise InvalidRequest(f"{name} must be a whole number of 64 bits, not {shown(text, 60)}")
    return int(digits)


def flag(name: str, value: object) -> bool:
    """Return True or False unchanged; raises InvalidRequest, which names the argument, for anything else."""
    if not isinstance(value, bool):
        raise InvalidRequest(f"{name} must be True or False, not {shown(value, 60)}")
    return value


def at_least_one(name: str, value: int | None, default: int) -> int:
    """Return a whole number of at least 1 unchanged, ``default`` for None; raises InvalidRequest for anything else."""
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidRequest(f"{name} must be a whole number from 1, not {shown(value, 60)}")
    return value
