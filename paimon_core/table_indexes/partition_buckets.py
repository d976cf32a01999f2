"""PartitionBuckets: knows the dynamic bucket of each key of one partition, and assigns buckets to new keys.

Keys are identified by their hash. A known hash keeps its bucket. New hashes, in order of arrival, fill the existing
buckets up to the target number of keys, lowest bucket first; then new buckets are created, up to the maximum (format
11.1). Each hash is in exactly one bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Self

import numpy as np
import numpy.typing as npt

from paimon_core.codec.binary_row.bucket_hash import Hashes
from paimon_core.errors import CorruptTable, InvalidRequest
from paimon_core.options import MAX_DYNAMIC_BUCKETS, TableOptions

_SHIFT, _MASK = 16, 2**16 - 1
_ROW_MASK = 2**32 - 1
_Packed = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BucketLimits:
    """The options that decide which buckets new keys get."""

    target_keys: int
    """A bucket with this number of keys gets no more keys."""
    max_buckets: int
    assigners: int = 1
    """The number of groups of buckets: bucket b is in group b mod ``assigners``, and a key gets a bucket of its
    group."""
    is_strict: bool = True
    """Whether it is an error when keys do not fit in the maximum number of buckets; otherwise buckets exceed the
    target."""

    @staticmethod
    def of(options: TableOptions) -> BucketLimits:
        """Return the limits from the options ``dynamic-bucket.*`` of a table."""
        most = options["dynamic-bucket.max-buckets"]
        limit = MAX_DYNAMIC_BUCKETS if most == -1 else most
        groups = min(options["dynamic-bucket.initial-buckets"] or 1, limit)
        return BucketLimits(options["dynamic-bucket.target-row-num"], limit, groups, is_strict=most == -1)


def check_bucket(bucket: int) -> None:
    """Raise CorruptTable for a bucket id that a partition with dynamic buckets cannot have."""
    if not 0 <= bucket < MAX_DYNAMIC_BUCKETS:
        raise CorruptTable(
            f"bucket {bucket} is not one of the {MAX_DYNAMIC_BUCKETS} that a partition with dynamic buckets can have",
            bucket=bucket,
        )


@dataclass(eq=False)
class PartitionBuckets:
    """The bucket of every known hash of one partition; uses 8 bytes per key."""

    limits: BucketLimits
    start: int = 0
    """The hash of the partition. This hash is added to the hash of a key to select the key's group."""
    _packed: _Packed = field(default_factory=lambda: np.empty(0, np.int64))
    """One number for each key, ascending: its hash in the upper bits, its bucket in the lower 16 bits."""
    _counts: dict[int, int] = field(default_factory=dict)
    """The number of keys of each bucket."""

    @classmethod
    def of(cls, limits: BucketLimits, start: int, known: Mapping[int, Hashes]) -> Self:
        """Return the state of a partition whose buckets have the ``known`` distinct hashes.

        Raises CorruptTable when a hash is in two buckets, and for an invalid bucket id.
        """
        for bucket in known:
            check_bucket(bucket)
        parts = [(h.astype(np.int64) << _SHIFT) | bucket for bucket, h in known.items()]
        packed = np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)
        twice = np.flatnonzero(np.diff(packed >> _SHIFT) == 0)
        if len(twice):
            first, second = (packed[twice[0] : twice[0] + 2] & _MASK).tolist()
            raise CorruptTable(
                f"key hash {packed[twice[0]] >> _SHIFT} is in the hash indexes of two buckets: {first} and {second}"
            )
        return cls(limits, start, packed, {bucket: len(h) for bucket, h in known.items()})

    def assign(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the bucket of each of at most 2^32 hashes, int32[n]; new hashes become known.

        Raises InvalidRequest, and changes nothing, when new keys need more buckets than a partition can have.
        """
        if not len(hashes):
            return np.empty(0, np.int32)
        order = np.sort((hashes.astype(np.int64) << 32) | np.arange(len(hashes)))
        ordered, rows = order >> 32, order & _ROW_MASK
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        distinct, first_rows = ordered[starts], rows[starts]
        buckets = self._known(distinct)
        new = np.flatnonzero(buckets < 0)
        out = np.empty(len(hashes), np.int32)
        if len(new):
            is_first = np.zeros(len(hashes), bool)
            is_first[first_rows[new]] = True
            arrived = np.flatnonzero(is_first)
            out[arrived] = self.place(hashes[arrived])
            buckets[new] = out[first_rows[new]]
            self._remember(distinct[new], buckets[new])
        out[rows] = np.repeat(buckets, np.diff(starts, append=len(hashes)))
        return out

    def lookup(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the bucket of each hash, int32[n]; -1 for an unknown hash."""
        return self._known(hashes.astype(np.int64))

    def hashes_of(self, buckets: set[int]) -> Iterator[tuple[int, Hashes]]:
        """Yield the hashes of each bucket in ``buckets``, in ascending order."""
        of_bucket = (self._packed & _MASK).astype(np.uint16)
        order = np.argsort(of_bucket, kind="stable")
        ends = np.cumsum(np.bincount(of_bucket, minlength=MAX_DYNAMIC_BUCKETS))
        for bucket in sorted(buckets):
            own = order[ends[bucket] - self._counts[bucket] : ends[bucket]]
            yield bucket, (self._packed[own] >> _SHIFT).astype(np.int32)

    @property
    def counts(self) -> Mapping[int, int]:
        """The number of keys of each bucket."""
        return self._counts

    def count(self, bucket: int, keys: int) -> None:
        """Add ``keys``, which may be negative, to the number of keys of a bucket."""
        self._counts[bucket] = max(0, self._counts.get(bucket, 0) + keys)

    def _known(self, hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        if not len(self._packed):
            return np.full(len(hashes), -1, np.int32)
        at = np.minimum(np.searchsorted(self._packed, hashes << _SHIFT), len(self._packed) - 1)
        found = self._packed[at]
        return np.where(found >> _SHIFT == hashes, found & _MASK, -1).astype(np.int32)

    def _remember(self, hashes: npt.NDArray[np.int64], buckets: npt.NDArray[np.int32]) -> None:
        packed = (hashes << _SHIFT) | buckets
        self._packed = np.insert(self._packed, np.searchsorted(self._packed, packed), packed)

    def place(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the bucket for each of the new distinct hashes, in order of arrival, and count the keys."""
        groups = self.limits.assigners
        counts = dict(self._counts)
        if groups == 1:
            out = self._fill(hashes, 0, counts)
        else:
            out = np.empty(len(hashes), np.int32)
            # fmod as in Java: a remainder has the sign of the dividend.
            of_hash = (abs(int(np.fmod(self.start, groups))) + np.abs(np.fmod(hashes, groups))) % groups
            for group in np.unique(of_hash).tolist():
                mine = of_hash == group
                out[mine] = self._fill(hashes[mine], group, counts)
        self._counts = counts
        return out

    def _fill(self, hashes: Hashes, group: int, counts: dict[int, int]) -> npt.NDArray[np.int32]:
        """Return the bucket for each hash of one group, and add the hashes to ``counts``."""
        limits = self.limits
        out = np.empty(len(hashes), np.int32)
        own = sorted(b for b in counts if b % limits.assigners == group)
        at = 0
        for bucket in (*own, *self._unused(group, counts)):
            if at == len(hashes):
                return out
            taken = min(limits.target_keys - counts.get(bucket, 0), len(hashes) - at)
            if taken > 0:
                out[at : at + taken] = bucket
                counts[bucket] = counts.get(bucket, 0) + taken
                at += taken
        if at == len(hashes):
            return out
        if limits.is_strict:
            raise InvalidRequest(
                f"the keys of a partition need more than {limits.max_buckets} dynamic buckets: increase the option "
                f"dynamic-bucket.target-row-num = {limits.target_keys}",
                option="dynamic-bucket.target-row-num",
            )
        full = np.array(sorted(b for b in counts if b % limits.assigners == group), np.int32)
        out[at:] = full[np.mod(hashes[at:], len(full))]
        for bucket, added in zip(*(a.tolist() for a in np.unique(out[at:], return_counts=True)), strict=True):
            counts[bucket] += added
        return out

    def _unused(self, group: int, counts: Mapping[int, int]) -> Iterator[int]:
        taken = frozenset(counts)
        for bucket in count(group, self.limits.assigners):
            if bucket >= self.limits.max_buckets:
                return
            if bucket not in taken:
                yield bucket
