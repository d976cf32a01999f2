"""Processor time of the assignment of keys to dynamic buckets, beside the hash alone, which fixed buckets need too.

Random 64-bit keys arrive in batches: first all are new, then all are known. The report states processor seconds.

``python -m benchmarks.bucket_assignment --keys 10000000 --batch 1000000``
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from paimon_core.codec.bucket_hash import bucket_of, hash_rows
from paimon_core.hashindex.partition_buckets import BucketLimits, PartitionBuckets
from paimon_core.types import parse_type

KEY = [parse_type("BIGINT NOT NULL")]


def measured(work: Callable[[], object]) -> float:
    """Return the processor seconds of ``work``, over all threads."""
    before = time.process_time()
    work()
    return time.process_time() - before


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--batch", type=int, default=1_000_000)
    parser.add_argument("--target", type=int, default=2_000_000, help="dynamic-bucket.target-row-num")
    parser.add_argument("--groups", type=int, default=1, help="dynamic-bucket.initial-buckets")
    args = parser.parse_args()
    keys = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, args.keys)
    batches = [pa.array(keys[a : a + args.batch]) for a in range(0, args.keys, args.batch)]
    state = PartitionBuckets(BucketLimits(args.target, 32767, args.groups))

    def assign() -> None:
        for batch in batches:
            state.assign(hash_rows([batch], KEY))

    print(f"{args.keys:,} keys in batches of {args.batch:,}, processor seconds")
    print(f"fixed buckets, hash only  {measured(lambda: [bucket_of(hash_rows([b], KEY), 16) for b in batches]):8.2f}")
    print(f"dynamic, all keys new     {measured(assign):8.2f}")
    print(f"dynamic, all keys known   {measured(assign):8.2f}")
    print(f"{len(state.counts)} buckets; peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
