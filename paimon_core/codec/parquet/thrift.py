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
    parser = _Parser(data)
    found = parser.struct(0)
    if whole and parser.at != len(data):
        raise ValueError(f"the thrift struct ends {len(data) - parser.at} bytes early")
    return found


def struct_at(data: bytes, at: int, depth: int) -> tuple[Struct, int]:
    """Return the struct at a position, which is inside of ``depth`` structs and lists, and the position after it."""
    parser = _Parser(data)
    parser.at = at
    return parser.struct(depth), parser.at


class _Parser:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise ValueError("the thrift struct is truncated")
        found, self.at = self.data[self.at : end], end
        return found

    def byte(self) -> int:
        at = self.at
        if at >= len(self.data):
            raise ValueError("the thrift struct is truncated")
        self.at = at + 1
        return self.data[at]

    def varint(self) -> int:
        byte = self.byte()
        value, shift = byte & 0x7F, 7
        while byte >= 0x80:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > _WIDEST:
                raise ValueError("a number in the thrift struct does not end")
        return value

    def integer(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def struct(self, depth: int) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self.byte():
            delta, kind = head >> 4, head & 15
            following = number + delta if delta else self.integer()
            if following <= number and following != _EXTENSION:
                raise ValueError(f"the thrift struct has field {following} after {number}")
            number = following
            fields[number] = (kind, None if kind in (TRUE, FALSE) else self.value(kind, depth))
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError("the thrift struct is nested too deeply")
        if kind in (TRUE, FALSE, BYTE):
            return self.take(1)
        if kind in _INTEGERS:
            return self.integer()
        if kind == DOUBLE:
            return self.take(8)
        if kind == BINARY:
            return self.take(self.varint())
        if kind in (LIST, SET):
            head = self.byte()
            size = head >> 4 if head < 0xF0 else self.varint()
            return head & 15, [self.value(head & 15, depth + 1) for _ in range(size)]
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"the footer contains the unsupported thrift type {kind}")


def serialize_struct(fields: Struct) -> bytes:
    """Return the bytes of a struct."""
    out = bytearray()
    _write_struct(fields, out)
    return bytes(out)


def _write_struct(fields: Struct, out: bytearray) -> None:
    last = 0
    for number, (kind, value) in sorted(fields.items(), key=lambda field: field[0]):
        if 0 < number - last < 16:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            _write_integer(number, out)
        last = number
        if kind not in (TRUE, FALSE):
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
