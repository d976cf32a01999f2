"""Processor time of a merge into an append table, by deletion vectors and by rewriting files, beside a full read.

The table has files of ``--file`` rows with a key, a number and a text. The source has random keys of all files, and one
key of ten is new. Its rows replace the old ones or are inserted. The report states processor seconds.

``python -m benchmarks.merge_into --rows 10000000 --source 100000``
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import paimon_core as paimon
from paimon_core import Update

WAYS = {"vectors": "true", "rewriting": "false"}


def rows_of(keys: np.ndarray, offset: int) -> pa.Table:
    """Return rows with these keys; ``offset`` tells old values from new ones."""
    text = pc.binary_join_element_wise("text of", pa.array(keys % 1000).cast(pa.string()), " ")
    return pa.table({"k": keys, "v": keys * 7 + offset, "s": text})


def measured(work: Callable[[], object]) -> float:
    """Return the processor seconds of ``work``, over all threads."""
    before = time.process_time()
    work()
    return time.process_time() - before


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--file", type=int, default=1_000_000)
    parser.add_argument("--source", type=int, default=100_000)
    args = parser.parse_args()
    mixed = np.random.default_rng(0).permutation(args.rows + args.rows // 9)
    keys, others = mixed[: args.source], mixed[args.source : 2 * args.source]
    source = rows_of(keys, 1)
    narrow = pa.table({"k": others[others < args.rows]})
    print(
        f"{args.source:,} rows into {args.rows:,} rows, {np.count_nonzero(keys < args.rows):,} match; processor seconds"
    )
    with tempfile.TemporaryDirectory() as folder:
        catalog = paimon.open_catalog(folder)
        catalog.create_database("db")
        for way, vectors in WAYS.items():
            options = {"deletion-vectors.enabled": vectors, "write-only": "true"}
            table = catalog.create_table(f"db.{way}", source.schema, options=options)
            for start in range(0, args.rows, args.file):
                table.write(rows_of(np.arange(start, min(start + args.file, args.rows)), 0))
            read = measured(lambda table=table: [len(b) for b in table.scan().to_batches()])
            merge = measured(lambda table=table: table.merge(source, ["k"]))
            some = measured(lambda table=table: table.merge(narrow, ["k"], when_matched=Update({"v": 0})))
            print(f"{way:10} read all {read:6.2f}   merge {merge:6.2f}   merge that sets one column {some:6.2f}")
            assert table.scan().count() == args.rows + np.count_nonzero(keys >= args.rows)
            catalog.drop_table(f"db.{way}")
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
