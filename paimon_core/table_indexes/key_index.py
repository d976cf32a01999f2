"""KeyIndex: maps many keys to numbers, in arrays that are sorted by the hash of the key.

A key is the BinaryRow bytes of the key columns, called image (format 5.1); equal keys have equal bytes. New keys are
added as a new segment of arrays; segments of similar size are merged, so that there are few segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.bucket_hash import Hashes, hash_images
from paimon_core.codec.binary_row.rows import row_images
from paimon_core.types import DataType

Numbers = npt.NDArray[np.int64]
_GROWTH = 2
"""A new segment is merged with the previous segment, unless the previous segment is at least this many times larger."""


def key_images(columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]) -> pa.Array:
    """Return the BinaryRow bytes of the key columns for each row, as a large_binary array."""
    flat, offsets = row_images(columns, types)
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(flat)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


@dataclass(frozen=True, eq=False)
class _Segment:
    hashes: Hashes
    """The hashes of the keys, ascending."""
    keys: pa.Array
    numbers: Numbers

    @staticmethod
    def of(hashes: Hashes, keys: pa.Array, numbers: Numbers) -> _Segment:
        order = np.argsort(hashes, kind="stable")
        return _Segment(hashes[order], keys.take(pa.array(order)), numbers[order])

    def find(self, hashes: Hashes, keys: pa.Array) -> npt.NDArray[np.int64]:
        """Return the position of each key in this segment; -1 for a key that is not in the segment."""
        at = np.searchsorted(self.hashes, hashes, side="left")
        ends = np.searchsorted(self.hashes, hashes, side="right")
        out = np.full(len(hashes), -1, np.int64)
        left = np.flatnonzero(at < ends)
        while len(left):  # the loop ends after one pass, unless different keys have the same hash
            equal = pc.equal(self.keys.take(pa.array(at[left])), keys.take(pa.array(left)))
            same = np.asarray(equal.to_numpy(zero_copy_only=False))
            out[left[same]] = at[left[same]]
            left = left[~same]
            at[left] += 1
            left = left[at[left] < ends[left]]
        return out


@dataclass(eq=False)
class KeyIndex:
    """Maps each key to a number from 0; uses 20 bytes plus the size of the key for each key."""

    _segments: list[_Segment] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(len(s.hashes) for s in self._segments)

    def numbers(self, keys: pa.Array) -> Numbers:
        """Return the number of each key, int64[n]; -1 for an unknown key."""
        out, hashes = np.full(len(keys), -1, np.int64), image_hashes(keys)
        for segment in self._segments:
            at = segment.find(hashes, keys)
            out = np.where(at >= 0, segment.numbers[at], out)
        return out

    def put(self, keys: pa.Array, numbers: Numbers) -> None:
        """Set the numbers of ``keys``, which must be distinct; a key may already have a number."""
        hashes = image_hashes(keys)
        new = np.ones(len(keys), bool)
        for segment in self._segments:
            at = segment.find(hashes, keys)
            known = at >= 0
            segment.numbers[at[known]] = numbers[known]
            new &= ~known
        if not new.any():
            return
        added = _Segment.of(hashes[new], keys.filter(pa.array(new)), numbers[new])
        while self._segments and len(self._segments[-1].hashes) < _GROWTH * len(added.hashes):
            last = self._segments.pop()
            added = _Segment.of(
                np.concatenate([last.hashes, added.hashes]),
                pa.concat_arrays([last.keys, added.keys]),
                np.concatenate([last.numbers, added.numbers]),
            )
        self._segments.append(added)

    def repeated(self) -> list[int] | None:
        """Return all numbers of a key that is in the index more than once; None when no key is repeated."""
        for segment in self._segments:
            twice = np.flatnonzero(np.diff(segment.hashes) == 0)
            among = np.unique(np.concatenate((twice, twice + 1)))
            if not len(among):
                continue
            encoded = segment.keys.take(pa.array(among)).dictionary_encode()
            codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False))
            often = np.flatnonzero(np.bincount(codes) > 1)
            if len(often):
                found: list[int] = segment.numbers[among[codes == often[0]]].tolist()
                return found
        return None


def image_hashes(keys: pa.Array) -> Hashes:
    """Return the hash of each key, int32[n]."""
    if not len(keys):
        return np.zeros(0, np.int32)
    _, offsets, data = keys.buffers()
    ends = np.frombuffer(offsets, np.int64)[keys.offset : keys.offset + len(keys) + 1]
    return hash_images(np.frombuffer(data, np.uint8)[: int(ends[-1])], ends)
