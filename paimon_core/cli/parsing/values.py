"""Values: parsers for durations, times, sizes, partitions and lists of names."""

from __future__ import annotations

import argparse
import datetime
import math
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from paimon_core.errors import InvalidRequest
from paimon_core.options.parsers import lacks_unit, parse_bytes, parse_millis

_T = TypeVar("_T")
_NUMBER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 40


def number(text: str) -> int:
    """Parse a whole number; a count may be larger than any table, but Python does not read thousands of digits."""
    found = text.strip()
    if not _NUMBER.fullmatch(found):
        raise argparse.ArgumentTypeError(f"invalid int value: {found!r:.60}")
    if len(found) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"{found!r:.60} is not a whole number of at most {_MOST_DIGITS} digits")
    return int(found)


def duration(text: str) -> datetime.timedelta:
    """Parse a duration such as ``7 d``, ``12h`` or ``90 min``; a number other than 0 needs a unit."""
    if lacks_unit(text):
        number = text.strip()
        raise argparse.ArgumentTypeError(f"{text!r:.60} has no unit: write '{number:.60} d' or '{number:.60} ms'")
    try:
        return datetime.timedelta(milliseconds=parse_millis(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not a duration such as '7 d' or '12 h'") from None


def moment(text: str) -> datetime.datetime | int:
    """Parse ``2024-01-31T12:00:00`` (a local time, unless the text has a time zone), or epoch milliseconds."""
    try:
        return int(text) if text.lstrip("-").isdecimal() else datetime.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not a time such as 2024-01-31T12:00:00") from None


def partition(text: str) -> dict[str, str]:
    """Parse a partition such as ``day=2024-01-31,hour=7``."""
    return _pairs(text, "a partition such as day=2024-01-31,hour=7")


def key(text: str) -> dict[str, str]:
    """Parse the primary key of a row such as ``day=2024-01-31,id=7``."""
    return _pairs(text, "a primary key such as day=2024-01-31,id=7")


def _pairs(text: str, what: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key and equals for key, equals, _ in pairs):
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not {what}")
    if len({key for key, _, _ in pairs}) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r:.60} names a column twice")
    return {key: value for key, _, value in pairs}


def key_values(argument: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the texts KEY=VALUE of a repeated argument by key; raises InvalidRequest for a text of another form."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InvalidRequest(f"{argument} must be KEY=VALUE, not {text!r:.60}")
        if key in found:
            raise InvalidRequest(f"{argument} gives {key!r:.60} twice")
        found[key] = value
    return found


def names(text: str) -> list[str]:
    """Parse a list of names that commas separate."""
    return [name.strip() for name in text.split(",")]


def size(text: str) -> int:
    """Parse a size such as ``10 gb``; a number other than 0 needs a unit."""
    if lacks_unit(text):
        number = text.strip()
        raise argparse.ArgumentTypeError(f"{text!r:.60} has no unit: write '{number:.60} b' or '{number:.60} mb'")
    return _parsed(parse_bytes, text, "a size such as '10 gb'")


def seconds(text: str) -> float:
    """Parse a number of seconds, or a duration such as ``10 min``."""
    try:
        value = float(text)
    except ValueError:
        return duration(text).total_seconds()
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not a number of seconds of 0 or more")
    return value


def _parsed(parse: Callable[[str], _T], text: str, what: str) -> _T:
    try:
        return parse(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not {what}") from None
