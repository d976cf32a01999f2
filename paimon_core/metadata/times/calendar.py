"""Calendar: day numbers in the proleptic Gregorian calendar of Java; the years may be outside of Python's years 1 to
9999.
"""

from __future__ import annotations

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year: int) -> bool:
    """Whether ``year`` is a leap year."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    """Return the number of days in ``month`` (1 to 12) of ``year``."""
    return 29 if month == 2 and is_leap(year) else _LENGTHS[month - 1]


def day_number(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01; ``month`` is 1 to 12, ``day`` may be outside of the month."""
    before = year - 1
    leaps = before // 4 - before // 100 + before // 400
    in_year = sum(_LENGTHS[: month - 1]) + (1 if month > 2 and is_leap(year) else 0)
    return before * 365 + leaps + in_year + day - 719_163
