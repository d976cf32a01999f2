"""Bitmap index: the rows of each distinct value (format 13.4); versions 1 and 2."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec import roaring
from paimon_core.codec.arrays import Mask, Positions
from paimon_core.fileindex.java_order import order_computed
from paimon_core.fileindex.keys import Keys, big_endian, bytes_of, decoded, distinct_of, joined, width_of
from paimon_core.types import DataType


def write(keys: Keys, options: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of the index; None when a value does not fit in a block.

    Uses the options ``version`` and ``index-block-size``.
    """
    distinct = distinct_of(keys)
    by_code = np.argsort(distinct.codes, kind="stable")
    counts = np.bincount(distinct.codes, minlength=len(distinct))
    single = counts == 1
    ordered = order_computed(distinct.hash_codes(keys.dtype), distinct.first, len(keys.rows))
    # The bitmaps in the body are in the order of Java's hash map. A value of only one row has no bitmap.
    stored = ordered[~single[ordered]]
    starts = np.concatenate(([0], np.cumsum(counts)))
    rows = keys.rows[by_code]
    sizes = counts[stored]
    before = np.concatenate(([0], np.cumsum(sizes)))
    picked = np.arange(before[-1]) + np.repeat(starts[stored] - before[:-1], sizes)
    bitmaps, ends = roaring.encode_groups(rows[picked], before)
    nulls = np.setdiff1d(np.arange(keys.row_count), keys.rows, assume_unique=True)
    null_bytes = roaring.encode(nulls)
    in_body = b"" if len(nulls) < 2 else null_bytes
    offsets = np.empty(len(distinct), np.int64)
    offsets[single] = -1 - rows[starts[:-1][single]]
    offsets[stored] = ends[:-1] + len(in_body)
    lengths = np.full(len(distinct), -1)
    lengths[stored] = np.diff(ends)
    version = options["version"]
    head = struct.pack(">biib", version, keys.row_count, len(distinct), len(nulls) > 0)
    if len(nulls):
        head += struct.pack(">i", -1 - int(nulls[0]) if len(nulls) == 1 else 0)
    values = distinct.encoded(keys.dtype)
    if version == 1:
        entries = joined(values, big_endian(offsets, 4)).take(pa.array(ordered))
        return b"".join((head, bytes_of(entries), in_body, bitmaps))
    if len(nulls):
        head += struct.pack(">i", len(null_bytes))
    index = _blocks(values, joined(values, big_endian(offsets, 4), big_endian(lengths, 4)), options["index-block-size"])
    return None if index is None else b"".join((head, index, in_body, bitmaps))


def _blocks(values: pa.Array, entries: pa.Array, limit: int) -> bytes | None:
    sizes = pc.binary_length(entries).to_numpy().astype(np.int64)
    if len(sizes) and sizes.max() + 4 > limit:
        return None
    ends = np.cumsum(sizes)
    out: list[bytes] = []
    firsts, at = [], 0
    while at < len(sizes):
        firsts.append(at)
        before = int(ends[at - 1]) if at else 0
        to = int(np.searchsorted(ends, before + limit - 4, side="right"))
        out.append(struct.pack(">i", to - at) + bytes_of(entries.slice(at, to - at)))
        at = to
    places = np.concatenate(([0], np.cumsum([len(b) for b in out]))).astype(np.int64)
    table = joined(values.take(pa.array(firsts, pa.int64())), big_endian(places[:-1], 4))
    return b"".join((struct.pack(">i", len(out)), bytes_of(table), struct.pack(">i", int(places[-1])), *out))


