"""Processor time per file for a table with many small buckets, next to pyarrow alone on the same files.

A write-only primary-key table with one bucket per partition gets commits of upserts that change every partition. So
each commit writes one small file per partition, including fsync. Then the table is scanned, which merges the files of
each partition, and compacted fully. pyarrow reads the same files one by one and writes their rows to new files, without
fsync. The report states processor milliseconds per file, user and system separately.

``python -m benchmarks.small_buckets --partitions 1000 --commits 5 --rows 20``
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import paimon_core
from benchmarks.workload import SCHEMA, batch
from paimon_core import processors

OPTIONS = {"bucket": "1", "write-only": "true"}
T = TypeVar("T")


class Run:
    """One run: the table and the lines of the report."""

    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args, self.folder = args, folder
        self.files = args.partitions * args.commits
        catalog = paimon_core.open_catalog(str(folder / "lake"))
        catalog.create_database("db")
        schema = pa.schema([("p", pa.int32()), *SCHEMA][: 1 + args.columns])
        self.table = catalog.create_table(
            "db.t", schema, primary_key=["p", "id"], partition_by=["p"], options=OPTIONS | dict(args.options)
        )
        self.lines = [
            f"{args.partitions:,} partitions, {args.commits} commits of {args.rows} rows a partition, "
            f"{len(schema)} columns; {processors.usable()} processors, load {os.getloadavg()[0]:.1f} at the start",
            f"processor ms per file {'total':>16}{'user':>9}{'system':>9}",
        ]

    def measure(self, name: str, files: int, work: Callable[[], T]) -> T:
        """Run ``work`` and add a line with its processor time, over all threads."""
        profile = cProfile.Profile(time.thread_time) if name.split()[0] == self.args.profile else None
        known = processors.usable
        if self.args.single:
            processors.usable = lambda: 1
        before = resource.getrusage(resource.RUSAGE_SELF)
        result = work() if profile is None else profile.runcall(work)
        after = resource.getrusage(resource.RUSAGE_SELF)
        processors.usable = known
        user, system = (
            (getattr(after, kind) - getattr(before, kind)) * 1000 / files for kind in ("ru_utime", "ru_stime")
        )
        self.lines.append(f"{name:28}{user + system:10.3f}{user:9.3f}{system:9.3f}")
        if profile is not None:
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(50)
        return result

    def rows(self, commit: int) -> pa.Table:
        """Return the rows of one commit.

        The keys of each partition are the keys of two commits before, so that the files of a partition overlap.
        """
        args = self.args
        count = args.partitions * args.rows
        rows = batch(commit, count, 1 << 40)
        order = np.random.default_rng(commit).permutation(count)
        partition = pa.array((order % args.partitions).astype(np.int32))
        ids = pa.array(order // args.partitions * 2 + commit % 2)
        columns = [partition, ids, *rows.columns[1:]]
        return pa.table(columns[: 1 + args.columns], schema=self.table.schema.arrow)

    def all(self) -> None:
        args = self.args
        batches = [self.rows(commit) for commit in range(args.commits)]
        self.table.write(batches[0].slice(0, 1))
        self.measure("write and commit", self.files, lambda: [self.table.write(rows) for rows in batches])
        found = self.measure("scan to_arrow", self.files, lambda: self.table.scan().to_arrow())
        self.pyarrow()
        self.measure("compaction, input", self.files, lambda: self.table.compact(full=True))
        again = self.measure("scan of the result", args.partitions, lambda: self.table.scan().to_arrow())
        order = [("p", "ascending"), ("id", "ascending")]
        if not found.sort_by(order).equals(again.sort_by(order)):
            raise RuntimeError("the compaction has changed the table's rows")

    def pyarrow(self) -> None:
        """Read and write the same files with pyarrow alone."""
        paths = sorted((self.folder / "lake").rglob("data-*.parquet"))
        tables = self.measure(
            "pyarrow reads", len(paths), lambda: [pq.ParquetFile(path).read(use_threads=False) for path in paths]
        )
        target = self.folder / "plain"
        target.mkdir()

        def write() -> None:
            for number, table in enumerate(tables):
                pq.write_table(table, target / f"{number}.parquet", compression="zstd", compression_level=1)

        self.measure("pyarrow writes", len(paths), write)


def option(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def arguments(args: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.small_buckets", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--partitions", type=int, default=1000, help="partitions, each of one bucket")
    parser.add_argument("--commits", type=int, default=5, help="commits, each with a file a partition")
    parser.add_argument("--rows", type=int, default=20, help="rows of a file")
    parser.add_argument("--columns", type=int, default=7, help="columns beside the partition's, up to 8")
    parser.add_argument("--options", type=option, nargs="*", default=[], help="table options, name=value")
    parser.add_argument("--single", action="store_true", help="use one thread, which a profile needs")
    parser.add_argument("--profile", help="profile one measure: write, scan or compaction, (with the comma)")
    return parser.parse_args(args)


def main(args: Any = None) -> None:
    with tempfile.TemporaryDirectory(prefix="paimon-small-") as folder:
        run = Run(arguments(args), Path(folder))
        run.all()
        sys.stdout.write("\n".join(run.lines) + "\n")


if __name__ == "__main__":
    main()
