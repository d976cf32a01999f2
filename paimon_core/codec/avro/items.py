"""Avro items: encodes and decodes single arrays, which ``codec.avro.columns`` returns as spans of encoded bytes.

``codec.avro.columns`` has checked the counts and lengths of these arrays, so they are valid.
"""

from __future__ import annotations

from collections.abc import Sequence


def texts_of(data: bytes) -> tuple[str, ...]:
    """Decode an array of strings. Raises UnicodeDecodeError for bytes that are not UTF-8."""
    out = []
    count, at = _number(data, 0)
    while count:
        for _ in range(count):
            size, at = _number(data, at)
            out.append(data[at : at + size].decode())
            at += size
        count, at = _number(data, at)
    return tuple(out)


def numbers_of(data: bytes) -> tuple[int, ...]:
    """Decode an array of longs."""
    out = []
    count, at = _number(data, 0)
    while count:
        for _ in range(count):
            value, at = _number(data, at)
            out.append(value)
        count, at = _number(data, at)
    return tuple(out)


def nullable_numbers(data: bytes) -> tuple[int | None, ...]:
    """Decode an array of the union of null and long."""
    out: list[int | None] = []
    count, at = _number(data, 0)
    while count:
        for _ in range(count):
            branch, value = data[at], None
            at += 1
            if branch:
                value, at = _number(data, at)
            out.append(value)
        count, at = _number(data, at)
    return tuple(out)


def encode_items(items: Sequence[str | int | None], *, nullable: bool) -> bytes:
    """Encode an array of strings or longs; with ``nullable``, each item is encoded as a union with null."""
    out = bytearray()
    if items:
        _append(out, len(items))
    for item in items:
        if nullable:
            out.append(0 if item is None else 2)
        if isinstance(item, str):
            text = item.encode()
            _append(out, len(text))
            out += text
        elif item is not None:
            _append(out, item)
    out.append(0)
    return bytes(out)


def _append(out: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _number(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    value, shift = byte & 0x7F, 7
    while byte > 0x7F:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), at