@dataclass(frozen=True)
class BitmapIndex:
    """A parsed bitmap index.

    ``places`` maps each key to the offset and the length of its bitmap; a length of -1 is unknown. A negative offset
    ``n`` means that the key has only the row ``-1 - n`` and no bitmap.
    """

    data: memoryview
    row_count: int
    body: int
    null: tuple[int, int] | None
    places: Mapping[Any, tuple[int, int]]

    @staticmethod
    def parse(payload: bytes, dtype: DataType, row_count: int) -> BitmapIndex:
        """Parse the bytes of an index; raises ValueError or struct.error when they are not valid."""
        version, rows, count = struct.unpack_from(">bii", payload)
        if version not in (1, 2):
            raise ValueError(f"a bitmap index has version {version}")
        if rows != row_count or not 0 <= count <= rows:
            raise ValueError(f"a bitmap index has {rows} rows and {count} values, its file {row_count} rows")
        has_null, at, null = payload[9:10] == b"\1", 10, None
        if payload[9:10] not in (b"\0", b"\1"):
            raise ValueError("a bitmap index has a flag that is no bool")
        if has_null:
            size = -1
            (offset,) = struct.unpack_from(">i", payload, at)
            if version == 2:
                (size,) = struct.unpack_from(">i", payload, at + 4)
            null, at = (offset, size), at + 4 * version
        if version == 1:
            entries, at = _entries(payload, at, dtype, count, 1)
            found = dict(entries)
        else:
            found, at = _read_blocks(payload, at, dtype)
        if len(found) != count:
            raise ValueError(f"a bitmap index has {len(found)} values, its head states {count}")
        if version == 2:
            _check_body([*found.values(), *([null] if null else [])], len(payload) - at)
        return BitmapIndex(memoryview(payload), row_count, at, null, found)

    def nulls(self) -> Mask:
        """Return the rows that are null."""
        return np.zeros(self.row_count, np.bool_) if self.null is None else self._bitmap(*self.null)

    def equal(self, keys: Sequence[Any]) -> Mask:
        """Return the rows whose value has one of the keys."""
        out = np.zeros(self.row_count, np.bool_)
        for key in keys:
            if key in self.places:
                out[self.rows(*self.places[key])] = True
        return out

    def rows(self, offset: int, length: int) -> Positions:
        """Return the ascending rows of one entry of ``places``."""
        if offset >= 0:
            rows, end = roaring.positions(self.data, self.body + offset, self.row_count)
            if length >= 0 and end != self.body + offset + length:
                raise ValueError(f"a bitmap at {offset} has {end - self.body - offset} bytes, not {length}")
            return rows
        if -1 - offset >= self.row_count:
            raise ValueError(f"a bitmap index has row {-1 - offset} of {self.row_count}")
        return np.array([-1 - offset])

    def _bitmap(self, offset: int, length: int) -> Mask:
        mask = np.zeros(self.row_count, np.bool_)
        mask[self.rows(offset, length)] = True
        return mask


def _check_body(places: Sequence[tuple[int, int]], size: int) -> None:
    """Raise ValueError unless the bitmaps fill the body of ``size`` bytes one after the other."""
    found = np.array([p for p in places if p[0] >= 0], np.int64).reshape(-1, 2)
    offsets, lengths = found[np.argsort(found[:, 0])].T
    ends = np.cumsum(lengths)
    if (offsets != ends - lengths).any() or (ends[-1] if len(ends) else 0) != size:
        raise ValueError(f"the bitmaps of an index do not fill its body of {size} bytes")


def _read_blocks(payload: bytes, at: int, dtype: DataType) -> tuple[dict[Any, tuple[int, int]], int]:
    """Return the offset and length of each key's bitmap, and the start of the body."""
    (blocks,) = struct.unpack_from(">i", payload, at)
    at += 4
    table, at = _entries(payload, at, dtype, blocks, 1)
    (size,) = struct.unpack_from(">i", payload, at)
    at += 4
    out: dict[Any, tuple[int, int]] = {}
    end = at
    last: list[Any] = []
    for first, (offset, _) in table:
        if at + offset != end:
            raise ValueError(f"a block of a bitmap index is at {offset}, not {end - at}")
        (count,) = struct.unpack_from(">i", payload, end)
        entries, end = _entries(payload, end + 4, dtype, count, 2)
        keys = [key for key, _ in entries]
        chain = [*last, *keys]
        if not keys or keys[0] != first or any(a >= b for a, b in pairwise(chain)):
            raise ValueError("the values of a bitmap index do not ascend")
        out.update(entries)
        last = keys[-1:]
    if end != at + size:
        raise ValueError(f"the blocks of a bitmap index have {end - at} bytes, not {size}")
    return out, end


def _entries(
    payload: bytes, at: int, dtype: DataType, count: int, ints: int
) -> tuple[list[tuple[Any, tuple[int, int]]], int]:
    """Read ``count`` keys from position ``at``; each key is followed by ``ints`` (1 or 2) integers.

    Return each key with two integers (the second is -1 when it is absent), and the position after the last entry.
    """
    width = width_of(dtype)
    if count < 0 or count * 4 > len(payload) - at:
        raise ValueError(f"a bitmap index has {count} entries in {len(payload)} bytes")
    if width is not None:
        step = width + 4 * ints
        rows = np.frombuffer(payload, np.uint8, count * step, at).reshape(count, step)
        keys = decoded(rows[:, :width], dtype).tolist()
        found = np.ascontiguousarray(rows[:, width:]).view(">i4").reshape(count, ints)
        second = found[:, 1].tolist() if ints == 2 else [-1] * count
        return list(zip(keys, zip(found[:, 0].tolist(), second, strict=True), strict=True)), at + count * step
    out: list[tuple[Any, tuple[int, int]]] = []
    for _ in range(count):
        (size,) = struct.unpack_from(">i", payload, at)
        at += 4
        if not 0 <= size <= len(payload) - at:
            raise ValueError(f"a text of a bitmap index has {size} bytes")
        places = struct.unpack_from(f">{ints}i", payload, at + size)
        out.append((payload[at : at + size], (places[0], places[1] if ints == 2 else -1)))
        at += size + 4 * ints
    return out, at
