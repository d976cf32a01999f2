"""32-bit roaring bitmaps in the portable format: sets of row positions (format 12.1, 13).

pyroaring encodes and decodes the bitmaps; with ``run_optimize`` it writes the same bytes as Java. Bytes from files are
untrusted: pyroaring checks the containers; this module checks lengths, the headers of runs, the number of positions and
the greatest position. A container of a few bytes can have 65,536 positions, so the number of positions is checked
before pyroaring unpacks a bitmap. The memory is at most 16 bytes for each row that the caller allows.
"""

from __future__ import annotations

import struct
from array import array
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from paimon_core.codec.arrays import Mask, Positions

_PLAIN_COOKIE, _RUNS_COOKIE = 12346, 12347
_OFFSETS_FROM = 4
"""The number of containers from which a bitmap with runs stores the offsets of its containers."""
_BITS_BYTES = 8192
_SPAN = 1 << 16


def encode(rows: npt.NDArray[Any]) -> bytes:
    """Return the bitmap of ascending positions."""
    return _encoded(_unsigned(rows))


def encode_groups(rows: npt.NDArray[Any], starts: npt.NDArray[Any]) -> tuple[bytes, Positions]:
    """Return the concatenated bytes of n bitmaps, and their n + 1 offsets.

    Bitmap i has the positions ``rows[starts[i]:starts[i + 1]]``, which ascend.
    """
    values, bounds = _unsigned(rows), starts.tolist()
    bitmaps = [_encoded(values[a:b]) for a, b in pairwise(bounds)]
    return b"".join(bitmaps), np.cumsum([0, *map(len, bitmaps)], dtype=np.int64)


def _unsigned(rows: npt.NDArray[Any]) -> array[int]:
    """Return the positions as an array that pyroaring accepts without a Python loop over the positions."""
    return array("I", rows.astype(np.uint32).tobytes())


def _encoded(values: array[int]) -> bytes:
    bitmap = BitMap(values)
    bitmap.run_optimize()
    data: bytes = bitmap.serialize()
    return data


def decode(data: memoryview, at: int, row_count: int) -> tuple[Mask, int]:
    """Return the bitmap at ``at`` as one bool per row, and the position of its end.

    Raises ValueError or struct.error, as ``positions`` does.
    """
    rows, end = positions(data, at, row_count)
    mask = np.zeros(row_count, np.bool_)
    mask[rows] = True
    return mask, end


def positions(data: memoryview, at: int, row_count: int, most: int | None = None) -> tuple[Positions, int]:
    """Return the ascending positions of the bitmap at ``at``, and the position of its end.

    Raises ValueError or struct.error for bytes that are not a bitmap of at most ``most`` positions (None: of any
    number) below ``row_count``.
    """
    end, count = _extent(data, at)
    limit = row_count if most is None else min(most, row_count)
    if count > limit:
        raise ValueError(f"a bitmap has {count} rows, the limit is {limit}")
    try:
        found = BitMap.deserialize(bytes(data[at:end])).to_array()
    except IndexError as error:
        raise ValueError(f"a bitmap is not valid: {error}") from error
    rows = np.asarray(found, np.uint32).astype(np.int64)
    if len(rows) and rows[-1] >= row_count:
        raise ValueError(f"a bitmap has row {rows[-1]} of {row_count}")
    return rows, end


def _extent(data: memoryview, at: int) -> tuple[int, int]:
    """Return the end of the bitmap at ``at`` and its number of positions, from the headers of containers and runs."""
    (cookie,) = struct.unpack_from("<I", data, at)
    at += 4
    has_runs = cookie & 0xFFFF == _RUNS_COOKIE
    flags = b""
    if has_runs:
        count = (cookie >> 16) + 1
        flags = bytes(_slice(data, at, (count + 7) // 8))
        at += len(flags)
    elif cookie == _PLAIN_COOKIE:
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
    else:
        raise ValueError(f"a bitmap begins with {cookie}")
    if count > _SPAN:
        raise ValueError(f"a bitmap has {count} containers")
    cards = np.frombuffer(_slice(data, at, 4 * count), "<u2")[1::2].astype(np.int64) + 1
    at += 4 * count
    if not has_runs or count >= _OFFSETS_FROM:
        at += 4 * count
    sizes = np.minimum(2 * cards, _BITS_BYTES)
    is_run = np.unpackbits(np.frombuffer(flags, np.uint8), count=count, bitorder="little") if has_runs else cards[:0]
    sizes[np.flatnonzero(is_run)] = 0
    before = np.cumsum(sizes) - sizes
    for number in np.flatnonzero(is_run).tolist():
        start = at + int(before[number])
        (runs,) = struct.unpack_from("<H", data, start)
        values = runs + int(np.frombuffer(_slice(data, start + 2, 4 * runs), "<u2")[1::2].sum())
        if values != cards[number]:  # pyroaring ignores the stated number and counts the values in the runs
            raise ValueError(f"the runs of a container have {values} values, not {cards[number]}")
        at += 2 + 4 * runs
    end = at + int(sizes.sum())
    _slice(data, at, end - at)
    return end, int(cards.sum())


def _slice(data: memoryview, at: int, size: int) -> memoryview:
    found = data[at : at + size]
    if at < 0 or size < 0 or len(found) != size:
        raise ValueError(f"{size} bytes at {at} exceed the {len(data)} bytes of the index")
    return found
