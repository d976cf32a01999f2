"""Range bitmap index: a sorted dictionary of the values, and one bitmap for each bit of the rows' codes (format 13.6).

The code of a row is the position of its value in the dictionary.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec import roaring
from paimon_core.fileindex.keys import Keys, big_endian, bytes_of, decoded, distinct_of, joined, width_of
from paimon_core.fileindex.slices import add_slice, encode_slices
from paimon_core.types import DataType

_VERSION = 1
_EMPTY_SLICES = 64
"""The number of slices that Java writes when there is no value."""


def write(keys: Keys, options: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of the index; option ``chunk-size`` is the size in bytes of a chunk of the dictionary."""
    distinct = distinct_of(keys)
    stored = distinct.encoded(keys.dtype)
    count = len(distinct)
    dictionary = _dictionary(stored, width_of(keys.dtype), options["chunk-size"])
    head = struct.pack(">bii", _VERSION, keys.row_count, count)
    if count:
        head += stored[0].as_py() + stored[count - 1].as_py()
    head += struct.pack(">i", len(dictionary))
    slices = encode_slices(keys.rows, distinct.codes, max(1, (count - 1).bit_length()) if count else _EMPTY_SLICES)
    sizes = np.array([len(s) for s in slices])
    places = np.stack((np.cumsum(sizes) - sizes, sizes), axis=1).astype(">i4").tobytes()
    exists = roaring.encode(keys.rows)
    bits = struct.pack(">bbii", _VERSION, len(slices), len(exists), len(places)) + places
    return b"".join((_sized(head), dictionary, _sized(bits), exists, *slices))


def _sized(head: bytes) -> bytes:
    return struct.pack(">i", len(head)) + head


def _dictionary(stored: pa.Array, width: int | None, limit: int) -> bytes:
    """Return the dictionary: chunks of the sorted keys.

    The first key of a chunk is in its header; up to ``limit`` bytes of further keys follow.
    """
    sizes = pc.binary_length(stored).to_numpy().astype(np.int64)
    starts = _chunk_starts(sizes, width, limit)
    ends = np.append(starts[1:], len(stored))[: len(starts)]
    followers = ends - starts - 1
    before = np.concatenate(([0], np.cumsum(sizes)))
    key_bytes = before[ends] - before[np.minimum(starts + 1, ends)]
    offset_bytes = np.zeros_like(key_bytes) if width is not None else 4 * followers
    stride = key_bytes + offset_bytes
    members = [
        big_endian(np.full(len(starts), _VERSION), 1),
        stored.take(pa.array(starts)),
        big_endian(starts, 4),
        big_endian(np.cumsum(stride) - stride, 4),
        big_endian(followers, 4),
    ]
    if width is None:
        members += [big_endian(offset_bytes, 4), big_endian(key_bytes, 4)]
    else:
        members += [big_endian(key_bytes, 4), big_endian(np.full(len(starts), width), 4)]
    headers = joined(*members)
    header_sizes = pc.binary_length(headers).to_numpy().astype(np.int64)
    offsets = big_endian(np.cumsum(header_sizes) - header_sizes, 4)
    if width is not None:
        further = np.ones(len(stored), np.bool_)
        further[starts] = False
        keys = bytes_of(stored.filter(pa.array(further)))
    else:
        keys = b"".join(
            (before[a + 1 : b] - before[a + 1]).astype(">i4").tobytes() + bytes_of(stored.slice(a + 1, b - a - 1))
            for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
            if b > a + 1
        )
    flat = bytes_of(headers)
    head = struct.pack(">biii", _VERSION, len(starts), 4 * len(starts), len(flat))
    return b"".join((_sized(head), bytes_of(offsets), flat, keys))


