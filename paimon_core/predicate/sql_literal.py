"""Literals in the text of a filter: ``literal_text`` writes a literal, the other functions read literals.

A number with an exponent is a float; a number with a decimal point and no exponent is a decimal, as in SQL.
"""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation

from paimon_core.predicate.literal import Literal

TYPED = ("date", "time", "timestamp", "double", "decimal")
"""The words that give a type to the quoted text after them, as in ``date '2026-05-01'``."""
_MOST_ZEROS = 60
"""Maximum number of digits after the decimal point of a decimal that is written without an exponent."""


def literal_text(value: Literal) -> str:
    """Return the literal as it is written in a filter; parsing the text gives an equal literal of the same type."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float_text(value)
        case str():
            return _quoted(value)
        case bytes():
            return f"X'{value.hex()}'"
        case Decimal():
            exponent = value.as_tuple().exponent
            if isinstance(exponent, int) and -_MOST_ZEROS <= exponent < 0:
                return f"{value:f}"
            return f"decimal '{value}'"
        case datetime():
            return f"timestamp '{value.isoformat(' ')}'"
        case date():
            return f"date '{value.isoformat()}'"
    return f"time '{value.isoformat()}'"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _float_text(value: float) -> str:
    if not math.isfinite(value):
        return f"double '{value!r}'"
    text = repr(value)
    return text if "e" in text else text + "e0"


def number(text: str) -> int | float | Decimal:
    """Return the number that ``text`` states.

    Raises ValueError for a float outside the range of a double, and for an integer with thousands of digits.
    """
    if "e" in text.lower():
        value = float(text)
        if math.isinf(value):
            raise ValueError("is outside the range of a double")
        return value
    try:
        return Decimal(text) if "." in text else int(text)
    except ValueError:
        raise ValueError("has thousands of digits") from None


def typed_literal(word: str, text: str) -> Literal:
    """Return the literal that a word of ``TYPED`` and a text stand for; raises ValueError with the reason."""
    try:
        match word:
            case "date":
                return date.fromisoformat(text)
            case "time":
                return time.fromisoformat(text)
            case "timestamp":
                return _timestamp(text)
            case "double":
                return float(text)
        return Decimal(text)
    except (ValueError, InvalidOperation) as error:
        reason = "" if isinstance(error, InvalidOperation) else f": {error}"
        raise ValueError(f"{_quoted(text)} is not a {word}{reason}") from None


def _timestamp(text: str) -> datetime:
    fraction = text.partition(".")[2]
    if len(fraction) - len(fraction.lstrip("0123456789")) > 6:
        raise ValueError("a timestamp has at most 6 digits of a second; a text without the word may have 9")
    return datetime.fromisoformat(text)
