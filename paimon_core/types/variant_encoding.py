"""Variant encoding: Python values and JSON texts as the two binaries of a VARIANT (format 2.2).

The bytes are the same as from Java's builder: the smallest type for each number, names in the order of their first
use, the fields of an object in the order of their UTF-8 bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

import numpy as np

from paimon_core.types.time_text import date_and_nanos

DEPTH: Final = 200
"""The largest number of nested levels of objects and arrays."""
MOST_BYTES: Final = (1 << 24) - 1
"""The largest size in bytes of each of the two binaries; Java before 2.0 cannot read larger binaries."""
SHORT_BYTES: Final = 63
"""The largest size in bytes of a text whose length is stored in its first byte."""
DAY_MICROS: Final = 86_400_000_000
_DIGITS = 38


class Id:
    """The type numbers of the primitive values in a VARIANT."""

    NULL, TRUE, FALSE, INT8, INT16, INT32, INT64, DOUBLE, DECIMAL4, DECIMAL8, DECIMAL16 = range(11)
    DATE, TIMESTAMP, TIMESTAMP_NTZ, FLOAT, BINARY, STRING, TIME, TIMESTAMP_NANOS, TIMESTAMP_NTZ_NANOS, UUID = range(
        11, 21
    )


def encoded(value: Any) -> tuple[bytes, bytes]:
    """Return the binaries ``value`` and ``metadata``.

    Raises ValueError with the reason for a value that cannot be a VARIANT.
    """
    names: dict[str, int] = {}
    data = encoded_value(value, names)
    metadata = _metadata(list(names))
    if max(len(data), len(metadata)) > MOST_BYTES:
        raise ValueError(f"is larger than {MOST_BYTES} bytes as a VARIANT")
    return data, metadata


def json_value(text: str) -> Any:
    """Return the value of a JSON text; numbers get the same types as in Java. Raises ValueError for invalid JSON."""
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_int=_whole, parse_float=_fraction, parse_constant=_refused
        )
    except RecursionError:
        raise ValueError(f"is nested deeper than {DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not valid JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"has an object with two fields {twice!r:.60}")
    return found


def _whole(text: str) -> Any:
    if len(text.lstrip("-")) > _DIGITS:
        return float(text)
    return int(text)


def _fraction(text: str) -> Any:
    number = None if "e" in text or "E" in text else Decimal(text)
    if number is None:
        return float(text)
    _, digits, exponent = number.as_tuple()
    return number if len(digits) <= _DIGITS and -int(exponent) <= _DIGITS else float(text)


def _refused(text: str) -> Any:
    raise ValueError(f"is not valid JSON: {text}")


# -- values ------------------------------------------------------------------------------------------------------------


def encoded_value(value: Any, names: dict[str, int], level: int = 0) -> bytes:
    """Return the binary ``value``; ``names`` maps field names to their numbers in the metadata, and gets new names."""
    value = value.value if isinstance(value, Enum) else value
    if isinstance(value, Mapping | list | tuple) and level >= DEPTH:
        raise ValueError(f"is nested deeper than {DEPTH} levels")
    if isinstance(value, Mapping):
        return _encoded_object(value, names, level)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = list(value)
    if isinstance(value, list | tuple):
        return array_of_values([encoded_value(item, names, level + 1) for item in value])
    return _scalar(value)


def _encoded_object(value: Mapping[Any, Any], names: dict[str, int], level: int) -> bytes:
    fields = []
    for name, item in value.items():
        if not isinstance(name, str):
            raise ValueError(f"has a field named {name!r:.60}, which is no text")
        number = names.setdefault(name, len(names))
        fields.append((_utf8(name), number, encoded_value(item, names, level + 1)))
    return object_of_fields(fields)


def object_of_fields(fields: list[tuple[bytes, int, bytes]]) -> bytes:
    """Return an encoded object; a field is (name in UTF-8, number of the name in the metadata, encoded value)."""
    starts, position = [], 0
    for _, _, data in fields:
        starts.append(position)
        position += len(data)
    order = sorted(range(len(fields)), key=lambda at: fields[at][0])
    id_bytes = byte_width(max((number for _, number, _ in fields), default=0))
    offset_bytes = byte_width(position)
    is_large = len(fields) > 255
    return b"".join(
        (
            bytes([2 | (is_large << 4 | (id_bytes - 1) << 2 | (offset_bytes - 1)) << 2]),
            len(fields).to_bytes(4 if is_large else 1, "little"),
            *(fields[at][1].to_bytes(id_bytes, "little") for at in order),
            *(starts[at].to_bytes(offset_bytes, "little") for at in order),
            position.to_bytes(offset_bytes, "little"),
            *(data for _, _, data in fields),
        )
    )


def array_of_values(items: list[bytes]) -> bytes:
    """Return an array of encoded values."""
    ends = np.cumsum([0, *map(len, items)]).tolist()
    offset_bytes, is_large = byte_width(ends[-1]), len(items) > 255
    return b"".join(
        (
            bytes([3 | (is_large << 2 | (offset_bytes - 1)) << 2]),
            len(items).to_bytes(4 if is_large else 1, "little"),
            *(end.to_bytes(offset_bytes, "little") for end in ends),
            *items,
        )
    )


def _metadata(names: list[str]) -> bytes:
    texts = [_utf8(name) for name in names]
    ends = np.cumsum([0, *map(len, texts)]).tolist()
    size = byte_width(max(ends[-1], len(names)))
    numbers = (n.to_bytes(size, "little") for n in (len(names), *ends))
    return b"".join((bytes([1 | (size - 1) << 6]), *numbers, *texts))


def byte_width(number: int) -> int:
    """Return the number of bytes that a number needs; 1 for 0."""
    return max(1, (number.bit_length() + 7) // 8)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError("contains a character that is not valid Unicode text") from None


def _scalar(value: Any) -> bytes:
    if isinstance(value, np.float32):
        return _primitive(Id.FLOAT, struct.pack("<f", value))
    if isinstance(value, np.datetime64):
        return _timestamp(str(value))
    value = value.item() if isinstance(value, np.generic) else value
    match value:
        case None:
            return _primitive(Id.NULL)
        case bool():
            return _primitive(Id.TRUE if value else Id.FALSE)
        case int():
            return _integer(value)
        case float():
            return _primitive(Id.DOUBLE, struct.pack("<d", value))
        case str():
            text = _utf8(value)
            return bytes([1 | len(text) << 2]) + text if len(text) <= SHORT_BYTES else _sized(Id.STRING, text)
        case Decimal():
            return _decimal(value)
        case datetime():
            return _timestamp(value.isoformat() if getattr(value, "nanosecond", 0) else value)
        case date():
            return _primitive(Id.DATE, struct.pack("<i", date_and_nanos(value)[0]))
        case bytes() | bytearray() | memoryview():
            return _sized(Id.BINARY, bytes(value))
        case UUID():
            return _primitive(Id.UUID, value.bytes)
        case time():
            raise ValueError("is a time, and a VARIANT of Paimon has none: use a text")
    raise ValueError(f"is a {type(value).__name__}, which a VARIANT does not have")


def _primitive(number: int, data: bytes = b"") -> bytes:
    return bytes([number << 2]) + data


def _sized(number: int, data: bytes) -> bytes:
    return _primitive(number, len(data).to_bytes(4, "little") + data)


def _integer(number: int) -> bytes:
    for kind, size in ((Id.INT8, 1), (Id.INT16, 2), (Id.INT32, 4), (Id.INT64, 8)):
        if -(1 << 8 * size - 1) <= number < 1 << 8 * size - 1:
            return _primitive(kind, number.to_bytes(size, "little", signed=True))
    return _unscaled(number, 0)


def _decimal(number: Decimal) -> bytes:
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("is not a finite number")
    if max(exponent, 0) + len(digits) > _DIGITS and number:
        raise ValueError(f"has more than {_DIGITS} digits")
    unscaled = int("".join(map(str, digits))) * 10 ** max(exponent, 0) if number else 0
    return _unscaled(-unscaled if sign else unscaled, max(-exponent, 0))


def decimal_type(digits: int) -> tuple[int, int]:
    """Return the type number of decimals with ``digits`` digits, and the number of bytes of their unscaled value."""
    return (Id.DECIMAL4, 4) if digits <= 9 else (Id.DECIMAL8, 8) if digits <= 18 else (Id.DECIMAL16, 16)


def _unscaled(number: int, scale: int) -> bytes:
    precision = len(str(abs(number)))
    if precision > _DIGITS or scale > _DIGITS:
        raise ValueError(f"has more than {_DIGITS} digits")
    kind, size = decimal_type(max(precision, scale))
    return _primitive(kind, bytes([scale]) + number.to_bytes(size, "little", signed=True))


def _timestamp(value: datetime | str) -> bytes:
    day, nanos, zone = date_and_nanos(value)
    total = day * DAY_MICROS * 1000 + nanos - (zone or 0)
    if total % 1000:
        raise ValueError("has more digits of a second than a VARIANT, which counts microseconds")
    kind = Id.TIMESTAMP_NTZ if zone is None else Id.TIMESTAMP
    try:
        return _primitive(kind, struct.pack("<q", total // 1000))
    except struct.error:
        raise ValueError("is outside of the years that microseconds cover") from None
