"""Variant decoding: the two binaries of a VARIANT as a Python value (format 2.2).

The bytes are untrusted, so every length is checked. The number of values must not exceed the number of bytes: otherwise
values that share bytes could decode to an unlimited amount of memory.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID

import numpy as np

from paimon_core.types.variant_encoding import DAY_MICROS, DEPTH, Id

_EPOCH = datetime(1970, 1, 1)


class Decoder:
    """Decodes values that share one metadata binary; all methods raise ValueError for bytes that are not a VARIANT."""

    def __init__(self, metadata: bytes) -> None:
        self.names = _names(metadata)

    def value(self, data: bytes) -> Any:
        """Return the Python value of an encoded value, which must take all bytes of ``data``."""
        found, end = self._value(data, 0, 0, [max(1, len(data))])
        if end != len(data):
            raise ValueError(f"has {len(data) - end} bytes after its value")
        return found

    def fields(self, data: bytes) -> dict[str, bytes]:
        """Return the encoded values of the fields of an object; raises ValueError for another value."""
        if not data or data[0] & 3 != 2:
            raise ValueError("is not an object")
        budget = [len(data)]
        found, end = {}, 0
        for name, start in self._object(data, 0, budget):
            end = self._value(data, start, 1, budget)[1]
            found[name] = data[start:end]
        return found

    def _value(self, data: bytes, at: int, level: int, budget: list[int]) -> tuple[Any, int]:
        """Return the value that starts at position ``at``, and the position after it."""
        budget[0] -= 1
        if budget[0] < 0:
            raise ValueError("has values that overlap")
        kind = _bytes(data, at, 1)[0]
        if kind & 3 == 1:
            length = kind >> 2
            return _bytes(data, at + 1, length).decode(), at + 1 + length
        if kind & 3 == 0:
            return _primitive(data, at + 1, kind >> 2)
        if level >= DEPTH:
            raise ValueError(f"is nested deeper than {DEPTH} levels")
        if kind & 3 == 2:
            found: Any = {}
            for name, start in self._object(data, at, budget):
                found[name] = self._value(data, start, level + 1, budget)[0]
        else:
            found = [self._value(data, start, level + 1, budget)[0] for start in _items(data, at, budget)]
        return found, _end(data, at)

    def _object(self, data: bytes, at: int, budget: list[int]) -> Iterator[tuple[str, int]]:
        count, ids, offsets, first = _layout(data, at)
        if count > budget[0]:
            raise ValueError("has more values than bytes")
        seen = set()
        for place in range(count):
            number = _number(data, ids.start + place * ids.step, ids.step)
            if number >= len(self.names):
                raise ValueError(f"has a field whose name has the number {number}, of {len(self.names)}")
            name = self.names[number]
            if name in seen:
                raise ValueError(f"has an object with two fields {name!r:.60}")
            seen.add(name)
            yield name, first + _number(data, offsets.start + place * offsets.step, offsets.step)


def _items(data: bytes, at: int, budget: list[int]) -> Iterator[int]:
    count, _, offsets, first = _layout(data, at)
    if count > budget[0]:
        raise ValueError("has more values than bytes")
    return (first + _number(data, offsets.start + place * offsets.step, offsets.step) for place in range(count))


def _layout(data: bytes, at: int) -> tuple[int, range, range, int]:
    """Return the number of items, the positions of the name numbers and of the offsets, and the start of the values."""
    header = _bytes(data, at, 1)[0]
    is_object = header & 3 == 2
    header >>= 2
    offset_bytes = (header & 3) + 1
    id_bytes = ((header >> 2) & 3) + 1 if is_object else 1
    large = header >> (4 if is_object else 2) & 1
    size = 4 if large else 1
    count = _number(data, at + 1, size)
    start = at + 1 + size
    ids = range(start, start + count * id_bytes * is_object, id_bytes)
    offsets = range(ids.stop, ids.stop + (count + 1) * offset_bytes, offset_bytes)
    if offsets.stop > len(data):
        raise ValueError("ends too early")
    return count, ids, offsets, offsets.stop


def _end(data: bytes, at: int) -> int:
    count, _, offsets, first = _layout(data, at)
    end = first + _number(data, offsets.start + count * offsets.step, offsets.step)
    if end > len(data):
        raise ValueError("ends too early")
    return end


def _bytes(data: bytes, at: int, length: int) -> bytes:
    found = data[at : at + length]
    if len(found) < length:
        raise ValueError("ends too early")
    return found


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_bytes(data, at, size), "little")


def _names(metadata: bytes) -> list[str]:
    header = _bytes(metadata, 0, 1)[0]
    if header & 15 != 1:
        raise ValueError(f"has metadata of the version {header & 15}, not 1")
    size = (header >> 6) + 1
    count = _number(metadata, 1, size)
    first = 1 + (count + 2) * size
    if first > len(metadata):
        raise ValueError("has metadata that ends too early")
    ends = [_number(metadata, 1 + (place + 1) * size, size) for place in range(count + 1)]
    if sorted(ends) != ends or first + ends[-1] > len(metadata):
        raise ValueError("has metadata with invalid offsets")
    return [metadata[first + a : first + b].decode() for a, b in pairwise(ends)]


# -- primitive values --------------------------------------------------------------------------------------------------


def _primitive(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (Id.BINARY, Id.STRING):
        length = _number(data, at, 4)
        held = _bytes(data, at + 4, length)
        return (held if kind == Id.BINARY else held.decode()), at + 4 + length
    if kind not in _FIXED:
        raise ValueError(f"has a value of the type {kind}, which is not known")
    size, convert = _FIXED[kind]
    return convert(_bytes(data, at, size)), at + size


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _decimal(data: bytes) -> Decimal:
    if data[0] > 38:
        raise ValueError(f"has a decimal with the scale {data[0]}")
    number = _signed(data[1:])
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -data[0]))


def _day(data: bytes) -> Any:
    days = _signed(data)
    try:
        return date(1970, 1, 1) + timedelta(days=days)
    except OverflowError:
        return np.datetime64(days, "D")


def _micros(data: bytes) -> Any:
    micros = _signed(data)
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return np.datetime64(micros, "us")


def _zoned(found: Any) -> Any:
    return found.replace(tzinfo=UTC) if isinstance(found, datetime) else found


def _nanos(data: bytes) -> Any:
    nanos = _signed(data)
    return np.datetime64(nanos, "ns") if nanos % 1000 else _EPOCH + timedelta(microseconds=nanos // 1000)


def _clock(data: bytes) -> time:
    micros = _signed(data)
    if not 0 <= micros < DAY_MICROS:
        raise ValueError("has a time outside of a day")
    return (_EPOCH + timedelta(microseconds=micros)).time()


_FIXED: dict[int, tuple[int, Callable[[bytes], Any]]] = {
    Id.NULL: (0, lambda data: None),
    Id.TRUE: (0, lambda data: True),
    Id.FALSE: (0, lambda data: False),
    Id.INT8: (1, _signed),
    Id.INT16: (2, _signed),
    Id.INT32: (4, _signed),
    Id.INT64: (8, _signed),
    Id.DOUBLE: (8, lambda data: struct.unpack("<d", data)[0]),
    Id.DECIMAL4: (5, _decimal),
    Id.DECIMAL8: (9, _decimal),
    Id.DECIMAL16: (17, _decimal),
    Id.DATE: (4, _day),
    Id.TIMESTAMP: (8, lambda data: _zoned(_micros(data))),
    Id.TIMESTAMP_NTZ: (8, _micros),
    Id.FLOAT: (4, lambda data: struct.unpack("<f", data)[0]),
    Id.TIME: (8, _clock),
    Id.TIMESTAMP_NANOS: (8, lambda data: _zoned(_nanos(data))),
    Id.TIMESTAMP_NTZ_NANOS: (8, _nanos),
    Id.UUID: (16, lambda data: UUID(bytes=data)),
}
"""For each primitive type of fixed size, the number of bytes and the function that converts them."""
