"""Numbers of buckets: what a write, a merge, a full compaction and a small upsert cost with several numbers of buckets.

Each table gets the same rows in several runs that are not compacted. The numbers take turns, and the least of the
rounds is stated, as processor seconds and as wall seconds: on a busy machine only the first says something.

``python -m benchmarks.bucket_numbers --rows 2000000 --buckets 1 2 4 --rounds 3``
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import paimon_core
from benchmarks.workload import SCHEMA, batch
from paimon_core import Table
from paimon_core.compact.compactor import run_tasks
from paimon_core.compact.planning import plan
from paimon_core.metadata.abort import abort
from paimon_core.write.table_writer import TableWriter


def main() -> None:
    """Print a line for each number of buckets and work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--buckets", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        catalog = paimon_core.open_catalog(str(Path(folder) / "lake"))
        catalog.create_database("db")
        tables = {n: _table(catalog, n, args.rows, args.runs) for n in args.buckets}
        least: dict[tuple[str, int], list[float]] = defaultdict(lambda: [float("inf"), float("inf")])
        for _ in range(args.rounds):
            for buckets, table in tables.items():
                for name, work in _works(table, args.rows).items():
                    before, spent = time.perf_counter(), time.process_time()
                    after = work()
                    found = time.process_time() - spent, time.perf_counter() - before
                    after()
                    kept = least[name, buckets]
                    kept[:] = [min(one, two) for one, two in zip(kept, found, strict=True)]
        for name in dict.fromkeys(name for name, _ in least):
            for buckets, table in tables.items():
                size = sum(table.inspect.files()["file_size_in_bytes"].to_pylist())
                spent, wall = least[name, buckets]
                print(f"{name:12} {buckets:3} buckets  {spent:6.2f} s processor  {wall:6.2f} s wall  {size >> 20} MiB")


def _table(catalog: paimon_core.Catalog, buckets: int, rows: int, runs: int) -> Table:
    options = {"bucket": str(buckets), "write-only": "true"}
    table = catalog.create_table(f"db.t{buckets}", SCHEMA, primary_key="id", options=options)
    table.write(batch(0, rows, 2 * rows))
    for seed in range(1, runs):
        table.write(batch(seed, rows // 4, 2 * rows))
    return table.refresh()


def _works(table: Table, rows: int) -> dict[str, Callable[[], Callable[[], None]]]:
    context = table.context

    def write(count: int) -> Callable[[], None]:
        writer = TableWriter(context)
        writer.write(batch(9, count, 2 * rows))
        messages = writer.flush()
        return lambda: abort(messages, context)

    def merge() -> Callable[[], None]:
        table.scan().to_arrow()
        return lambda: None

    def compaction() -> Callable[[], None]:
        messages = run_tasks(context, plan(context, full=True))
        return lambda: abort(messages, context)

    return {
        "write": lambda: write(rows),
        "small upsert": lambda: write(rows // 200),
        "merge": merge,
        "compaction": compaction,
    }


if __name__ == "__main__":
    main()
