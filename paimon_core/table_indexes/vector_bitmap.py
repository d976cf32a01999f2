"""Bitmaps: the records of deletion vectors, with 32-bit and 64-bit positions (format 12.1).

A record is the length of its payload, the payload (a magic number and a roaring bitmap) and the payload's CRC32. The
bytes of files are untrusted: functions raise CorruptTable for bytes that are not a record.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from paimon_core.codec import roaring
from paimon_core.codec.arrays import Positions
from paimon_core.errors import CorruptTable, InvalidRequest

MAGIC_32 = 1581511376
"""The first 4 bytes of a 32-bit payload, big-endian. It is stored in files: do not change it."""
MAGIC_64 = 1681511377
"""The first 4 bytes of a 64-bit payload, little-endian. It is stored in files: do not change it."""
LENGTH_BYTES = 4
CRC_BYTES = 4
_MOST_32 = 2**31 - 1
_MOST_PART = 1 << 32
"""The number of row positions in one 32-bit bitmap of a 64-bit vector."""
_MOST_BITMAPS = 1 << 15
"""The largest number of 32-bit bitmaps in a 64-bit vector; no file has so many rows that it needs more."""


def encode_vector(positions: Positions, *, wide: bool) -> bytes:
    """Return the record of a vector. With ``wide``, positions have 64 bits (option ``deletion-vectors.bitmap64``).

    Raises InvalidRequest for positions that do not fit 31 bits in a record that is not wide.
    """
    payload = _wide_payload(positions) if wide else _narrow_payload(positions)
    return struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))


def decode_vector(record: bytes, path: str, most: int | None = None) -> tuple[Positions, bool]:
    """Return the positions of a record and whether they have 64 bits; ``path`` names the index file in errors.

    A record with more than ``most`` positions is refused before it is unpacked.
    """
    if len(record) < LENGTH_BYTES + 4 + CRC_BYTES:
        raise _corrupt(path, f"a deletion vector has only {len(record)} bytes")
    (length,) = struct.unpack_from(">I", record)
    if length != len(record) - LENGTH_BYTES - CRC_BYTES:
        raise _corrupt(path, f"a deletion vector of {len(record)} bytes states a payload of {length}")
    payload = memoryview(record)[LENGTH_BYTES:-CRC_BYTES]
    (crc,) = struct.unpack_from(">I", record, len(record) - CRC_BYTES)
    if crc != zlib.crc32(payload):
        raise _corrupt(path, "the checksum of a deletion vector is wrong")
    if struct.unpack_from(">I", payload)[0] == MAGIC_32:
        values, end = _bitmap(payload, 4, path, most)
        if end != len(payload):
            raise _corrupt(path, f"a deletion vector has {len(payload) - end} bytes after its bitmap")
        return values, False
    if struct.unpack_from("<I", payload)[0] == MAGIC_64:
        return _wide_positions(payload, path, most), True
    raise _corrupt(path, f"a deletion vector begins with {payload[:4].hex()}, which is no known magic number")


def _narrow_payload(positions: Positions) -> bytes:
    if len(positions) and positions[-1] > _MOST_32:
        raise InvalidRequest(
            f"row position {positions[-1]} needs deletion-vectors.bitmap64 = true: the most without it is {_MOST_32}"
        )
    return struct.pack(">I", MAGIC_32) + roaring.encode(positions)


def _wide_payload(positions: Positions) -> bytes:
    high = positions >> 32
    keys = int(high[-1]) + 1 if len(positions) else 0
    bounds = np.searchsorted(high, np.arange(keys + 1))
    parts = [struct.pack("<IQ", MAGIC_64, keys)]
    for key in range(keys):  # a part for each 4,294,967,296 rows
        parts += [struct.pack("<I", key), roaring.encode(positions[bounds[key] : bounds[key + 1]] & 0xFFFFFFFF)]
    return b"".join(parts)


def _wide_positions(payload: memoryview, path: str, most: int | None) -> Positions:
    if len(payload) < 12:
        raise _corrupt(path, "a 64-bit deletion vector is cut off")
    (count,) = struct.unpack_from("<Q", payload, 4)
    if count > _MOST_BITMAPS:
        raise _corrupt(path, f"a 64-bit deletion vector states {count} bitmaps")
    at, last, parts = 12, -1, []
    for _ in range(count):
        if len(payload) - at < 4:
            raise _corrupt(path, "a 64-bit deletion vector is cut off")
        (key,) = struct.unpack_from("<I", payload, at)
        if not last < key < _MOST_BITMAPS:
            raise _corrupt(path, f"a 64-bit deletion vector has the key {key} after {last}")
        values, at = _bitmap(payload, at + 4, path, most)
        if most is not None:
            most -= len(values)
        if key:
            values += key << 32
        parts.append(values)
        last = key
    if at != len(payload):
        raise _corrupt(path, f"a deletion vector has {len(payload) - at} bytes after its bitmaps")
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _bitmap(payload: memoryview, at: int, path: str, most: int | None) -> tuple[Positions, int]:
    """Return the values of the bitmap that starts at position ``at``, and the position after its end."""
    try:
        return roaring.positions(payload, at, _MOST_PART, most)
    except (ValueError, struct.error) as error:
        raise _corrupt(path, f"a deletion vector does not decode: {error}") from error


def _corrupt(path: str, problem: str) -> CorruptTable:
    return CorruptTable(f"{path}: {problem}", path=path)
