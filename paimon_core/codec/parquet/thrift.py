"""Thrift: decodes and encodes the parts of Thrift's compact protocol that Parquet footers use.

A struct is a dict from field id to ``(wire type, value)``, and a list is a pair of wire type and values. Callers may
change structs and lists; unknown fields are kept. Functions raise ValueError for bytes that are not a struct, field ids
that do not ascend (except the id of an extension), a depth above ``MAX_DEPTH``, and maps, which footers do not contain.
"""

from __future__ import annotations

from typing import Any

Struct = dict[int, tuple[int, Any]]

MAX_DEPTH = 32
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, _MAP, STRUCT = range(1, 13)
_INTEGERS = (I16, I32, I64)
_WIDEST = 70
"""The number of bits of the longest encoded number: ten groups of seven bits."""


_EXTENSION = -16384
"""The id that this decoder reads for Parquet's extension field, whose header is 08 FF FF 01."""


def parse_struct(data: bytes, *, whole: bool = False) -> Struct:
    """Return the struct at the start of ``data``; with ``whole``, raise ValueError for bytes after it."""
    found, at = struct_at(data, 0, 0)
    if whole and at != len(data):
        raise ValueError(f"the thrift struct ends {len(data) - at} bytes early")
    return found


def struct_at(data: bytes, at: int, depth: int) -> tuple[Struct, int]:
    """Return the struct at a position, which is inside of ``depth`` structs and lists, and the position after it."""
    try:
        return _struct(data, at, depth)
    except IndexError:
        raise ValueError("the thrift struct is truncated") from None


def _struct(data: bytes, at: int, depth: int) -> tuple[Struct, int]:
    """Return the struct at a position and the position after it; raises IndexError for a struct that is truncated.

    Most fields are numbers of one byte, which are decoded here: a call takes several times as long.
    """
    fields: Struct = {}
    number = 0
    while head := data[at]:
        at += 1
        kind = head & 15
        if head >> 4:
            following = number + (head >> 4)
        else:
            following, at = integer(data, at)
        if following <= number and following != _EXTENSION:
            raise ValueError(f"the thrift struct has field {following} after {number}")
        number = following
        if I16 <= kind <= I64 and data[at] < 0x80 and depth <= MAX_DEPTH:
            value: Any = data[at] >> 1 ^ -(data[at] & 1)
            at += 1
        elif kind in (TRUE, FALSE):
            value = None
        else:
            value, at = _value(data, at, kind, depth)
        fields[number] = (kind, value)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """Return the value at a position and the position after it."""
    if depth > MAX_DEPTH:
        raise ValueError("the thrift struct is nested too deeply")
    if kind == BINARY:
        size, at = varint(data, at)
        return _bytes(data, at, size)
    if kind == STRUCT:
        return _struct(data, at, depth + 1)
    if kind in _INTEGERS:
        return integer(data, at)
    if kind in (LIST, SET):
        head = data[at]
        size, at = (head >> 4, at + 1) if head < 0xF0 else varint(data, at + 1)
        values = []
        for _ in range(size):
            found, at = _value(data, at, head & 15, depth + 1)
            values.append(found)
        return (head & 15, values), at
    if kind == DOUBLE:
        return _bytes(data, at, 8)
    if kind in (TRUE, FALSE, BYTE):
        return _bytes(data, at, 1)
    raise ValueError(f"the footer contains the unsupported thrift type {kind}")


def _bytes(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    end = at + size
    if end > len(data):
        raise IndexError
    return data[at:end], end


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a position and the position after it; raises ValueError, and IndexError behind the end."""
    byte = data[at]
    value, shift = byte & 0x7F, 7
    while byte >= 0x80:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > _WIDEST:
            raise ValueError("a thrift number does not end")
    return value, at + 1


def integer(data: bytes, at: int) -> tuple[int, int]:
    """Return the signed number at a position and the position after it; raises the errors of ``varint``."""
    value, at = varint(data, at)
    return value >> 1 ^ -(value & 1), at


def serialize_struct(fields: Struct) -> bytes:
    """Return the bytes of a struct."""
    out = bytearray()
    _write_struct(fields, out)
    return bytes(out)


def _write_struct(fields: Struct, out: bytearray) -> None:
    last = 0
    for number in sorted(fields):
        kind, value = fields[number]
        if 0 < number - last < 16:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            _write_integer(number, out)
        last = number
        if I16 <= kind <= I64 and 0 <= value < 0x40:
            out.append(value << 1)
        elif kind not in (TRUE, FALSE):
            _write_value(kind, value, out)
    out.append(0)


def _write_value(kind: int, value: Any, out: bytearray) -> None:
    if kind in _INTEGERS:
        _write_integer(value, out)
    elif kind == BINARY:
        _write_varint(len(value), out)
        out += value
    elif kind in (LIST, SET):
        inner, values = value
        if len(values) < 15:
            out.append(len(values) << 4 | inner)
        else:
            out.append(0xF0 | inner)
            _write_varint(len(values), out)
        for item in values:
            _write_value(inner, item, out)
    elif kind == STRUCT:
        _write_struct(value, out)
    else:
        out += value


def _write_integer(value: int, out: bytearray) -> None:
    _write_varint(value << 1 if value >= 0 else (-value << 1) - 1, out)


def _write_varint(value: int, out: bytearray) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
