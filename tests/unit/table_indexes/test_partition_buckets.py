"""The assignment of keys to dynamic buckets, compared with Java's rule written as a loop."""

from dataclasses import replace

import numpy as np
import pytest

from paimon_core.errors import CorruptTable, InvalidRequest
from paimon_core.table_indexes.partition_buckets import BucketLimits, PartitionBuckets

LIMITS = BucketLimits(3, 32767)


def hashes(*values):
    return np.array(values, np.int32)


def expected(limits, known, values):
    """Java's PartitionIndex with one assigner, for values that need no bucket beyond the maximum."""
    bucket_of = {h: b for b, of_bucket in known.items() for h in of_bucket}
    counts = {b: len(of_bucket) for b, of_bucket in known.items()}
    out = []
    for value in values:
        if value not in bucket_of:
            free = [b for b in sorted(counts) if counts[b] < limits.target_keys]
            bucket = free[0] if free else next(b for b in range(limits.max_buckets) if b not in counts)
            counts[bucket] = counts.get(bucket, 0) + 1
            bucket_of[value] = bucket
        out.append(bucket_of[value])
    return out


def test_known_hashes_keep_their_bucket_and_new_ones_fill_buckets_in_order_of_arrival():
    chance = np.random.default_rng(1)
    for _ in range(50):
        pool = np.unique(chance.integers(-(2**31), 2**31, 40)).astype(np.int32)
        known = {0: hashes(*pool[:2].tolist()), 2: hashes(*pool[2:5].tolist())}
        limits = replace(LIMITS, target_keys=int(chance.integers(1, 6)))
        state, values = PartitionBuckets.of(limits, 0, known), chance.choice(pool, 120)
        found = np.concatenate([state.assign(values[:30]), state.assign(values[30:])]).tolist()
        assert found == expected(limits, {b: h.tolist() for b, h in known.items()}, values.tolist())
        assert state.lookup(values).tolist() == found
        of_bucket = {b: h.tolist() for b, h in state.hashes_of(set(state.counts))}
        assert {b: len(h) for b, h in of_bucket.items()} == dict(state.counts)
        assert all(b in of_bucket and v in of_bucket[b] for v, b in zip(values.tolist(), found, strict=True))


def test_each_key_has_a_group_of_buckets():
    state = PartitionBuckets.of(BucketLimits(2, 32767, 3), -4, {})
    # Remainders have the sign of the dividend, as in Java: |-4 % 3| + |hash % 3|, mod 3.
    assert state.assign(hashes(0, 3, 6, -1, -2, 9, 12)).tolist() == [1, 1, 4, 2, 0, 4, 7]


def test_the_maximum_ends_new_buckets_and_without_one_too_many_keys_are_refused():
    state = PartitionBuckets.of(BucketLimits(1, 2, is_strict=False), 0, {})
    assert state.assign(hashes(5, 6, 7, 8, -9, 7)).tolist() == [0, 1, 1, 0, 1, 1]
    state = PartitionBuckets.of(BucketLimits(1, 2), 0, {})
    with pytest.raises(InvalidRequest, match=r"more than 2 dynamic buckets.*target-row-num = 1"):
        state.assign(hashes(5, 6, 7))
    assert state.assign(hashes(6, 5)).tolist() == [0, 1]


def test_a_hash_in_two_buckets_is_corrupt():
    with pytest.raises(CorruptTable, match="key hash -4 is in the hash indexes of two buckets: 1 and 5"):
        PartitionBuckets.of(LIMITS, 0, {5: hashes(-4, 3), 1: hashes(-4)})


@pytest.mark.parametrize("bucket", [-1, 32767, 65536])
def test_a_bucket_beyond_the_largest_is_corrupt(bucket):
    with pytest.raises(CorruptTable, match=f"bucket {bucket} is not one of the 32767"):
        PartitionBuckets.of(LIMITS, 0, {bucket: hashes(4)})
