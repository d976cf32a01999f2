"""Chunk patterns: regular expressions for the column chunks of a Parquet footer, as Arrow and parquet-mr write them.

A pattern matches fewer bytes than the thrift decoder accepts, and has the rules of ``footer_checks`` that concern
single values: known codecs and encodings, numbers that are not negative, statistics of the right size, and old and new
statistics that are equal. A chunk that does not match is not wrong: the thrift decoder decides. Each number is a group
with the bytes of its varint; ``ABSENT`` stands for a number that the chunk does not have.
"""

from __future__ import annotations

import re
from functools import cache

ABSENT = b"\x01"
"""An odd varint: all numbers that the patterns match are even, because they are not negative."""

_EVEN = "[" + "".join(f"\\x{n:02x}" for n in range(0, 0x80, 2)) + "]"
_EVEN_LONG = "[" + "".join(f"\\x{n:02x}" for n in range(0x80, 0x100, 2)) + "]"
_LONG = f"(?:{_EVEN}|{_EVEN_LONG}[\\x80-\\xff]{{0,6}}[\\x00-\\x7f])"
"""An i64 from 0 to 2**55 - 1, so that sums of positions and sizes fit in 64 bits."""
_INT = "[\\x80-\\xff]{0,3}[\\x00-\\x7f]"
_ENCODING = "[\\x00\\x02\\x04\\x06\\x08\\x0a\\x0c\\x0e\\x10\\x12]"
_CODEC = "[\\x00\\x02\\x04\\x06\\x08\\x0a\\x0c\\x0e]"
_LIST, _STRUCT, _I32 = 9, 12, 5


def _list_of(item: str, kind: int) -> str:
    """Return the pattern of a list of one to four items."""
    return "(?:" + "|".join(f"\\x{n << 4 | kind:02x}{item * n}" for n in (2, 3, 1, 4)) + ")"


_HEAD = f"\\x26{_LONG}\\x1c\\x15(.)\\x19{_list_of(_ENCODING, _I32)}"
"""From the start of a chunk to its path; the group is the physical type."""
_PLACES = f"\\x15({_CODEC})\\x16({_LONG})\\x16({_LONG})\\x16({_LONG})\\x26({_LONG})(?:\\x26({_LONG}))?"
"""Codec, values, unpacked and packed bytes, position of the data, position of the dictionary (group 6)."""
_PAGES = _list_of(f"\\x15{_INT}\\x15{_INT}\\x15{_INT}\\x00", _STRUCT)
_EXACT = "(?:[\\x11\\x12][\\x11\\x12])?\\x00"
_SIZES = f"(?:\\x3c(?:\\x16({_LONG})\\x19|\\x29)\\x06\\x19(?:\\x06|\\x26({_LONG})({_LONG}))\\x00)?"
"""The bytes of the texts, and the numbers of nulls and of other values."""
_INDEXES = f"(?:\\x16{_LONG}\\x15{_INT}(?:\\x16{_LONG}\\x15{_INT})?)?"
_END = f"{_PAGES}{_SIZES}\\x00{_INDEXES}\\x00"


def _fixed(width: int) -> str:
    """Return the pattern from the codec to the end of a chunk whose values have ``width`` bytes.

    Groups: 6 of ``_PLACES``; maximum, minimum and nulls; nulls, maximum and minimum; 3 of ``_SIZES``.
    """
    size, value = f"\\x{width:02x}", f"(.{{{width}}})"
    both = f"\\x18{size}{value}\\x18{size}{value}\\x16({_LONG})\\x28{size}\\7\\x18{size}\\8"
    newer = f"\\x36({_LONG})(?:\\x28{size}{value}\\x18{size}{value})?"
    return f"{_PLACES}(?:(?(6)\\x1c|\\x3c)(?:{both}|{newer}){_EXACT}\\x19|(?(6)\\x29|\\x49)){_END}"


@cache
def _compiled(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.DOTALL)


def head() -> re.Pattern[bytes]:
    """Return the pattern from the start of a chunk to its path; group 1 is the byte of the physical type."""
    return _compiled(_HEAD)


def fixed(width: int) -> re.Pattern[bytes]:
    """Return the pattern from the codec to the end of a chunk of values of ``width`` bytes; see ``_fixed``."""
    return _compiled(_fixed(width))


def places_and_nulls() -> re.Pattern[bytes]:
    """Return the pattern from the codec to the null count of texts: groups 1 to 6 and the null count."""
    return _compiled(f"{_PLACES}(?(6)\\x1c|\\x3c)\\x36({_LONG})")


def after_bounds() -> re.Pattern[bytes]:
    """Return the pattern from the bounds of texts to the end of a chunk: 3 groups."""
    return _compiled(f"{_EXACT}\\x19{_END}")


def group_end() -> re.Pattern[bytes]:
    """Return the pattern of a row group after its chunks; group 1 is the number of rows."""
    return _compiled(f"\\x16{_LONG}\\x16({_LONG})(?:\\x26{_LONG}(?:\\x16{_LONG}(?:\\x14{_INT})?)?)?\\x00")


def file_rows() -> re.Pattern[bytes]:
    """Return the pattern of the number of rows of the file (group 1), up to the list of row groups."""
    return _compiled(f"\\x16({_LONG})\\x19")
