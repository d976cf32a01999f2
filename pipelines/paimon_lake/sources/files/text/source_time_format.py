"""Time formats: convert formats of dates and times to regular expressions, and read the values of texts with them.

The options ``date_format`` and ``timestamp_format`` have these codes; other characters stand for themselves:

``%Y`` ``%y`` year (``69`` is 1969, ``68`` is 2068), ``%m`` ``%b`` ``%B`` month (English names), ``%d`` day, ``%H``
hour, ``%I`` with ``%p`` hour of 12, ``%M`` minute, ``%S`` second, ``%f`` 1 to 9 digits of a second, ``%z`` ``Z`` or
an offset such as ``+02:00``, ``%F`` for ``%Y-%m-%d``, ``%T`` for ``%H:%M:%S``, ``%%`` for a percent sign.

A number may have one digit instead of the usual two, unless another code is directly beside it (``%Y%m%d``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_lake.protocol import PipelineError

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_SHORT = {"Y": r"\d{4}", "f": r"\d{1,9}0*", "p": "(?i:am|pm)", "z": r"Z|[+-]\d{2}(?::?\d{2})?", "y": r"\d{2}"}
_SHORT["b"] = "(?i:" + "|".join(name[:3] for name in _MONTHS) + ")"
_SHORT["B"] = "(?i:" + "|".join(_MONTHS) + ")"
_NUMBERS = frozenset("mdHIMS")
_EXPANDED = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S"}
_ISO_DATE = r"(?P<Y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})"
_ISO_TIME = r"(?P<H>\d{2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:\.(?P<f>\d{1,9}0*))?)?"


@dataclass(frozen=True)
class SourceTimeFormat:
    """A format of dates, times or timestamps; ``text`` is the format option of the user, "" for ISO 8601."""

    text: str
    regex: str

    @staticmethod
    def parse(option: str, text: str) -> SourceTimeFormat:
        """Parse a format; raises PipelineError, which names the option, for unknown or missing codes."""
        for short, long in _EXPANDED.items():
            text = text.replace(short, long)
        tokens = re.findall(r"%.?|[^%]+", text)
        parts, codes = [], list[str]()
        for at, token in enumerate(tokens):
            code = token[1:] if token.startswith("%") else None
            if code is None or code == "%":
                parts.append(re.escape(token if code is None else "%"))
                continue
            if code in codes or (code not in _NUMBERS and code not in _SHORT):
                known = " ".join(f"%{c}" for c in (*sorted(_NUMBERS), *sorted(_SHORT)))
                raise PipelineError(f"format option {option}: {token!r} is repeated or not one of {known}")
            codes.append(code)
            beside = [t for t in (*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2]) if t.startswith("%")]
            inner = _SHORT.get(code) or (r"\d{2}" if beside else r"\d{1,2}")
            parts.append(f"(?P<{code}>{inner})")
        given = set(codes)
        years, months = given & {"Y", "y"}, given & {"m", "b", "B"}
        twelve = given & {"I", "p"}
        if len(years) != 1 or len(months) != 1 or "d" not in given:
            raise PipelineError(f"format option {option}: {text!r} must state a year, a month and a day, each once")
        if len(twelve) == 1 or (twelve and "H" in given):
            raise PipelineError(f"format option {option}: {text!r} must state the hour by %H, or by %I with %p")
        return SourceTimeFormat(text, f"^{''.join(parts)}$")


ISO_DATE = SourceTimeFormat("", f"^{_ISO_DATE}$")
ISO_TIME = SourceTimeFormat("", f"^{_ISO_TIME}$")
_ISO_HOUR = _ISO_TIME.replace(":(?P<M>", "(?::(?P<M>", 1) + ")?"  # as in Arrow, a timestamp may end with the hour
ISO_TIMESTAMP = SourceTimeFormat("", f"^{_ISO_DATE}(?:[T ]{_ISO_HOUR}(?P<z>{_SHORT['z']})?)?$")


@cache
def parsed_format(text: str) -> SourceTimeFormat:
    """Return the format for the text of an option; the option must have been checked before."""
    return SourceTimeFormat.parse("timestamp_format", text)


@dataclass(frozen=True)
class Times:
    """The parts of texts as numpy arrays; they are only meaningful where ``valid`` is true."""

    valid: np.ndarray
    """Whether the text has the format and states an existing date and time in the years 1 to 9999."""
    days: np.ndarray
    """Days since 1970-01-01."""
    seconds: np.ndarray
    """Seconds of the day minus the offset from UTC; may be negative or more than a day."""
    nanos: np.ndarray
    """Nanoseconds of the second."""
    digits: np.ndarray
    """The number of digits of the fraction, without zeros at its end."""


def times_of(texts: pa.Array, form: SourceTimeFormat) -> Times:
    """Return the parts of the texts in the format ``form``; a null is not valid."""
    found = pc.extract_regex(texts, form.regex)
    names = {field.name for field in found.type}
    matched = found.is_valid().to_numpy(zero_copy_only=False)

    def number(name: str) -> np.ndarray:
        return _numbers(pc.struct_field(found, name)) if name in names else np.zeros(len(texts), np.int64)

    def lower(name: str) -> pa.Array:
        return pc.utf8_lower(pc.fill_null(pc.struct_field(found, name), ""))

    year, month, day = number("Y"), number("m"), number("d")
    if "y" in names:
        short = number("y")
        year = np.where(short >= 69, 1900, 2000) + short
    for name, wanted in (("b", [m[:3] for m in _MONTHS]), ("B", _MONTHS)):
        if name in names:
            index = pc.index_in(lower(name), value_set=pa.array(wanted))
            month = pc.fill_null(index, -1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    hour = number("H")
    valid = matched.copy()
    if "I" in names:
        twelve = number("I")
        valid &= (twelve >= 1) & (twelve <= 12)
        hour = twelve % 12 + 12 * np.asarray(pc.equal(lower("p"), "pm").to_numpy(zero_copy_only=False))
    minute, second = number("M"), number("S")
    valid &= (hour <= 23) & (minute <= 59) & (second <= 59)
    days = np.zeros(len(texts), np.int64)
    if names & {"Y", "y"}:
        valid &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
        valid &= day <= _days_of_month(year, month)
        days = _days_since_epoch(year, month, day)
    nanos, digits = (
        _fraction(pc.struct_field(found, "f")) if "f" in names else (np.zeros_like(days), np.zeros_like(days))
    )
    offset, known = _offset_seconds(pc.struct_field(found, "z")) if "z" in names else (np.zeros_like(days), valid)
    valid &= known
    seconds = hour * 3600 + minute * 60 + second - offset
    if names & {"Y", "y"}:
        at = days * 86_400 + seconds
        valid &= (at >= -62_135_596_800) & (at < 253_402_300_800)
    return Times(valid, days, seconds, nanos, digits)


def _numbers(texts: pa.Array) -> np.ndarray:
    filled = pc.if_else(pc.equal(pc.fill_null(texts, ""), ""), "0", texts)
    return np.asarray(filled.cast(pa.int64()).to_numpy(zero_copy_only=False))


def _fraction(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    trimmed = pc.utf8_rtrim(pc.fill_null(texts, ""), "0")
    digits = pc.utf8_length(trimmed).to_numpy(zero_copy_only=False).astype(np.int64)
    return _numbers(pc.utf8_rpad(trimmed, 9, "0")), digits


def _offset_seconds(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets in seconds (0 for ``Z`` and for no offset), and flags for offsets that are less than a day."""
    plain = pc.if_else(pc.equal(pc.fill_null(texts, ""), ""), "+0000", pc.replace_substring(texts, ":", ""))
    plain = pc.utf8_rpad(pc.if_else(pc.equal(plain, "Z"), "+0000", plain), 5, "0")
    hours, minutes = _numbers(pc.utf8_slice_codeunits(plain, 1, 3)), _numbers(pc.utf8_slice_codeunits(plain, 3, 5))
    sign = np.where(pc.starts_with(plain, "-").to_numpy(zero_copy_only=False), -1, 1)
    return sign * (hours * 3600 + minutes * 60), (hours <= 23) & (minutes <= 59)


def _days_of_month(year: np.ndarray, month: np.ndarray) -> np.ndarray:
    lengths = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return np.asarray(lengths[np.clip(month, 0, 12)] + ((month == 2) & leap))


def _days_since_epoch(year: np.ndarray, month: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Return the days since 1970-01-01 in the Gregorian calendar, by counting from the 1st of March of the year 0."""
    shifted = year - (month <= 2)
    of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    return np.asarray(365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + of_year - 719_468)