def _chunk_starts(sizes: npt.NDArray[np.int64], width: int | None, limit: int) -> npt.NDArray[np.int64]:
    if width is not None:
        return np.arange(0, len(sizes), 1 + limit // width)
    ends = np.cumsum(sizes)
    starts, at = [], 0
    while at < len(sizes):
        starts.append(at)
        to = int(np.searchsorted(ends, ends[at] + limit, side="right"))
        at = min(to, at + 1 + limit // 4)
    return np.array(starts, np.int64)


@dataclass(frozen=True)
class RangeBitmap:
    """A parsed index: the sorted keys, and for each row the position of its key (-1 for null)."""

    keys: list[Any]
    codes: npt.NDArray[np.int64]


def parse(payload: bytes, dtype: DataType, row_count: int) -> RangeBitmap:
    """Parse the bytes of an index; raises ValueError or struct.error when they are not valid."""
    size, version, rows, count = struct.unpack_from(">ibii", payload)
    if version != _VERSION or rows != row_count or not 0 <= count <= rows:
        raise ValueError(f"a range bitmap has version {version}, {rows} rows and {count} values, its file {row_count}")
    at, bounds = 13, []
    for _ in range(2 if count else 0):
        key, at = _key(payload, at, dtype)
        bounds.append(key)
    (dictionary,) = struct.unpack_from(">i", payload, at)
    start = at + 4
    if size != start - 4 or not 0 <= dictionary <= len(payload) - start:
        raise ValueError(f"a range bitmap has a head of {size} bytes and a dictionary of {dictionary}")
    keys = _read_dictionary(payload[start : start + dictionary], dtype)
    if len(keys) != count or bounds != ([keys[0], keys[-1]] if keys else []):
        raise ValueError(f"a range bitmap has {len(keys)} keys, its head states {count}")
    if any(a >= b for a, b in pairwise(keys)):
        raise ValueError("the keys of a range bitmap do not ascend")
    return RangeBitmap(keys, _read_codes(memoryview(payload), start + dictionary, count, row_count))


def _read_codes(data: memoryview, at: int, count: int, row_count: int) -> npt.NDArray[np.int64]:
    size, version, slices, exists_bytes, places = struct.unpack_from(">ibbii", data, at)
    if version != _VERSION or not 0 <= slices <= 64 or places != 8 * slices or size != 10 + places:
        raise ValueError(f"the codes of a range bitmap have version {version} and {slices} slices")
    found = np.frombuffer(data, ">i4", 2 * slices, at + 14).reshape(-1, 2).tolist()
    body = at + 4 + size
    exists, end = roaring.decode(data, body, row_count)
    if end != body + exists_bytes:
        raise ValueError(f"the rows of a range bitmap have {end - body} bytes, not {exists_bytes}")
    values = np.zeros(row_count, np.uint64)
    for bit, (offset, length) in enumerate(found):
        if body + exists_bytes + offset != end:
            raise ValueError(f"slice {bit} of a range bitmap is at {offset}")
        mask, end = roaring.decode(data, end, row_count)
        if end != body + exists_bytes + offset + length:
            raise ValueError(f"slice {bit} of a range bitmap does not have {length} bytes")
        add_slice(values, exists, bit, mask)
    codes = np.where(exists, values.view(np.int64), -1)
    if (codes[exists] >= count).any() or (codes[exists] < 0).any() or len(np.unique(codes[exists])) != count:
        raise ValueError(f"the codes of a range bitmap are not all of its {count} keys")
    return codes


def _read_dictionary(data: bytes, dtype: DataType) -> list[Any]:
    size, version, count, offset_bytes, chunk_bytes = struct.unpack_from(">ibiii", data)
    if size != 13 or version != _VERSION or not 0 <= count <= len(data) or offset_bytes != 4 * count:
        raise ValueError(f"a dictionary has version {version} and {count} chunks")
    at = 17 + offset_bytes
    body = at + chunk_bytes
    offsets = np.frombuffer(data, ">i4", count, 17).tolist()
    keys: list[Any] = []
    end = body
    for offset in offsets:
        if at != 17 + offset_bytes + offset:
            raise ValueError(f"a chunk of a dictionary is at {offset}")
        key, after = _key(data, at + 1, dtype)
        code, place, further, first, second = struct.unpack_from(">iiiii", data, after)
        if data[at] != _VERSION or code != len(keys) or body + place != end:
            raise ValueError(f"a chunk of a dictionary has code {code} and keys at {place}")
        keys.append(key)
        width = width_of(dtype)
        lead = 0 if width is not None else first
        key_bytes = first if width is not None else second
        if lead < 0 or key_bytes < 0 or further < 0 or end + lead + key_bytes > len(data):
            raise ValueError(f"a chunk of a dictionary has {further} keys in {key_bytes} bytes")
        keys += _further(data, end + lead, end + lead + key_bytes, dtype, further)
        end += lead + key_bytes
        at = after + 20
    if at != body or end != len(data):
        raise ValueError("the chunks of a dictionary do not fill the dictionary")
    return keys


def _further(data: bytes, at: int, end: int, dtype: DataType, count: int) -> list[Any]:
    width = width_of(dtype)
    if width is not None:
        if end - at != width * count:
            raise ValueError(f"a chunk of a dictionary has {count} keys in {end - at} bytes")
        return list(decoded(np.frombuffer(data, np.uint8, end - at, at).reshape(-1, width), dtype).tolist())
    keys = []
    while at < end:
        key, at = _key(data, at, dtype)
        keys.append(key)
    if at != end or len(keys) != count:
        raise ValueError(f"a chunk of a dictionary has {len(keys)} keys, not {count}")
    return keys


def _key(data: bytes, at: int, dtype: DataType) -> tuple[Any, int]:
    width = width_of(dtype)
    if width is not None:
        return decoded(np.frombuffer(data, np.uint8, width, at).reshape(1, -1), dtype).tolist()[0], at + width
    (size,) = struct.unpack_from(">i", data, at)
    if not 0 <= size <= len(data) - at - 4:
        raise ValueError(f"a key has {size} bytes")
    return data[at + 4 : at + 4 + size], at + 4 + size
