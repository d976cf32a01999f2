"""Partition text: the text of partition values in directory names, before escaping (format 1.2).

There are two forms, selected by the table option ``partition.legacy-name``. The text is never parsed: values are read
from metadata, not from paths. A TIMESTAMP with local time zone is written in UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Context, Decimal
from typing import Any

import numpy as np

from paimon_core.errors import UnsupportedFeature
from paimon_core.types import BINARY_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DAYS_PER_CYCLE = 146_097
"""Days in 400 years, after which the calendar repeats."""
_NANOS_PER_UNIT = {"ms": 1_000_000, "us": 1_000, "ns": 1}
_NANOS_PER_SECOND = 1_000_000_000
_SECONDS_PER_DAY = 86_400
_EXACT = Context(prec=80)
# The characters of blank text, as in Java: str.isspace without the no-break spaces and U+0085.
_WHITESPACE = frozenset(
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)


def partition_values(
    values: Sequence[Any], types: Sequence[DataType], *, legacy: bool, default_name: str
) -> tuple[str, ...]:
    """Return the directory text of each storage value; ``default_name`` for null and for empty or blank text.

    Raises UnsupportedFeature for a binary value with legacy names, because the format defines no stable text for such a
    value.
    """
    out = []
    for value, dtype in zip(values, types, strict=True):
        text = "" if value is None else _text(value, dtype, legacy)
        out.append(default_name if _WHITESPACE.issuperset(text) else text)
    return tuple(out)


def _text(value: Any, dtype: DataType, legacy: bool) -> str:
    root = dtype.root
    if root is TypeRoot.BOOLEAN:
        return "true" if value else "false"
    if root in (TypeRoot.FLOAT, TypeRoot.DOUBLE):
        return _float(np.float32(value) if root is TypeRoot.FLOAT else np.float64(value))
    if root is TypeRoot.DECIMAL:
        plain = value.quantize(Decimal(1).scaleb(-dtype.scale), context=_EXACT)
        return format(plain if plain else abs(plain), "f")
    if root in TIMESTAMP_ROOTS:
        return (_timestamp_legacy if legacy else _timestamp)(value, dtype)
    if root in BINARY_ROOTS:
        if legacy:
            raise UnsupportedFeature(
                f"a {dtype} partition has no directory name with partition.legacy-name=true", type=dtype.sql
            )
        return bytes(value).decode(errors="replace")
    if root is TypeRoot.DATE and not legacy:
        return _date(value)
    if root is TypeRoot.TIME and not legacy:
        return _time(value, dtype.precision)
    return str(value)


def _float(value: np.floating[Any]) -> str:
    """Return the shortest decimal text that parses to the value.

    Zero and absolute values from 0.001 to below 10000000 have no exponent; other values have one, as in 1.0E7 and
    1.0E-4. If one digit would be enough, the two digits closest to the value are used, as in 4.9E-324. Java before 19
    writes more digits for some values.
    """
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, exponent = np.format_float_scientific(value, unique=True, trim="-").split("e")
    if len(mantissa.lstrip("-").rstrip(".")) == 1:
        mantissa, exponent = f"{float(value):.1e}".split("e")
    sign, digits, power = "-" if mantissa[0] == "-" else "", mantissa.lstrip("-").replace(".", ""), int(exponent)
    digits = digits.rstrip("0")
    if value == 0:
        return sign + "0.0"
    if not -3 <= power < 7:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    digits = digits.ljust(power + 2, "0")
    return f"{sign}{digits[: power + 1]}.{digits[power + 1 :]}"


def _civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a day number, for any year."""
    cycles, rest = divmod(days + _EPOCH_ORDINAL - 1, _DAYS_PER_CYCLE)
    day = date.fromordinal(rest + 1)
    return day.year + 400 * cycles, day.month, day.day


def _four_digits(year: int) -> str:
    """Return the last four digits of a year; before year 0, digits are subtracted from "0", as the format requires."""
    return "".join(chr(ord("0") + (int(d) if year >= 0 else -int(d))) for d in f"{abs(year) % 10_000:04}")


def _date(days: int) -> str:
    year, month, day = _civil(days)
    return f"{_four_digits(year)}-{month:02}-{day:02}"


def _time(millis: int, precision: int) -> str:
    """Return ``HH:MM:SS`` and the milliseconds without trailing zeros, cut to ``precision`` digits."""
    seconds, millis = divmod(millis, 1000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if precision == 0:
        return text
    return f"{text}.{(f'{millis:03}'.rstrip('0') or '0')[:precision]}"


def _split_timestamp(value: int, dtype: DataType) -> tuple[int, int, int]:
    """Return the day number, the second of the day and the nanosecond of the second of a TIMESTAMP."""
    seconds, nanos = divmod(value * _NANOS_PER_UNIT[dtype.timestamp_unit], _NANOS_PER_SECOND)
    days, seconds = divmod(seconds, _SECONDS_PER_DAY)
    return days, seconds, nanos


def _timestamp(value: int, dtype: DataType) -> str:
    """Return ``YYYY-MM-DD HH:MM:SS`` and the fraction, with at least as many digits as the precision."""
    days, seconds, nanos = _split_timestamp(value, dtype)
    fraction = f"{nanos:09}"
    while len(fraction) > dtype.precision and fraction.endswith("0"):
        fraction = fraction[:-1]
    return f"{_date(days)} {_time(seconds * 1000, 0)}" + (f".{fraction}" if fraction else "")


def _timestamp_legacy(value: int, dtype: DataType) -> str:
    """Return ISO text with ``T``, without seconds and fraction if both are 0; a fraction has 3, 6 or 9 digits."""
    days, seconds, nanos = _split_timestamp(value, dtype)
    year, month, day = _civil(days)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    time = _time(seconds * 1000, 0)
    if nanos:
        fraction = f"{nanos:09}"
        time += "." + (fraction[:3] if nanos % 1_000_000 == 0 else fraction[:6] if nanos % 1000 == 0 else fraction)
    elif seconds % 60 == 0:
        time = time[:-3]
    return f"{sign}{abs(year):04}-{month:02}-{day:02}T{time}"
