"""Times commits of one row on tables with long histories and many files, next to Java, and counts their reads.

Each table is created once, by metadata commits with empty data files, and copied for each side, so that both commit to
the same table. The report states the median seconds of a commit of one row (including its Parquet file) and, for
paimon_core, the calls and bytes of one commit. The last measure is the expiry of all snapshots but ten.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

import paimon_core
from benchmarks.java_side import JavaSide
from benchmarks.timing import log, timed
from benchmarks.workload import MANY
from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.maintain.expiry.retention import Retention
from paimon_core.maintain.expiry.snapshots import expire
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.storage.storage import FileInfo, Storage
from paimon_core.table.table import Table
from paimon_core.types import parse_type
from tests.support.commits import commit
from tests.support.oracle import OracleUnavailable

FILES_A_COMMIT = 1000
OPTIONS = {"bucket": "1", "write-only": "true"}


@dataclass
class CountingStorage(Storage):
    """Wraps a storage and counts the calls of each method and the bytes read and written."""

    inner: Storage
    calls: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)

    @property
    def is_local(self) -> bool:
        return self.inner.is_local

    def read(self, path: str) -> bytes:
        data = self.inner.read(path)
        self._count("read", len(data))
        return data

    def exists(self, path: str) -> bool:
        self._count("exists")
        return self.inner.exists(path)

    def list(self, directory: str) -> list[FileInfo]:
        found = self.inner.list(directory)
        self._count("list")
        self.calls["entries listed"] += len(found)
        return found

    def walk(self, directory: str) -> Iterator[FileInfo]:
        self._count("walk")
        return self.inner.walk(directory)

    def open_input(self, path: str) -> pa.NativeFile:
        self._count("open_input")
        return self.inner.open_input(path)

    def open_output(self, path: str) -> pa.NativeFile:
        self._count("open_output")
        return self.inner.open_output(path)

    def write(self, path: str, data: bytes) -> None:
        self._count("write", len(data))
        self.inner.write(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        self._count("overwrite", len(data))
        self.inner.overwrite(path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        self._count("create_exclusive", len(data))
        return self.inner.create_exclusive(path, data)

    def move(self, source: str, target: str) -> None:
        self._count("move")
        self.inner.move(source, target)

    def make_directory(self, directory: str) -> None:
        self._count("make_directory")
        self.inner.make_directory(directory)

    def delete(self, paths: Iterable[str]) -> int:
        self._count("delete")
        return self.inner.delete(paths)

    def delete_directory(self, directory: str) -> None:
        self._count("delete_directory")
        self.inner.delete_directory(directory)

    def _count(self, verb: str, size: int = 0) -> None:
        self.calls[verb] += 1
        self.bytes["read" if verb == "read" else "written"] += size

    def summary(self) -> str:
        """Return the counts as one line."""
        verbs = ", ".join(f"{count} {verb}" for verb, count in sorted(self.calls.items()) if count)
        return f"{verbs}; {self.bytes['read']:,} bytes read, {self.bytes['written']:,} written (data files left out)"


class TableBuilder:
    """Creates tables that consist of metadata, in one warehouse."""

    def __init__(self, warehouse: str) -> None:
        self.catalog = paimon_core.open_catalog(warehouse)
        self.catalog.create_database("db", ignore_if_exists=True)
        self._numbers = iter(range(1 << 40))

    def table(self, name: str) -> Table:
        return self.catalog.create_table(
            f"db.{name}", MANY, primary_key=["p", "id"], partition_by=["p"], options=OPTIONS
        )

    def file(self, context: TableContext, partition: bytes, level: int = 0) -> DataFile:
        number = next(self._numbers)
        name = f"data-{number:08d}-0000-4000-8000-000000000000-0.parquet"
        directory = context.paths.bucket(context.partition_path(partition), 0)
        Path(directory).mkdir(parents=True, exist_ok=True)
        Path(directory, name).touch()
        key = encode_row([number], [parse_type("BIGINT NOT NULL")])
        return DataFile(
            name,
            1000,
            1,
            0,
            level,
            key,
            key,
            min_sequence_number=number,  # above all earlier ones, so that no commit has to renumber rows
            max_sequence_number=number,
            creation_time_millis=time.time_ns() // 10**6,
            delete_row_count=0,
        )

    def history(self, name: str, snapshots: int) -> None:
        """Commit appends and compactions that merge them in turn: a long history, few live files."""
        context = self.table(name).context
        partition = encode_row([0], [parse_type("INT NOT NULL")])
        merged: tuple[DataFile, ...] = ()
        for _ in range(0, snapshots, 2):
            new, after = self.file(context, partition), self.file(context, partition, 5)
            commit([CommitMessage(partition, 0, 1, (new,))], context=context, user="writer")
            work = CommitMessage(partition, 0, 1, compact_before=(*merged, new), compact_after=(after,))
            commit([work], context=context, user="compactor")
            merged = (after,)

    def files(self, name: str, count: int) -> None:
        """Commit many live files, a thousand per partition and commit."""
        context = self.table(name).context
        for number in range(max(1, count // FILES_A_COMMIT)):
            partition = encode_row([number], [parse_type("INT NOT NULL")])
            new = tuple(self.file(context, partition) for _ in range(min(count, FILES_A_COMMIT)))
            commit([CommitMessage(partition, 0, 1, new)], context=context, user="writer")


def row(number: int) -> pa.Table:
    return pa.table([[0], [number], [f"v{number}"]], schema=MANY)


def our_commits(warehouse: str, table: str, commits: int) -> list[float]:
    opened = paimon_core.open_catalog(warehouse).table(f"db.{table}")
    opened.write(row(-1))
    return [timed(lambda number=number: opened.write(row(number))) for number in range(commits)]


def counted_commit(warehouse: str, table: str) -> str:
    """Return the counts of one commit by a process that has not read the table before."""
    context = paimon_core.open_catalog(warehouse).table(f"db.{table}").context
    storage = CountingStorage(context.storage)
    Table(TableContext.of(context.name, storage, context.paths.root, context.schema)).write(row(10**9))
    return storage.summary()


def expired(warehouse: str, table: str, left: int) -> float:
    context = paimon_core.open_catalog(warehouse).table(f"db.{table}").context
    return timed(lambda: expire(context, Retention(left, left, 2**62, 10**9)))


class Run:
    """One run: the tables, their copies, and the lines of the report."""

    def __init__(self, args: argparse.Namespace, folder: Path, java: JavaSide | None) -> None:
        self.args, self.folder, self.java = args, folder, java
        self.lines = [
            f"commits of one row; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start; medians",
            f"{'':44}{'paimon_core':>12}{'Java':>10}{'ratio':>9}",
        ]

    def line(self, name: str, ours: float, java: float | None) -> None:
        beside = f"{java * 1000:8.1f} ms{java / ours:7.1f} x" if java is not None else f"{'-':>10}{'-':>9}"
        self.lines.append(f"{name:44}{ours * 1000:9.1f} ms{beside}")

    def copies(self, made: Path, table: str) -> tuple[str, str]:
        places = []
        for side in ("ours", "java"):
            target = self.folder / side / "db.db" / table
            shutil.copytree(made / "db.db" / table, target)
            places.append(str(self.folder / side))
        return places[0], places[1]

    def commits(self, made: Path, table: str, name: str) -> None:
        log(f"commits on {name}")
        ours_at, java_at = self.copies(made, table)
        count = self.args.commits
        ours = median(our_commits(ours_at, table, count))
        java = self.java.seconds("more", java_at, table, count + 1, 0)[1:] if self.java else []
        self.line(name, ours, median(java) if java else None)
        self.lines.append(f"  {counted_commit(ours_at, table)}")

    def expiry(self, made: Path, table: str, snapshots: int) -> None:
        log(f"expiry of {snapshots:,} snapshots")
        for side in ("ours", "java"):
            shutil.rmtree(self.folder / side)
        ours_at, java_at = self.copies(made, table)
        ours = expired(ours_at, table, 10)
        java = self.java.seconds("expire", java_at, table, 10)[0] if self.java else None
        self.line(f"expiry of {snapshots - 10:,} snapshots", ours, java)

    def all(self) -> None:
        made = self.folder / "made"
        builder = TableBuilder(str(made))
        for count in self.args.snapshots:
            log(f"creating {count:,} snapshots")
            builder.history(f"s{count}", count)
            self.commits(made, f"s{count}", f"table of {count:,} snapshots")
        if self.args.files:
            log(f"creating {self.args.files:,} files")
            builder.files("files", self.args.files)
            self.commits(made, "files", f"table of {self.args.files:,} live files")
        if self.args.expire:
            builder.history("expire", self.args.expire + 10)
            self.expiry(made, "expire", self.args.expire + 10)


def arguments(args: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.commits", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--snapshots", type=int, nargs="*", default=[10, 1_000, 10_000], help="lengths of histories")
    parser.add_argument("--files", type=int, default=100_000, help="live files of another table; 0: none")
    parser.add_argument("--commits", type=int, default=20, help="commits that are timed")
    parser.add_argument("--expire", type=int, default=1_000, help="snapshots that expire; 0: none")
    parser.add_argument("--skip-java", action="store_true", help="time paimon_core alone")
    return parser.parse_args(args)


def report(args: argparse.Namespace) -> str:
    """Run all measures in a temporary folder and return the report."""
    java: JavaSide | None = None
    if not args.skip_java:
        try:
            java = JavaSide()
        except OracleUnavailable as reason:
            log(f"without Java: {reason}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            run = Run(args, Path(folder), java)
            run.all()
            return "\n".join(run.lines)
    finally:
        if java is not None:
            java.close()


def main(args: Any = None) -> None:
    sys.stdout.write(report(arguments(args)) + "\n")


if __name__ == "__main__":
    main()
