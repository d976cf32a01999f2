"""Processor time of a table with a primary key and deletion vectors: batches written, all rows read, a full compaction.

Each commit compacts level 0 and marks the older rows of its keys. Both sides write the same rows with the same options;
what Java spends on making its rows is subtracted. The report states processor seconds of all threads, with the JVM's
compiler and garbage collector, after a table that warms both sides; the ratio is Java's time by ours.

``python -m benchmarks.deletion_vectors --rows 1000000 --batches 3 --keys 2000000``
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

import paimon_core
from benchmarks import workload
from benchmarks.java_side import JavaSide

OPTIONS = {"bucket": "2", "deletion-vectors.enabled": "true"}


class Side:
    """One library: creates, writes, reads and compacts tables, and counts the processor seconds of each step."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.seconds: dict[str, float] = {}
        self.checksum = 0

    def timed(self, name: str, work: Callable[[], Any], less: float = 0.0) -> Any:
        """Run ``work`` and add its processor seconds, reduced by ``less``, to the seconds of ``name``."""
        before = self.clock()
        found = work()
        self.seconds[name] = self.seconds.get(name, 0.0) + self.clock() - before - less
        return found


def ours(folder: Path, rows: int, batches: int, keys: int) -> Side:
    """Time paimon_core."""
    catalog = paimon_core.open_catalog(str(folder))
    catalog.create_database("db")
    for name in ("warm", "t"):
        side = Side(time.process_time)
        table = catalog.create_table(f"db.{name}", workload.SCHEMA, primary_key=["id"], options=OPTIONS)
        for k in range(batches):
            batch = workload.batch(k, rows, keys)
            side.timed(f"write batch {k + 1}", lambda batch=batch, table=table: table.write(batch))
        scan = table.scan()
        deleted = sum(v.cardinality or 0 for s in scan.plan.splits for _, v in s.vectors.values())
        found = side.timed("read all", lambda scan=scan: scan.to_arrow())
        side.checksum = workload.checksum(found)
        side.timed("compact fully", lambda table=table: table.compact(full=True))
    print(f"{found.num_rows:,} rows; {deleted:,} were deleted by vectors before the compaction")
    return side


def java(folder: Path, rows: int, batches: int, keys: int) -> Side:
    """Time Paimon in Java; Java's read is the last of three, which also warm it."""
    server = JavaSide()
    (process,) = psutil.Process().children()

    def processor_seconds() -> float:
        times = process.cpu_times()
        return times.user + times.system

    options = [f"{name}={value}" for name, value in OPTIONS.items()]
    for name in ("warm", "t"):
        side = Side(processor_seconds)
        server.run("create", folder, name, "pk:id", *options)
        server.run("rows", folder, name, rows, 1, keys)
        side.timed("rows", lambda name=name: server.run("rows", folder, name, rows, 1, keys))
        made = side.seconds.pop("rows")
        for k in range(batches):
            command = ("write", folder, name, rows, 1, keys, k)
            side.timed(f"write batch {k + 1}", lambda command=command: server.run(*command), less=made)
        command = ("read", folder, name, os.cpu_count())
        last = side.timed("read all", lambda command=command: server.run(*command))[-1]
        side.seconds["read all"] /= 3
        side.checksum = last["checksum"]
        side.timed("compact fully", lambda name=name: server.run("compact", folder, name))
    server.close()
    return side


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of a batch")
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--keys", type=int, default=2_000_000, help="keys are drawn from this many")
    parser.add_argument("--skip-java", action="store_true", help="time paimon_core alone")
    args = parser.parse_args()
    numbers = (args.rows, args.batches, args.keys)
    with tempfile.TemporaryDirectory(prefix="paimon-bench-") as folder:
        first = ours(Path(folder, "ours"), *numbers)
        second = None if args.skip_java else java(Path(folder, "java"), *numbers)
    print(f"{'processor seconds':20}{'ours':>8}{'Java':>8}{'ratio':>8}")
    for name, seconds in first.seconds.items():
        other = "" if second is None else f"{second.seconds[name]:8.2f}{second.seconds[name] / seconds:8.1f}"
        print(f"{name:20}{seconds:8.2f}{other}")
    if second is not None and first.checksum != second.checksum:
        print("The checksums differ: the sides did not read the same rows.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
