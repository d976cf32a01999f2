"""Cron expressions: check, without importing Dagster, whether Dagster's schedules accept the five fields of a text."""

from __future__ import annotations

import re

_WORDS = frozenset(("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"))
_MONTHS = dict(
    zip(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), range(1, 13), strict=True)
)
_WEEKDAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _WEEKDAYS),
)
_DAYS_OF_MONTH = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_PART = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(\d+))?")


def why_not_cron(text: str) -> str:
    """Return a sentence that says why a text is not a cron expression; "" when it is one."""
    if text.strip() in _WORDS:
        return ""
    if text.startswith("@"):
        return f"{text!r:.80} is not a cron expression: known words are {', '.join(sorted(_WORDS))}"
    parts = text.split()
    if len(parts) != 5:
        return (
            f"{text!r:.80} is not a cron expression: it has {len(parts)} fields instead of five "
            "(minute, hour, day of the month, month, day of the week), as in 0 5 * * *"
        )
    allowed: list[set[int]] = []
    for part, (name, low, high, words) in zip(parts, _FIELDS, strict=True):
        values: set[int] = set()
        for one in part.lower().split(","):
            found = _values(one, low, high, words)
            if found is None:
                return f"{text!r:.80} is not a cron expression: {part!r:.40} is no {name} ({low} to {high})"
            values |= found
        allowed.append(values)
    days, months = allowed[2], allowed[3]
    if (parts[4] == "*" or months == {2}) and all(min(days) > _DAYS_OF_MONTH.get(month, 31) for month in months):
        return f"{text!r:.80} is not a cron expression that ever comes: no such month has day {min(days)}"
    return ""


def _values(part: str, low: int, high: int, words: dict[str, int]) -> set[int] | None:
    """Return the numbers that one part of a field means, such as ``1-5`` or ``*/10``; None for an invalid part."""
    match = _PART.fullmatch(part)
    if match is None:
        return None
    first_text, last_text, step_text = match.groups()
    first = low if first_text is None else _number(first_text, words)
    last = high if first_text is None else first if last_text is None else _number(last_text, words)
    step = 1 if step_text is None else int(step_text) if len(step_text) <= 2 else 0
    if first is None or last is None or not low <= first <= last <= high or not 1 <= step <= high:
        return None
    if step_text is not None and first_text is not None and last_text is None:
        last = high
    return set(range(first, last + 1, step))


def _number(text: str, words: dict[str, int]) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 2 else words.get(text)
