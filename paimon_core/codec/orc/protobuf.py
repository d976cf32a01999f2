"""Protobuf: decodes messages to values by field number, for the parts of protobuf that ORC metadata uses.

Functions raise ValueError for bytes that are not a message of the given fields. Fields with other numbers are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NUMBER, BYTES, NUMBERS = "number", "bytes", "numbers"
"""The types of fields; a mapping of field number to type describes a nested message."""

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}
_WIDEST = 63
_FIELDS = 1 << 29

Fields = Mapping[int, Any]


def parse(data: bytes, fields: Fields) -> dict[int, list[Any]]:
    """Return all values of each of the ``fields`` in the message, by field number."""
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < _FIELDS:
            raise ValueError(f"its metadata has a protobuf field {number}")
        start = at
        value: Any
        if wire == _VARINT:
            value, at = _varint(data, at)
        elif wire == _LENGTH:
            size, start = _varint(data, at)
            at = start + size
        elif wire in _WIDTHS:
            at += _WIDTHS[wire]
        else:
            raise ValueError(f"its metadata has a protobuf field of the wire type {wire}")
        if at > len(data):
            raise ValueError("its metadata has a protobuf field that is truncated")
        wanted = fields.get(number)
        if wanted is None:
            continue
        values = found.setdefault(number, [])
        if wanted in (NUMBER, NUMBERS) and wire == _VARINT:
            values.append(value)
        elif wanted == NUMBERS and wire == _LENGTH:
            values += _numbers(data[start:at])
        elif wanted not in (NUMBER, NUMBERS) and wire == _LENGTH:
            values.append(data[start:at] if wanted == BYTES else parse(data[start:at], wanted))
        else:
            raise ValueError(f"its metadata has a protobuf field {number} of the wire type {wire}")
    return found


def one(message: Mapping[int, list[Any]], number: int, default: Any = None) -> Any:
    """Return the value of a field that is not repeated, or ``default``.

    Raises ValueError when there are several values, and when there is neither a value nor a ``default``.
    """
    values = message.get(number, [] if default is None else [default])
    if len(values) != 1:
        raise ValueError(f"its metadata has {len(values)} protobuf fields {number} in a message")
    return values[0]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift <= _WIDEST:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("its metadata has a number that does not end")


def _numbers(data: bytes) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found
