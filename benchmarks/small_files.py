"""Processor time of reads of many small files, beside the limit: pyarrow alone on the same files, in the same run.

wide cold    two of 100 columns of many files, without any kept footer or schema
wide warm    the same with footers kept in memory
buckets 1    a primary-key table of many partitions with one small file each, cold
buckets 3    the same with three files each, which are merged, cold
first row    one row of a small table from a new interpreter; the limit is the import of pyarrow with its Parquet reader

Each round runs every case and its limit once; the report has the minima of the rounds, in processor seconds of all
threads, and their ratio. ``python -m benchmarks.small_files --rounds 3``
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import paimon_core
from benchmarks.indexes import spent
from benchmarks.workload import SCHEMA, batch
from paimon_core.datafile.parquet import checked_footer

COLUMNS = 100
WIDE_ROWS = 1000
BUCKET_ROWS = 100
KINDS = (pa.int64(), pa.float64(), pa.string(), pa.int32(), pa.timestamp("ms"))
WRITE_ONLY = {"write-only": "true"}
Case = tuple[str, Callable[[], object], Callable[[], object]]

FIRST_ROW = """
import sys, paimon_core
paimon_core.open_catalog(sys.argv[1]).table("db.first").scan(limit=1).to_arrow()
print(sum(name.startswith("paimon_core") for name in sys.modules))
"""
LIMIT = "import pyarrow.parquet, pyarrow.compute; print(0)"


def wide_rows(number: int, rows: int) -> pa.Table:
    """Return rows of 100 columns of five types, chosen by a seed."""
    chance = np.random.default_rng(number)

    def column(kind: pa.DataType) -> pa.Array:
        values = chance.integers(0, 10**6, rows)
        return pa.array(np.char.add("text ", values.astype(str)) if kind == pa.string() else values).cast(kind)

    return pa.table({f"c{n}": column(KINDS[n % len(KINDS)]) for n in range(COLUMNS)})


def bucket_rows(number: int, partitions: int) -> pa.Table:
    """Return rows with new keys for half of the keys of each partition."""
    count = partitions * BUCKET_ROWS
    rows = batch(number, count, 1 << 40)
    order = np.random.default_rng(number).permutation(count)
    columns = [pa.array((order % partitions).astype(np.int32)), pa.array(order // partitions * 2 + number % 2)]
    return pa.table([*columns, *rows.columns[1:]], schema=pa.schema([("p", pa.int32()), *SCHEMA]))


def fill(folder: str, files: int, partitions: int) -> None:
    """Create the tables."""
    catalog = paimon_core.open_catalog(folder)
    catalog.create_database("db")
    wide = catalog.create_table("db.wide", wide_rows(0, 1).schema, options=WRITE_ONLY)
    for number in range(files):
        wide.write(wide_rows(number, WIDE_ROWS))
    for commits in (1, 3):
        table = catalog.create_table(
            f"db.buckets{commits}",
            pa.schema([("p", pa.int32()), *SCHEMA]),
            primary_key=["p", "id"],
            partition_by=["p"],
            options=WRITE_ONLY | {"bucket": "1"},
        )
        for number in range(commits):
            table.write(bucket_rows(number, partitions).cast(table.schema.arrow))
    catalog.create_table("db.first", SCHEMA, options=WRITE_ONLY).write(batch(0, 100, 1000))


def cases(folder: str) -> list[Case]:
    """Return (name, our read, the read of the limit)."""

    def ours(table: str, columns: list[str] | None, *, cold: bool) -> Callable[[], object]:
        def read() -> object:
            if cold:
                checked_footer.forget()
            return paimon_core.open_catalog(folder).table(f"db.{table}").scan(columns).to_arrow()

        return read

    def limit(table: str, columns: list[str] | None) -> Callable[[], object]:
        paths = sorted((Path(folder) / "db.db" / table).rglob("data-*.parquet"))
        return lambda: [pq.ParquetFile(path).read(columns, use_threads=False) for path in paths]

    two = ["c0", "c2"]
    return [
        ("wide cold", ours("wide", two, cold=True), limit("wide", two)),
        ("wide warm", ours("wide", two, cold=False), limit("wide", two)),
        ("buckets 1", ours("buckets1", None, cold=True), limit("buckets1", None)),
        ("buckets 3", ours("buckets3", None, cold=True), limit("buckets3", None)),
    ]


def interpreter(script: str, *args: str) -> tuple[float, int]:
    """Return the processor seconds of a new interpreter that runs a script, and the number that it prints."""
    before = os.times()
    done = subprocess.run([sys.executable, "-c", script, *args], check=True, capture_output=True, text=True)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, int(done.stdout)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=200, help="files of 100 columns")
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="paimon-small-") as folder:
        fill(folder, asked.files, asked.partitions)
        found: dict[str, list[tuple[float, float]]] = {}
        modules = 0
        for _ in range(asked.rounds):
            for name, ours, limit in cases(folder):
                found.setdefault(name, []).append((spent(ours), spent(limit)))
            seconds, modules = interpreter(FIRST_ROW, folder)
            found.setdefault("first row", []).append((seconds, interpreter(LIMIT)[0]))
        print(f"{'processor seconds':20}{'ours':>9}{'limit':>9}{'ratio':>8}")
        for name, rounds in found.items():
            ours_best, limit_best = (min(seconds) for seconds in zip(*rounds, strict=True))
            print(f"{name:20}{ours_best:9.3f}{limit_best:9.3f}{ours_best / limit_best:8.2f}")
        print(f"modules of paimon_core for the first row: {modules}")


if __name__ == "__main__":
    main()
