"""Bitmaps: the records of deletion vectors, with 32-bit and 64-bit positions (format 12.1).

A record is the length of its payload, the payload (a magic number and a roaring bitmap) and the payload's CRC32. Bytes
are untrusted: whatever is not such a record raises CorruptTable.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from paimon_core.errors import CorruptTable, InvalidRequest

Positions = npt.NDArray[np.int64]
"""Sorted row positions without duplicates."""

MAGIC_32 = 1581511376
"""Begins a 32-bit payload, big-endian. DO NOT CHANGE, on disk."""
MAGIC_64 = 1681511377
"""Begins a 64-bit payload, little-endian. DO NOT CHANGE, on disk."""
LENGTH_BYTES = 4
CRC_BYTES = 4
_MOST_32 = 2**31 - 1
_MOST_BITMAPS = 1 << 15
"""Maximum number of 32-bit bitmaps in a 64-bit one: files have fewer rows than that."""


def encode_vector(positions: Positions, *, wide: bool) -> bytes:
    """Return the record of a vector; ``wide``: with 64-bit positions (option ``deletion-vectors.bitmap64``).

    Raises InvalidRequest for positions that do not fit 31 bits in a record that is not wide.
    """
    payload = _wide_payload(positions) if wide else _narrow_payload(positions)
    return struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))


def decode_vector(record: bytes, path: str) -> tuple[Positions, bool]:
    """Return the positions of a record and whether they have 64 bits; ``path`` names the index file in errors."""
    if len(record) < LENGTH_BYTES + 4 + CRC_BYTES:
        raise _corrupt(path, f"a deletion vector has only {len(record)} bytes")
    (length,) = struct.unpack_from(">I", record)
    if length != len(record) - LENGTH_BYTES - CRC_BYTES:
        raise _corrupt(path, f"a deletion vector of {len(record)} bytes states a payload of {length}")
    payload = record[LENGTH_BYTES:-CRC_BYTES]
    (crc,) = struct.unpack_from(">I", record, len(record) - CRC_BYTES)
    if crc != zlib.crc32(payload):
        raise _corrupt(path, "the checksum of a deletion vector is wrong")
    if struct.unpack_from(">I", payload)[0] == MAGIC_32:
        values, rest = _bitmap(payload[4:], path)
        if rest:
            raise _corrupt(path, f"a deletion vector has {len(rest)} bytes after its bitmap")
        return values, False
    if struct.unpack_from("<I", payload)[0] == MAGIC_64:
        return _wide_positions(payload[4:], path), True
    raise _corrupt(path, f"a deletion vector begins with {payload[:4].hex()}, which is no known magic number")


def _narrow_payload(positions: Positions) -> bytes:
    if len(positions) and positions[-1] > _MOST_32:
        raise InvalidRequest(
            f"row position {positions[-1]} needs deletion-vectors.bitmap64 = true: the most without it is {_MOST_32}"
        )
    return struct.pack(">I", MAGIC_32) + _serialized(positions)


def _wide_payload(positions: Positions) -> bytes:
    high = positions >> 32
    keys = int(high[-1]) + 1 if len(positions) else 0
    bounds = np.searchsorted(high, np.arange(keys + 1))
    parts = [struct.pack("<IQ", MAGIC_64, keys)]
    for key in range(keys):  # a part for each 4,294,967,296 rows
        parts += [struct.pack("<I", key), _serialized(positions[bounds[key] : bounds[key + 1]] & 0xFFFFFFFF)]
    return b"".join(parts)


def _serialized(positions: Positions) -> bytes:
    bitmap = BitMap(positions.astype(np.uint32))
    bitmap.run_optimize()
    data: bytes = bitmap.serialize()
    return data


def _wide_positions(data: bytes, path: str) -> Positions:
    if len(data) < 8:
        raise _corrupt(path, "a 64-bit deletion vector is cut off")
    (count,) = struct.unpack_from("<Q", data)
    if count > _MOST_BITMAPS:
        raise _corrupt(path, f"a 64-bit deletion vector states {count} bitmaps")
    data, last, parts = data[8:], -1, []
    for _ in range(count):
        if len(data) < 4:
            raise _corrupt(path, "a 64-bit deletion vector is cut off")
        (key,) = struct.unpack_from("<I", data)
        if not last < key < _MOST_BITMAPS:
            raise _corrupt(path, f"a 64-bit deletion vector has the key {key} after {last}")
        values, data = _bitmap(data[4:], path)
        parts.append(values + (key << 32))
        last = key
    if data:
        raise _corrupt(path, f"a deletion vector has {len(data)} bytes after its bitmaps")
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _bitmap(data: bytes, path: str) -> tuple[Positions, bytes]:
    """Return the values of the bitmap at the start of ``data``, and the bytes after it."""
    try:
        bitmap = BitMap.deserialize(data)
    except (ValueError, IndexError) as error:
        raise _corrupt(path, f"a deletion vector does not decode: {error}") from error
    return np.asarray(bitmap.to_array(), np.uint32).astype(np.int64), data[len(bitmap.serialize()) :]


def _corrupt(path: str, problem: str) -> CorruptTable:
    return CorruptTable(f"{path}: {problem}", path=path)
