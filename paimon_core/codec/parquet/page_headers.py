"""Page headers: decodes the parts of a Parquet page header that determine a page's memory, and finds the header's end.

Other parts, such as the statistics of a page, are skipped. A scan reads a header for each page, so the usual headers
are matched with one pattern. All other headers are decoded by one loop over the bytes instead of ``thrift``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from paimon_core.codec.parquet.thrift import (
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    MAX_DEPTH,
    STRUCT,
    TRUE,
    integer,
    varint,
)

DATA, INDEX, DICTIONARY, DATA_V2 = range(4)
_INTEGERS = (I32, I64, I16)
_INT = rb"([\x80-\xff]{0,8}[\x00-\x7f])"
_VALUE = b"|".join(b"\\x%02x.{%d}" % (size, size) for size in (8, 4, *range(4), *range(5, 8), *range(9, 48)))
_STATISTICS = rb"\x1c(?:[\x18\x28](?:%b)|[\x16\x36][\x80-\xff]{0,8}[\x00-\x7f]|[\x11\x12])*\x00" % _VALUE
"""Statistics with texts of at most 47 bytes; they are skipped."""
_USUAL = re.compile(
    rb"\x15([\x00\x04])\x15%b\x15%b(?:\x15[\x80-\xff]{0,8}[\x00-\x7f](\x1c|\x3c)|(\x2c|\x4c))"
    rb"\x15%b\x15([\x00-\x7f])(?:(?:\x15[\x00-\x7f]){2}(?:%b)?|\x11|\x12)?\x00\x00" % (_INT, _INT, _INT, _STATISTICS),
    re.DOTALL,
)
"""A page of data or a dictionary page.

Groups: kind, unpacked and packed bytes, the field header of the kind's struct after a checksum or without one, values,
encoding.
"""
_STRUCTS = {b"\0": (b"\x1c", b"\x2c"), b"\x04": (b"\x3c", b"\x4c")}
"""For each kind, the field header of its struct after a checksum (field 4) and after field 3."""


class Page(NamedTuple):
    """A page of a column chunk."""

    kind: int
    unpacked: int
    packed: int
    values: int
    encoding: int
    size: int
    """The bytes of the header."""


def page_header(data: bytes) -> Page:
    """Return the page header at the start of ``data``; raises ValueError or IndexError when the header does not
    decode.
    """
    usual = _USUAL.match(data)
    if usual is not None:
        kind_byte, unpacked, packed, after_checksum, after_size, values, encoding = usual.groups()
        if (after_checksum or after_size) in _STRUCTS[kind_byte]:
            kind = kind_byte[0] >> 1
            return Page(kind, _number(unpacked), _number(packed), _number(values), _number(encoding), usual.end())
    numbers, groups, at = _fields(data, 0, 0)
    if not {1, 2, 3} <= numbers.keys():
        raise ValueError("a page header lacks its kind or a size")
    kind = numbers[1]
    inner = groups.get(kind + 5, {})
    return Page(kind, numbers[2], numbers[3], inner.get(1, 0), inner.get(4 if kind == DATA_V2 else 2, 0), at)


def _fields(data: bytes, at: int, depth: int) -> tuple[dict[int, int], dict[int, dict[int, int]], int]:
    """Return three values: the integers of the struct at ``at`` by field, the integers of the structs inside of it, and
    its end position.
    """
    numbers: dict[int, int] = {}
    groups: dict[int, dict[int, int]] = {}
    number = 0
    while head := data[at]:
        at += 1
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = integer(data, at)
        if kind in _INTEGERS:
            byte = data[at]
            if byte < 0x80:
                numbers[number] = byte >> 1 ^ -(byte & 1)
                at += 1
            else:
                numbers[number], at = integer(data, at)
        elif kind == BINARY:
            size, at = varint(data, at)
            at += size
        elif kind == STRUCT:
            if depth > MAX_DEPTH:
                raise ValueError("a page header is nested too deeply")
            groups[number], _, at = _fields(data, at, depth + 1)
        else:
            at = _skipped(data, at, kind)
    return numbers, groups, at + 1


@lru_cache(maxsize=4096)
def _number(data: bytes) -> int:
    """Return the integer of a whole varint."""
    value = 0
    for byte in reversed(data):
        value = value << 7 | byte & 0x7F
    return value >> 1 ^ -(value & 1)


def _skipped(data: bytes, at: int, kind: int) -> int:
    """Return the position after a value that is not an integer, a struct or bytes."""
    if kind in (TRUE, FALSE):
        return at
    if kind == BYTE:
        return at + 1
    if kind == DOUBLE:
        return at + 8
    if kind == LIST and data[at] < 0xF0 and I16 <= data[at] & 15 <= I64:
        count, at = data[at] >> 4, at + 1
        for _ in range(count):
            _, at = varint(data, at)
        return at
    raise ValueError(f"a page header contains the thrift type {kind}")
