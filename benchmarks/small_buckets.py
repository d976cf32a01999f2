"""Processor time per file where a table has many small buckets, beside pyarrow alone on the same files.

A primary-key table, write-only, with one bucket a partition, takes commits of upserts that touch every partition, so
each commit writes one small file a partition, fsync included. Then it is scanned, which merges the files of each
partition, and compacted fully. pyarrow reads the same files one by one and writes their rows into new ones, without
fsync. Milliseconds of the processor per file, user and system apart.

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

OPTIONS = {"bucket": "1", "write-only": "true"}
T = TypeVar("T")


class Run:
    """One run: the lines of the report."""

    def __init__(self, words: argparse.Namespace, folder: Path) -> None:
        self.words, self.folder = words, folder
        self.files = words.partitions * words.commits
        catalog = paimon_core.open_catalog(str(folder / "lake"))
        catalog.create_database("db")
        schema = pa.schema([("p", pa.int32()), *SCHEMA][: 1 + words.columns])
        self.table = catalog.create_table(
            "db.t", schema, primary_key=["p", "id"], partition_by=["p"], options=OPTIONS | dict(words.options)
        )
        self.lines = [
            f"{words.partitions:,} partitions, {words.commits} commits of {words.rows} rows a partition, "
            f"{len(schema)} columns; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start",
            f"processor ms per file {'total':>16}{'user':>9}{'system':>9}",
        ]

    def measure(self, name: str, files: int, work: Callable[[], T]) -> T:
        """Do the work and count its processor time, of all threads."""
        profile = cProfile.Profile(time.thread_time) if name.split()[0] == self.words.profile else None
        threads, os.cpu_count = os.cpu_count, (lambda: 1) if self.words.single else os.cpu_count
        before = resource.getrusage(resource.RUSAGE_SELF)
        result = work() if profile is None else profile.runcall(work)
        after = resource.getrusage(resource.RUSAGE_SELF)
        os.cpu_count = threads
        user, system = (
            (getattr(after, kind) - getattr(before, kind)) * 1000 / files for kind in ("ru_utime", "ru_stime")
        )
        self.lines.append(f"{name:28}{user + system:10.3f}{user:9.3f}{system:9.3f}")
        if profile is not None:
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(50)
        return result

    def rows(self, commit: int) -> pa.Table:
        """The rows of one commit: the keys of each partition are those of two commits before, so all files overlap."""
        words = self.words
        count = words.partitions * words.rows
        rows = batch(commit, count, 1 << 40)
        order = np.random.default_rng(commit).permutation(count)
        partition = pa.array((order % words.partitions).astype(np.int32))
        ids = pa.array(order // words.partitions * 2 + commit % 2)
        columns = [partition, ids, *rows.columns[1:]]
        return pa.table(columns[: 1 + words.columns], schema=self.table.schema.arrow)

    def all(self) -> None:
        words = self.words
        batches = [self.rows(commit) for commit in range(words.commits)]
        self.table.write(batches[0].slice(0, 1))
        self.measure("write and commit", self.files, lambda: [self.table.write(rows) for rows in batches])
        found = self.measure("scan to_arrow", self.files, lambda: self.table.scan().to_arrow())
        self.pyarrow()
        self.measure("compaction, input", self.files, lambda: self.table.compact(full=True))
        again = self.measure("scan of the result", words.partitions, lambda: self.table.scan().to_arrow())
        order = [("p", "ascending"), ("id", "ascending")]
        if not found.sort_by(order).equals(again.sort_by(order)):
            raise RuntimeError("the compaction has changed the table's rows")

    def pyarrow(self) -> None:
        """The same files without a table."""
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


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.small_buckets", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--partitions", type=int, default=1000, help="partitions, each of one bucket")
    parser.add_argument("--commits", type=int, default=5, help="commits, each with a file a partition")
    parser.add_argument("--rows", type=int, default=20, help="rows of a file")
    parser.add_argument("--columns", type=int, default=7, help="columns beside the partition's, up to 8")
    parser.add_argument("--options", type=option, nargs="*", default=[], help="table options, name=value")
    parser.add_argument("--single", action="store_true", help="one thread, as a profile needs it")
    parser.add_argument("--profile", help="write, scan or compaction, : profile the measure of that name")
    return parser.parse_args(words)


def main(words: Any = None) -> None:
    with tempfile.TemporaryDirectory(prefix="paimon-small-") as folder:
        run = Run(arguments(words), Path(folder))
        run.all()
        sys.stdout.write("\n".join(run.lines) + "\n")


if __name__ == "__main__":
    main()
