"""Texts of a page: escaped text, sizes, numbers and times."""

from __future__ import annotations

import datetime
import html

EPOCH = datetime.datetime(1970, 1, 1)
UNKNOWN = "not known"
_UNITS = ("kB", "MB", "GB", "TB", "PB")


def escaped(text: object) -> str:
    """Return text for HTML, in ASCII only, so that any output can hold it.

    Characters that are invisible, or change the direction of text, are shown by their codes.
    """
    shown = "".join(c if c.isprintable() or c == "\n" else f"\\u{ord(c):04x}" for c in str(text))
    return html.escape(shown).encode("ascii", "xmlcharrefreplace").decode()


def number(value: float) -> str:
    """Return a number with commas between thousands, and with at most three decimals."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3f}".rstrip("0")


def counted(value: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, such as ``1 file`` or ``2 files``."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def size(value: float) -> str:
    """Return bytes as text with three digits, such as ``1.23 MB``; a kB has 1,000 bytes."""
    if value < 1000:
        return f"{value:,.0f} bytes"
    scaled = float(value)
    for unit in _UNITS:
        scaled /= 1000
        if scaled < 999.5 or unit == _UNITS[-1]:
            break
    return f"{scaled:,.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f} {unit}"


def moment(millis: int | None) -> str:
    """Return epoch milliseconds as a UTC time; "not known" for None."""
    if millis is None:
        return UNKNOWN
    return f"{(EPOCH + datetime.timedelta(milliseconds=millis)).isoformat(' ', 'seconds')} UTC"


def short(text: str, most: int) -> str:
    """Return text of at most ``most`` characters; in a longer text, "..." replaces a part in the middle."""
    if len(text) <= most:
        return text
    end = (most - 3) // 3
    return f"{text[: most - 3 - end]}...{text[-end:]}"
