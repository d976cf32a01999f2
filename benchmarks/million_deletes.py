"""Measures deletes and fsck on a table of many files (1,000,000 by default): processor seconds, growth of peak memory.

The files of 1,000 partitions exist only in metadata; one more partition of 5 files has real rows, which the deletes
change. Each measure runs in a process of its own, on the table that the one before it left:

fsck                 the quick check of a table whose data files exist, empty files of the recorded size
write                a commit of 1,000 rows to the real partition, as a baseline
delete by key        the rows of some keys of the real partition, of a table with a primary key
delete a partition   by a condition on the partition alone: one of the partitions without real files
delete by value      by a condition on a column without statistics of its rows, an append table with deletion vectors
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

import paimon_core
from benchmarks.planning import BUCKETS, data_file, partitions_of, publish
from benchmarks.planning_side import peak_mb, seconds
from benchmarks.timing import log
from benchmarks.workload import MANY
from paimon_core import col
from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.types import parse_type

KEYED, APPEND = "keyed", "append"
MEASURES = ("fsck", "write", "delete by key", "delete a partition", "delete by value")
REAL = 10**6
"""The partition with real rows."""
TARGET = 8 << 20


def create(warehouse: str, kind: str, files: int) -> None:
    """Create the table ``db.KIND``: its manifests are full and ordered by partition."""
    catalog = paimon_core.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    options = {"bucket": str(BUCKETS), "write-only": "true"}
    keys: dict[str, Any] = {"primary_key": ["p", "id"]}
    if kind == APPEND:
        options, keys = {"bucket": "-1", "deletion-vectors.enabled": "true"}, {}
    table = catalog.create_table(f"db.{kind}", MANY, partition_by=["p"], options=options, **keys)
    numbers, partitions = random.Random(0), partitions_of(files)
    turns = -(-files // partitions)
    manifests = []
    each = itertools.product(range(partitions), range(turns))
    while some := list(itertools.islice(each, 100_000)):
        entries = []
        for p, turn in some:
            place = (0, -1) if kind == APPEND else (turn % BUCKETS, BUCKETS)
            row = encode_row([p], [parse_type("INT NOT NULL")])
            entries.append(ManifestEntry(FileKind.ADD, row, *place, data_file(kind, p, turn, numbers)))
        manifests += table.context.manifests.write_manifests(entries, TARGET, spread=True)
    publish(table.context, [], manifests, partitions * turns * 1000)
    for number in range(5):
        write(table, number)


def write(table: paimon_core.Table, number: int) -> None:
    """Write 1,000 rows to the real partition."""
    ids = list(range(number * 1000, number * 1000 + 1000))
    table.write(pa.table([[REAL] * 1000, ids, [f"v{i % 10}" for i in ids]], schema=MANY))


def files_of(table: paimon_core.Table) -> None:
    """Create each data file that does not exist, sparse, with its recorded size."""
    context = table.context
    snapshot = context.snapshots.latest()
    assert snapshot is not None
    for entry in context.manifests.entries_of(snapshot):
        path = Path(context.file_paths(entry.partition, entry.bucket, entry.file)[0])
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "wb") as made:
                os.truncate(made.fileno(), entry.file.file_size)


def check(table: paimon_core.Table) -> None:
    """Check the table without reading rows."""
    report = table.maintenance.check()
    assert report.is_clean, report.findings[:3]


def measure(warehouse: str, what: str) -> str:
    """Run one measure and return its line."""
    table = paimon_core.open_catalog(warehouse).table(f"db.{APPEND if what == 'delete by value' else KEYED}")
    work = {
        "write": lambda: write(table, 9),
        "delete by key": lambda: table.delete((col("p") == REAL) & col("id").is_in(list(range(100, 200)))),
        "delete a partition": lambda: table.delete(col("p") == 7),
        "delete by value": lambda: table.delete((col("p") == REAL) & (col("v") == "v3")),
        "fsck": lambda: check(table),
    }[what]
    before = peak_mb()
    taken = seconds(work)
    return f"{what:24}{taken:8.2f} s{peak_mb() - before:10.0f} MB"


def main(args: list[str] | None = None) -> None:
    """Create the tables that do not exist, and print a line for each measure."""
    parser = argparse.ArgumentParser(prog="benchmarks.million_deletes", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--folder", required=True, help="where the tables are created and kept")
    parser.add_argument("--measures", nargs="*", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--here", action="store_true", help="measure in this process, on tables that exist")
    given = parser.parse_args(args)
    if given.here:
        print(*(measure(given.folder, what) for what in given.measures), sep="\n", flush=True)
        return
    for kind in (KEYED, APPEND):
        if not (Path(given.folder) / "db.db" / kind).exists():
            log(f"creating {given.files:,} files, {kind}")
            create(given.folder, kind, given.files)
    for what in given.measures:
        if what == "fsck":
            log("creating data files")
            files_of(paimon_core.open_catalog(given.folder).table(f"db.{KEYED}"))
        own = ["--folder", given.folder, "--here", "--measures", what]
        subprocess.run([sys.executable, "-m", "benchmarks.million_deletes", *own], check=True)


if __name__ == "__main__":
    main()
