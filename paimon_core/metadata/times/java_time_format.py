"""Time formats: parses texts to times with the patterns and rules of Java's DateTimeFormatter (format 16.3).

A time is local, without a zone: days since 1970-01-01 and nanoseconds of the day, for any year. A pattern consists of
letters (``yyyyMMdd``), literals (``'T'``) and optional parts (``[ HH:mm]``). Adjacent numbers share digits as in Java:
the first number gets the digits that remain after the fixed-width numbers that follow. Values are checked in "smart"
mode (31 February is the last day of February), or in "lenient" mode for the default format (month 13 is January of the
next year).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

from paimon_core.errors import InvalidOption, UnsupportedFeature
from paimon_core.metadata.times.calendar import day_number, days_in_month, is_leap

NANOS_PER_DAY = 86_400_000_000_000
_LARGEST_YEAR = 999_999_999
_FIELDS = {
    "y": "year of era",
    "u": "year",
    "M": "month",
    "L": "month",
    "d": "day",
    "D": "day of year",
    "H": "hour",
    "k": "clock hour",
    "m": "minute",
    "s": "second",
    "S": "nano",
}
_RANGES = {
    "year of era": (1, _LARGEST_YEAR),
    "year": (-_LARGEST_YEAR, _LARGEST_YEAR),
    "month": (1, 12),
    "day": (1, 31),
    "day of year": (1, 366),
    "minute": (0, 59),
    "second": (0, 59),
    "nano": (0, 999_999_999),
}


class _NoMatch(Exception):
    """Raised when the text does not match the pattern."""


@dataclass(frozen=True, slots=True)
class LocalTime:
    """A date and a time of day, without a zone."""

    day: int
    """Days since 1970-01-01."""
    nanos: int
    """Nanoseconds of the day."""

    @property
    def total_nanos(self) -> int:
        """Nanoseconds since 1970-01-01 00:00."""
        return self.day * NANOS_PER_DAY + self.nanos


@dataclass(frozen=True, slots=True)
class _Number:
    """The digits of one field. ``sign``: "negative" allows a minus sign; "padded" also allows a minus sign, and
    requires a plus sign if there are more than ``least`` digits.
    """

    field: str
    least: int
    most: int
    sign: str = "none"
    following: int = 0
    """The digits of the fixed-width numbers that follow; -1: this field is itself fixed-width and follows a number."""
    base: int | None = None
    """A number that is added to the value: the century of a year of two digits."""

    @property
    def is_fixed(self) -> bool:
        return self.least == self.most and self.sign == "none"

    def read(self, text: str, at: int, values: dict[str, int]) -> int:
        signed = text[at : at + 1]
        if signed and signed in "+-":
            if self.sign == "none" or (signed == "+" and self.sign != "padded"):
                raise _NoMatch
            at += 1
        digits = self._digits(text, at)
        number = int(digits)
        if signed == "-":
            if number == 0:
                raise _NoMatch
            number = -number
        elif self.sign == "padded" and (len(digits) > self.least) != (signed == "+"):
            raise _NoMatch
        _put(values, self.field, number + (self.base or 0))
        return at + len(digits)

    def _digits(self, text: str, at: int) -> str:
        found = re.compile(rf"[0-9]{{{self.least},{self.most + max(self.following, 0)}}}").match(text, at)
        if found is None:
            raise _NoMatch
        digits = found.group()
        return digits[: max(self.least, len(digits) - self.following)] if self.following > 0 else digits


@dataclass(frozen=True, slots=True)
class _Fraction:
    """The digits of a fraction of a second, preceded by ``point``, which may be empty."""

    least: int
    most: int
    point: str = ""
    following: int = 0

    def read(self, text: str, at: int, values: dict[str, int]) -> int:
        found = re.compile(rf"{re.escape(self.point)}([0-9]{{{self.least},{self.most}}})").match(text, at)
        if found is None:
            raise _NoMatch
        _put(values, "nano", int(found.group(1).ljust(9, "0")))
        return found.end()


@dataclass(frozen=True, slots=True)
class _Literal:
    text: str

    def read(self, text: str, at: int, values: dict[str, int]) -> int:
        if not text.startswith(self.text, at):
            raise _NoMatch
        return at + len(self.text)


@dataclass(frozen=True, slots=True)
class _Optional:
    parts: tuple[_Part, ...]

    def read(self, text: str, at: int, values: dict[str, int]) -> int:
        tried = dict(values)
        try:
            end = _read_all(self.parts, text, at, tried)
        except _NoMatch:
            return at
        values.update(tried)
        return end


_Part = _Number | _Fraction | _Literal | _Optional


@dataclass(frozen=True, slots=True)
class JavaTimeFormat:
    """A parsed pattern; ``lenient``: values are checked in "lenient" mode instead of "smart" mode."""

    parts: tuple[_Part, ...]
    lenient: bool = False

    def read(self, text: str) -> LocalTime | None:
        """Return the time in ``text``, midnight if it contains only a date; None if the text does not match."""
        values: dict[str, int] = {}
        try:
            if _read_all(self.parts, text, 0, values) != len(text):
                return None
            return _resolved(values, lenient=self.lenient)
        except _NoMatch:
            return None


_DATE = (
    _Number("year", 1, 10, "negative"),
    _Literal("-"),
    _Number("month", 1, 2, "negative"),
    _Literal("-"),
    _Number("day", 1, 2, "negative"),
)
_CLOCK = (
    _Literal(" "),
    _Number("hour", 1, 2, "negative"),
    _Literal(":"),
    _Number("minute", 1, 2, "negative"),
    _Literal(":"),
    _Number("second", 1, 2, "negative"),
    _Optional((_Fraction(1, 9, "."),)),
)
DEFAULT = JavaTimeFormat((*_DATE, _Optional(_CLOCK)), lenient=True)
"""``2024-1-31``, optionally followed by a space, a time ``23:59:59`` and a fraction of up to 9 digits."""


@cache
def time_format(pattern: str) -> JavaTimeFormat:
    """Return the format of a pattern.

    Raises InvalidOption for an invalid pattern, UnsupportedFeature for a letter that is not supported: texts (months by
    name, AM and PM, eras), weeks, quarters and zones.
    """
    stack: list[list[_Part]] = [[]]
    for token in _tokens(pattern):
        if token == "[":
            stack.append([])
        elif token == "]":
            if len(stack) == 1:
                raise _bad(pattern, "']' has no matching '['")
            inner = stack.pop()
            stack[-1] += [_Optional(_joined_numbers(inner))] if inner else []
        elif token[0].isalpha() and token[0].isascii():
            stack[-1].append(_part(token, pattern))
        else:
            stack[-1].append(_Literal(token.removeprefix("'")))
    while len(stack) > 1:  # Java closes optional parts that have no end in the pattern
        inner = stack.pop()
        stack[-1] += [_Optional(_joined_numbers(inner))] if inner else []
    return JavaTimeFormat(_joined_numbers(stack[0]))


def _tokens(pattern: str) -> Iterator[str]:
    """Yield runs of one letter, ``[`` and ``]``, and literals with a leading quote."""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char.isascii() and char.isalpha():
            run = len(pattern[at:]) - len(pattern[at:].lstrip(char))
            yield char * run
            at += run
        elif char == "'":
            found = re.compile(r"'((?:[^']|'')*)'").match(pattern, at)
            if found is None:
                raise _bad(pattern, "a quote is not closed")
            yield "'" + (found.group(1).replace("''", "'") or "'")
            at = found.end()
        elif char in "{}#":
            raise _bad(pattern, f"{char!r} is reserved")
        else:
            yield char if char in "[]" else "'" + char
            at += 1


def _part(token: str, pattern: str) -> _Part:
    letter, count = token[0], len(token)
    field = _FIELDS.get(letter)
    if field is None or (letter in "ML" and count > 2):
        raise UnsupportedFeature(
            f"time pattern {pattern!r}: {token!r} is not supported; the supported letters are {', '.join(_FIELDS)}, "
            "with months as numbers",
            pattern=pattern,
        )
    if letter in "yu":
        if count == 2:
            return _Number(field, 2, 2, base=2000)
        return _Number(field, count, 19, "negative" if count < 4 else "padded")
    if letter == "S" and count <= 9:
        return _Fraction(count, count)
    if letter == "D" and 1 < count <= 3:
        return _Number(field, count, 3)
    if count > 2:
        raise _bad(pattern, f"{token!r} has too many letters")
    return _Number(field, 1, 19, "negative") if count == 1 else _Number(field, 2, 2)


def _joined_numbers(parts: Sequence[_Part]) -> tuple[_Part, ...]:
    """Return the parts with ``following`` set: the first of adjacent numbers leaves digits for the numbers after it."""
    out: list[_Part] = []
    for is_digits, run in groupby(parts, lambda part: isinstance(part, _Number | _Fraction)):
        if not is_digits:
            out += run
            continue
        first: int | None = None
        for part in run:
            assert isinstance(part, _Number | _Fraction)
            fixed = isinstance(part, _Fraction) or part.is_fixed
            if first is not None and fixed:
                leader = out[first]
                assert isinstance(leader, _Number | _Fraction)
                out[first] = replace(leader, following=leader.following + part.most)
                out.append(replace(part, following=-1))
            else:
                first = len(out)
                out.append(part)
    return tuple(out)


def _read_all(parts: Sequence[_Part], text: str, at: int, values: dict[str, int]) -> int:
    for part in parts:
        at = part.read(text, at, values)
    return at


def _put(values: dict[str, int], field: str, number: int) -> None:
    if values.setdefault(field, number) != number:
        raise _NoMatch


def _resolved(values: Mapping[str, int], *, lenient: bool) -> LocalTime:
    """Check the values of the fields and return their time; raises _NoMatch for an invalid or incomplete date."""
    day = _day(values, lenient)
    nanos = _nanos(values, lenient)
    excess, nanos = divmod(nanos, NANOS_PER_DAY)
    return LocalTime(day + excess, nanos)


def _day(values: Mapping[str, int], lenient: bool) -> int:
    of_era = values.get("year of era")
    year = values.get("year", of_era)
    if year is None or abs(year) > _LARGEST_YEAR:
        raise _NoMatch
    if of_era is not None and year != (of_era if year > 0 else 1 - of_era):  # year 0 is year 1 of the previous era
        raise _NoMatch
    if not lenient:
        _check(values, "year of era", "year", "month", "day", "day of year")
    month, day, ordinal = values.get("month"), values.get("day"), values.get("day of year")
    if month is not None and day is not None:
        if lenient:
            years, month0 = divmod(month - 1, 12)
            return day_number(year + years, month0 + 1, 1) + day - 1
        found = day_number(year, month, min(day, days_in_month(year, month)))
        if ordinal is not None and found != day_number(year, 1, 1) + ordinal - 1:
            raise _NoMatch
        return found
    if ordinal is None or (ordinal == 366 and not is_leap(year)):
        raise _NoMatch
    found = day_number(year, 1, 1) + ordinal - 1
    known = month if month is not None else 0
    if known and not day_number(year, known, 1) <= found < day_number(year, known, 1) + days_in_month(year, known):
        raise _NoMatch
    months = [m for m in range(1, 13) if day is not None and day <= days_in_month(year, m)]
    if day is not None and not any(found == day_number(year, m, day) for m in months):
        raise _NoMatch
    return found


def _nanos(values: Mapping[str, int], lenient: bool) -> int:
    """Return the nanoseconds since the start of the day; 0 when the time is incomplete."""
    hour = values.get("hour")
    clock = values.get("clock hour")
    if clock is not None:
        if not 0 <= clock <= 24 or hour not in (None, clock % 24):
            raise _NoMatch
        hour = clock % 24
    minute, second, nano = values.get("minute"), values.get("second"), values.get("nano")
    skips = (minute is None and (second is not None or nano is not None)) or (second is None and nano is not None)
    if hour is not None and skips:
        return 0  # Java ignores a time with a missing field
    if not lenient:
        _check(values, "minute", "second", "nano")
    if hour is None:
        return 0
    rest = ((minute or 0) * 60 + (second or 0)) * 1_000_000_000 + (nano or 0)
    if not lenient and not 0 <= hour <= 23 and (hour != 24 or rest):
        raise _NoMatch
    return hour * 3_600_000_000_000 + rest


def _check(values: Mapping[str, int], *fields: str) -> None:
    for field in fields:
        low, high = _RANGES[field]
        if field in values and not low <= values[field] <= high:
            raise _NoMatch


def _bad(pattern: str, problem: str) -> InvalidOption:
    return InvalidOption(
        f"time pattern {pattern!r} is not a valid pattern of Java's DateTimeFormatter: {problem}", pattern=pattern
    )
