"""Durations: texts such as ``2 d``, ``12 h``, ``30 min`` or ``500 ms``, with the units of table options."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from paimon_core.options.parsers import lacks_unit, parse_positive_millis

_MOST_DAYS = 36_500
_MOST_MILLIS = _MOST_DAYS * 86_400_000


def duration(value: str) -> str:
    """Return a text that is a duration with a unit; raises ValueError for other texts and for more than 36500 days."""
    try:
        millis = 0 if lacks_unit(value) else parse_positive_millis(value)
    except ValueError:
        millis = 0
    if not millis:
        raise ValueError(f"must be a duration with its unit, such as 2 d or 12 h, not {value!r:.40}")
    if millis > _MOST_MILLIS:
        raise ValueError(f"must be at most {_MOST_DAYS} d, not {value!r:.40}")
    return value


def _duration_or_none(value: str) -> str:
    return duration(value) if value else ""


Duration = Annotated[str, AfterValidator(duration)]
"""A duration with its unit."""
OptionalDuration = Annotated[str, AfterValidator(_duration_or_none)]
"""A duration with its unit, or an empty text."""
