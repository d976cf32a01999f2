"""Peak memory of a large write to one bucket and of its compaction, above the memory of a process after all imports.

Each case runs in its own process, on the rows of ``benchmarks.workload`` in batches of 250,000:

write     all rows by one writer, one commit
compact   a full compaction of the same rows in several commits, written by another process

The peak is VmHWM of /proc/self/status (Linux). ``python -m benchmarks.memory --rows 1000000 5000000``
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import paimon_core
from benchmarks import workload

BATCH_ROWS = 250_000
OPTIONS = {"bucket": "1", "write-only": "true"}


def status(name: str) -> int:
    """Return the bytes of one line of /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def stream(rows: int, first: int, batch_rows: int, keys: int) -> pa.RecordBatchReader:
    """Return ``rows`` rows from batch number ``first`` on, created when they are read."""

    def batches() -> Iterator[pa.RecordBatch]:
        for k in range(rows // batch_rows):
            yield from workload.batch(first + k, batch_rows, keys).to_batches()

    return pa.RecordBatchReader.from_batches(workload.SCHEMA, batches())


def case(args: argparse.Namespace) -> dict[str, float]:
    """Run one case in this process; return peak bytes above the imports and seconds."""
    (rows,) = args.rows
    catalog = paimon_core.open_catalog(args.folder)
    name = f"db.{args.case}"
    before = status("VmRSS")
    start = time.perf_counter()
    if args.case == "compact":
        catalog.table("db.fill").compact(full=True)
    else:
        commits = args.commits if args.case == "fill" else 1
        catalog.create_database("db", ignore_if_exists=True)
        table = catalog.create_table(name, workload.SCHEMA, primary_key=["id"], options=OPTIONS)
        batch_rows = min(BATCH_ROWS, rows // commits)
        for commit in range(commits):
            part = rows // commits
            table.write(stream(part, commit * (part // batch_rows), batch_rows, rows))
    return {
        "peak": status("VmHWM") - before,
        "seconds": time.perf_counter() - start,
        "arrow": pa.default_memory_pool().max_memory(),
    }


def measured(name: str, rows: int, folder: str, args: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.memory", "--case", name, "--rows", str(rows), "--folder", folder]
    command += ["--commits", str(args.commits)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.memory", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000, 20_000_000])
    parser.add_argument("--commits", type=int, default=4, help="commits of the table to compact, each a sorted run")
    parser.add_argument("--only", nargs="*", default=["write", "compact"], help="the cases")
    parser.add_argument("--folder", default=None, help="folder for the temporary warehouse")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.case:
        print(json.dumps(case(args)))
        return 0
    print(f"{'':10}{'rows':>12}{'peak MB':>10}{'Arrow MB':>10}{'seconds':>9}")
    for rows in args.rows:
        for name in args.only:
            with tempfile.TemporaryDirectory(prefix="paimon-memory-", dir=args.folder) as folder:
                if name == "compact":
                    measured("fill", rows, folder, args)
                found = measured(name, rows, folder, args)
            megabytes = f"{found['peak'] / 2**20:10.0f}{found['arrow'] / 2**20:10.0f}"
            print(f"{name:10}{rows:12,}{megabytes}{found['seconds']:9.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
