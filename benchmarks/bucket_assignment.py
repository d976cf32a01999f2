"""Processor time of the assignment of keys to buckets, for each bucket mode, beside Apache Paimon's Java code.

Random 64-bit keys of one partition arrive in batches: first all are new, then all are known. Rows are made before and
not counted. Both sides must choose the same buckets. Rows of a postponed table get a bucket when they are spread, by
the function of fixed buckets. ``--skip-java`` measures paimon_core alone.

``python -m benchmarks.bucket_assignment --keys 10000000 --batch 1000000``
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext

import numpy as np
import pyarrow as pa

import paimon_core
from benchmarks.java_side import JavaSide
from benchmarks.workload import mix
from paimon_core.codec.binary_row.rows import encode_rows
from paimon_core.schema import VALUE_KIND
from paimon_core.write.bucket_assigner import BucketAssigner
from paimon_core.write.bucketing import assign_buckets, key_hashes
from paimon_core.write.partition_assigner import PartitionAssigner

SCHEMA = pa.schema(
    [pa.field("p", pa.int32(), nullable=False), pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())]
)
MODES: dict[str, tuple[list[str], dict[str, str]]] = {
    "fixed, default": (["p", "id"], {"bucket": "16"}),
    "fixed, mod": (["p", "id"], {"bucket": "16", "bucket-function.type": "mod"}),
    "fixed, hive": (["p", "id"], {"bucket": "16", "bucket-function.type": "hive"}),
    "dynamic": (["p", "id"], {"bucket": "-1"}),
    "cross-partition": (["id"], {"bucket": "-1"}),
}
"""By name: the primary key and the options of the table."""
Buckets = Callable[[pa.Table], np.ndarray]


def buckets_of(table: paimon_core.Table) -> Buckets:
    """Return what finds the bucket of each row, as the writer of the table does."""
    context = table.context
    if context.is_cross_partition:
        across = PartitionAssigner(context, lambda context, snapshot: iter(()))
        partition = [encode_rows([pa.array([0], pa.int32())], [context.schema.partition_fields[0].type])[0]]
        return lambda rows: across.place(rows, np.zeros(len(rows), np.int64), partition).buckets
    if context.has_dynamic_buckets:
        assigner = BucketAssigner(context)
        return lambda rows: assigner.assign(np.zeros(len(rows), np.int64), [b""], key_hashes(rows, context))
    return lambda rows: assign_buckets(rows, context)


def seconds(buckets: Buckets, batches: Sequence[pa.Table]) -> tuple[float, int]:
    """Return the processor seconds, over all threads, and the sum of all buckets."""
    spent, total = 0.0, 0
    for batch in batches:
        before = time.process_time()
        found = buckets(batch)
        spent += time.process_time() - before
        total += int(found.sum(dtype=np.int64))
    return spent, total


def rows(keys: np.ndarray) -> pa.Table:
    columns = [pa.array(np.zeros(len(keys), np.int32)), pa.array(keys), pa.array(np.zeros(len(keys), np.int64))]
    return pa.table(columns, schema=SCHEMA).append_column(VALUE_KIND, pa.array(np.zeros(len(keys), np.int8)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--batch", type=int, default=1_000_000)
    parser.add_argument("--skip-java", action="store_true")
    args = parser.parse_args()
    keys = mix(np.arange(args.keys, dtype=np.uint64)).astype(np.int64)
    batches = [rows(keys[a : a + args.batch]) for a in range(0, args.keys, args.batch)]
    print(f"{args.keys:,} keys in batches of {args.batch:,}, processor seconds")
    print(f"{'':24}paimon_core     Java")
    with tempfile.TemporaryDirectory() as folder, nullcontext() if args.skip_java else closing(JavaSide()) as java:
        catalog = paimon_core.open_catalog(folder)
        catalog.create_database("db")
        for number, (name, (primary_key, options)) in enumerate(MODES.items()):
            table = catalog.create_table(
                f"db.t{number}", SCHEMA, primary_key=primary_key, partition_by=["p"], options=options
            )
            theirs = [] if java is None else java.run("assign", folder, f"t{number}", args.keys, args.batch)
            find, total = buckets_of(table), 0
            for index, when in enumerate(["new", "known"]):
                spent, buckets = seconds(find, batches)
                total += buckets
                beside = ""
                if theirs:
                    beside = f"{theirs[index]['seconds']:9.2f}"
                    assert theirs[index]["sum"] == total, f"{name}: Java chose other buckets"
                print(f"{name + ', ' + when:24}{spent:11.2f}{beside}", flush=True)
    print(f"peak of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
