"""BinaryRow: encodes and decodes partitions, keys and statistics (format 5), for one row and for whole columns.

Serialized rows begin with a 4-byte big-endian arity (format 5.7); images, which are hashed, have no arity. The encoders
of single rows and of columns produce the same bytes. Bytes from a file are not trusted: ``decode_row`` returns values
of the requested types or raises CorruptTable.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.codec.binary_row.cells import (
    COMPACT_DECIMAL,
    COMPACT_TIMESTAMP,
    INLINE_BYTES,
    encode_column,
    one_array,
    units_per_milli,
)
from paimon_core.codec.binary_row.images import images_of, null_bytes
from paimon_core.errors import CorruptTable, SchemaMismatch, UnsupportedFeature
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

Encode = Callable[[Sequence[Any]], bytes]
Decode = Callable[[bytes], tuple[Any, ...]]

_ARITY_BYTES = 4
_SLOT = {
    TypeRoot.BOOLEAN: "?7x",
    TypeRoot.TINYINT: "b7x",
    TypeRoot.SMALLINT: "h6x",
    TypeRoot.INT: "i4x",
    TypeRoot.DATE: "i4x",
    TypeRoot.TIME: "i4x",
    TypeRoot.BIGINT: "q",
    TypeRoot.FLOAT: "f4x",
    TypeRoot.DOUBLE: "d",
    TypeRoot.DECIMAL: "q",
    TypeRoot.TIMESTAMP: "q",
    TypeRoot.TIMESTAMP_LTZ: "q",
}
_EXACT = Context(prec=80)
_POINTER = struct.Struct("<II")
_MILLIS = struct.Struct("<q")
_DAY_MILLIS = 86_400_000


def encode_row(values: Sequence[Any], types: Sequence[DataType]) -> bytes:
    """Return one serialized row of storage values; raises SchemaMismatch, which names a value that does not fit."""
    return row_encoder(tuple(types))(values)


def decode_row(data: bytes, types: Sequence[DataType]) -> tuple[Any, ...]:
    """Return the storage values of one serialized row; raises CorruptTable unless the bytes are a row of ``types``."""
    return row_decoder(tuple(types))(data)


# -- one row -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def row_encoder(types: tuple[DataType, ...]) -> Encode:
    """Return ``encode_row`` prepared for these types."""
    layout = _layout(types)
    prefix = len(types).to_bytes(_ARITY_BYTES, "big")
    writers = [(_writer(t), _reserved(t), b"" if _is_text(t) else 0) for t in types]
    head_bytes = null_bytes(len(types))

    def encode(values: Sequence[Any]) -> bytes:
        slots: list[Any] = []
        tail = b""
        nulls = 0
        for at, (value, (write, reserved, empty)) in enumerate(zip(values, writers, strict=True)):
            if value is None:
                nulls |= 256 << at
                slots.append((layout.size + len(tail)) << 32 if reserved else empty)
                tail += bytes(reserved)
            elif write is None:
                slots.append(value)
            else:
                slot, payload = write(value, layout.size + len(tail))
                slots.append(slot)
                tail += payload
        return prefix + layout.pack(nulls.to_bytes(head_bytes, "little"), *slots) + tail

    def checked(values: Sequence[Any]) -> bytes:
        try:
            return encode(values)
        except (struct.error, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            if len(types) == len(values) and len(types) > 1:
                for value, dtype in zip(values, types, strict=True):
                    row_encoder((dtype,))((value,))
            names = ", ".join(t.sql for t in types)
            raise SchemaMismatch(f"{values!r:.200} does not fit ({names}): {error}", types=names) from None

    return checked


@lru_cache(maxsize=256)
def row_decoder(types: tuple[DataType, ...]) -> Decode:
    """Return ``decode_row`` prepared for these types, for callers that decode many rows."""
    layout = _layout(types)
    prefix = len(types).to_bytes(_ARITY_BYTES, "big")
    readers = [(at, read) for at, t in enumerate(types) if (read := _reader(t)) is not None]
    least = _ARITY_BYTES + layout.size

    def decode(data: bytes) -> tuple[Any, ...]:
        if data[:_ARITY_BYTES] != prefix or len(data) < least:
            raise CorruptTable(
                f"a BinaryRow of {len(types)} fields must have at least {least} bytes and start with its arity; "
                f"found {len(data)} bytes that start with {bytes(data[:_ARITY_BYTES]).hex() or 'nothing'}",
                arity=len(types),
            )
        head, *values = layout.unpack_from(data, _ARITY_BYTES)
        nulls = int.from_bytes(head, "little") >> 8
        for at, read in readers:
            if not nulls >> at & 1:
                try:
                    values[at] = read(data, values[at])
                except ValueError as error:
                    raise CorruptTable(
                        f"field {at} of a BinaryRow is not a valid {types[at]}: {error}", field=at, type=types[at].sql
                    ) from None
        if nulls:
            for at in range(len(types)):
                if nulls >> at & 1:
                    values[at] = None
        return tuple(values)

    return decode


def _layout(types: Sequence[DataType]) -> struct.Struct:
    """Return the layout of header and slots.

    A text slot is 8 bytes; the slot of a wide decimal or a fine timestamp is one number that contains the offset.
    """
    slots = ("8s" if _is_text(t) else "Q" if _reserved(t) else _SLOT.get(t.root, "Q") for t in types)
    return struct.Struct(f"<{null_bytes(len(types))}s{''.join(slots)}")


def _is_text(dtype: DataType) -> bool:
    return dtype.root in STRING_ROOTS or dtype.root in BINARY_ROOTS


def _reserved(dtype: DataType) -> int:
    """Return the variable bytes that a field reserves even when it is null (format 5.3)."""
    if dtype.root is TypeRoot.DECIMAL and dtype.precision > COMPACT_DECIMAL:
        return 16
    if dtype.root in TIMESTAMP_ROOTS and dtype.precision > COMPACT_TIMESTAMP:
        return 8
    return 0


def _writer(dtype: DataType) -> Callable[[Any, int], tuple[Any, bytes]] | None:
    """Return a function (value, offset of variable part) -> (slot, variable part), or None if the value is the slot."""
    root, wide = dtype.root, bool(_reserved(dtype))
    if _is_text(dtype):
        text = root in STRING_ROOTS

        def write_text(value: Any, offset: int) -> tuple[bytes, bytes]:
            if not isinstance(value, str if text else bytes):
                raise TypeError(f"{type(value).__name__} is not {'str' if text else 'bytes'}")
            data: bytes = value.encode() if isinstance(value, str) else value
            if len(data) <= INLINE_BYTES:
                return data.ljust(7, b"\0") + bytes((0x80 | len(data),)), b""
            return _POINTER.pack(len(data), offset), data + bytes(-len(data) % 8)

        return write_text
    if root is TypeRoot.DECIMAL:
        limit, scale = 10**dtype.precision, dtype.scale

        def write_decimal(value: Any, offset: int) -> tuple[int, bytes]:
            scaled = value.scaleb(scale, _EXACT)
            unscaled = int(scaled)
            if unscaled != scaled or not -limit < unscaled < limit:
                raise ValueError("too many digits")
            if not wide:
                return unscaled, b""
            size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
            return offset << 32 | size, unscaled.to_bytes(size, "big", signed=True).ljust(16, b"\0")

        return write_decimal
    if wide:
        per_milli = units_per_milli(dtype)

        def write_timestamp(value: Any, offset: int) -> tuple[int, bytes]:
            millis, rest = divmod(value, per_milli)
            return offset << 32 | rest * (1_000_000 // per_milli), _MILLIS.pack(millis)

        return write_timestamp
    if root is TypeRoot.BOOLEAN:

        def write_boolean(value: Any, offset: int) -> tuple[bool, bytes]:
            if not isinstance(value, bool):
                raise TypeError(f"{type(value).__name__} is not bool")
            return value, b""

        return write_boolean
    return None


def _reader(dtype: DataType) -> Callable[[bytes, Any], Any] | None:
    """Return a function (serialized row, slot) -> value, or None for a type whose slot is the value.

    The function may raise ValueError.
    """
    root, wide = dtype.root, bool(_reserved(dtype))
    if _is_text(dtype):
        text = root in STRING_ROOTS

        def read_text(data: bytes, slot: bytes) -> Any:
            mark = slot[7]
            if mark & 0x80:
                size = mark & 0x7F
                if size > INLINE_BYTES:
                    raise ValueError(f"{size} bytes do not fit in a slot")
                found = slot[:size]
            else:
                found = _variable(data, *_POINTER.unpack(slot))
            return found.decode() if text else found

        return read_text
    if root is TypeRoot.DECIMAL:
        limit, scale = 10**dtype.precision, -dtype.scale

        def read_decimal(data: bytes, slot: int) -> Decimal:
            unscaled = slot
            if wide:
                if slot & 0xFFFFFFFF > 16:
                    raise ValueError(f"{slot & 0xFFFFFFFF} bytes are more than 16")
                unscaled = int.from_bytes(_variable(data, slot & 0xFFFFFFFF, slot >> 32), "big", signed=True)
            if not -limit < unscaled < limit:
                raise ValueError(f"unscaled value {unscaled} has too many digits")
            return _EXACT.scaleb(Decimal(unscaled), scale)

        return read_decimal
    if wide:
        per_milli = units_per_milli(dtype)

        def read_timestamp(data: bytes, slot: int) -> int:
            nanos = slot & 0xFFFFFFFF
            if nanos > 999_999:
                raise ValueError(f"{nanos} nanoseconds are more than a millisecond")
            millis: int = _MILLIS.unpack(_variable(data, 8, slot >> 32))[0]
            return millis * per_milli + nanos * per_milli // 1_000_000

        return read_timestamp
    if root is TypeRoot.TIME:

        def read_time(data: bytes, slot: int) -> int:
            if not 0 <= slot < _DAY_MILLIS:
                raise ValueError(f"{slot} is not a millisecond of a day")
            return slot

        return read_time
    return None


def _variable(data: bytes, size: int, offset: int) -> bytes:
    start = _ARITY_BYTES + offset
    if start + size > len(data):
        raise ValueError(f"offset {offset} and length {size} exceed the row of {len(data) - _ARITY_BYTES} bytes")
    return data[start : start + size]


# -- storage values and Arrow ------------------------------------------------------------------------------------------


def storage_values(array: pa.Array | pa.ChunkedArray, dtype: DataType) -> list[Any]:
    """Return a column as storage values: DATE in days, TIME in milliseconds, TIMESTAMP in its unit; None for null."""
    array = one_array(array, dtype)
    if dtype.root in (TypeRoot.DATE, TypeRoot.TIME):
        array = array.cast(pa.int32())
    elif dtype.root in TIMESTAMP_ROOTS:
        array = array.cast(pa.int64())
    values: list[Any] = array.to_pylist()
    return values


def to_array(values: Sequence[Any], dtype: DataType) -> pa.Array:
    """Return storage values as an Arrow array of ``dtype.to_arrow()``.

    Raises UnsupportedFeature for a TIMESTAMP that fits BinaryRow but not Arrow (year 9999 in nanoseconds).
    """
    try:
        return pa.array(values, dtype.to_arrow())
    except (pa.ArrowInvalid, OverflowError) as error:
        raise UnsupportedFeature(f"{dtype} value does not fit {dtype.to_arrow()}: {error}", type=dtype.sql) from None


# -- whole columns -----------------------------------------------------------------------------------------------------


def encode_rows(columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]) -> list[bytes]:
    """Return each row of the columns, serialized as ``encode_row`` does; for few rows, such as distinct keys."""
    flat, offsets = row_images(columns, types)
    prefix = len(types).to_bytes(_ARITY_BYTES, "big")
    data, ends = flat.tobytes(), offsets.tolist()
    return [prefix + data[a:b] for a, b in pairwise(ends)]


def row_images(
    columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the rows of the columns without arity prefix: the bytes of all n rows in one array, and n + 1 offsets."""
    return images_of([encode_column(c, t) for c, t in zip(columns, types, strict=True)])
