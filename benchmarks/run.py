"""Times paimon_core beside Apache Paimon's Java code on the same rows, in one run, and prints the ratios.

Both sides are warm (their first runs are not counted), take turns, and keep a table of their own in a temporary folder;
each then reads the other's table, and one checksum must come out of all four reads. Five measures:

write     one batch of upserts, rows at hand; what Java spends on making its rows is measured alone and taken off
peers     with --peers: the same writes and reads by other Python libraries, beside ours in their column
decode    the same files by pyarrow alone, every column, nothing merged: what a read cannot be quicker than
read      every column of every batch's run, merged
compact   all of it, to the top level, on copies of the table
plan      the splits of a table of many small files, by a new catalog, and again by the same one
commit    one row, written and committed

``--table`` takes other keys and merge engines than a deduplicated table with a BIGINT key.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import paimon_core
from benchmarks import workload
from benchmarks.java_side import JavaSide
from benchmarks.peers import NAMES, run_peer
from tests.support.oracle import OracleUnavailable

BUCKETS = 2
OPTIONS = {"bucket": str(BUCKETS), "write-only": "true"}
AGGREGATES = {"a": "sum", "b": "max", "c": "sum", "d": "min", "name": "last_value", "city": "first_value", "ts": "max"}
TABLES: dict[str, tuple[list[str], dict[str, str]]] = {
    "plain": (["id"], {}),
    "text-key": (["name"], {}),
    "three-keys": (["d", "name", "id"], {}),
    "partial-update": (["id"], {"merge-engine": "partial-update"}),
    "aggregation": (
        ["id"],
        {"merge-engine": "aggregation"} | {f"fields.{c}.aggregate-function": f for c, f in AGGREGATES.items()},
    ),
}
"""By name: the primary key and the options of the table that is timed."""
MANY = pa.schema(
    [pa.field("p", pa.int32(), nullable=False), pa.field("id", pa.int64(), nullable=False), ("v", pa.string())]
)


@dataclass
class Measure:
    """What one line of the report says: warm seconds of each side, in the order they were taken."""

    name: str
    ours: list[float] = field(default_factory=list)
    java: list[float] = field(default_factory=list)


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def say(text: str) -> None:
    print(f"  {text} ...", file=sys.stderr, flush=True)


class Run:
    """One run of the benchmark: a folder, a catalog, a JVM and the measures taken so far."""

    def __init__(self, words: argparse.Namespace, folder: Path, java: JavaSide | None) -> None:
        self.words = words
        self.ours, self.javas = str(folder / "ours"), str(folder / "java")
        self.java = java
        self.catalog = paimon_core.open_catalog(self.ours)
        self.catalog.create_database("db")
        self.measures: list[Measure] = []
        self.checksums: dict[str, int] = {}
        self.load = os.getloadavg()[0]

    def measure(self, name: str) -> Measure:
        self.measures.append(Measure(name))
        return self.measures[-1]

    def create(self, table: str, *, java: bool = True) -> Any:
        key, more = TABLES[self.words.table]
        options = OPTIONS | more
        if self.java and java:
            words = (f"{name}={value}" for name, value in options.items())
            self.java.run("create", self.javas, table, f"pk:{','.join(key)}", *words)
        return self.catalog.create_table(f"db.{table}", workload.SCHEMA, primary_key=key, options=options)

    def batch(self, k: int) -> pa.Table:
        return workload.batch(k, self.words.rows, self.words.keys, holes=self.words.table == "partial-update")

    def write(self) -> None:
        """Batch k by us, batch k by Java; both have written other tables before."""
        rows, keys = self.words.rows, self.words.keys
        made = 0.0
        say("warming both sides")
        warm = self.create("warm")
        warm.write(self.batch(0))
        warm.scan().to_arrow()
        if self.java:
            made = median(self.java.seconds("rows", self.javas, "warm", rows, 5, keys)[1:])
            self.java.run("write", self.javas, "warm", rows, 2, keys)
        table = self.create("t")
        taken = self.measure("write a batch")
        for k in range(self.words.batches):
            say(f"write, batch {k + 1} of {self.words.batches}")
            batch = self.batch(k)
            taken.ours.append(timed(lambda batch=batch: table.write(batch)))
            if self.java:
                (seconds,) = self.java.seconds("write", self.javas, "t", rows, 1, keys, k)
                taken.java.append(seconds - made)

    def read(self) -> None:
        """Every column, merged; Java sums them on as many threads as there are processors."""
        taken = self.measure(f"merge on read of {self.words.batches} runs")
        threads = os.cpu_count() or 1
        table = self.catalog.table("db.t")
        say("read, warming")
        self.checksums["our table, read by us"] = workload.checksum(table.scan().to_arrow())
        if self.java:
            self.java.run("read", self.javas, "t", threads)
        for repeat in range(self.words.repeats):
            say(f"read, {repeat + 1} of {self.words.repeats}")
            # Java reads three times a call: the best of three on both sides.
            taken.ours.append(min(timed(lambda: table.scan().to_arrow()) for _ in range(3)))
            if self.java:
                timings = self.java.run("read", self.javas, "t", threads)
                taken.java.append(min(timing["seconds"] for timing in timings))
                self.checksums["Java's table, read by Java"] = timings[-1]["checksum"]
        self.decode()
        if self.java:
            say("each reads the other's table")
            self.checksums["our table, read by Java"] = self.java.run("read", self.ours, "t", threads)[-1]["checksum"]
            theirs = paimon_core.open_catalog(self.javas).table("db.t")
            self.checksums["Java's table, read by us"] = workload.checksum(theirs.scan().to_arrow())

    def decode(self) -> None:
        """Each file of our table by one thread of pyarrow, two files at a time, as a merge reads two buckets."""
        taken = self.measure("decoding alone, by pyarrow")
        files = sorted(Path(self.ours, "db.db", "t").rglob("*.parquet"))
        names = workload.SCHEMA.names

        def whole(file: Path) -> int:
            return int(pq.ParquetFile(file).read(names, use_threads=False).num_rows)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for _ in range(self.words.repeats):
                taken.ours.append(min(timed(lambda: list(pool.map(whole, files))) for _ in range(3)))

    def peers(self) -> None:
        """Other Python libraries, one after the other, on empty tables that we made for them."""
        words = self.words
        rows = self.catalog.table("db.t").scan(["id"]).to_arrow().num_rows
        for library in words.peers:
            say(f"{NAMES[library]} writes and reads")
            for table in (library, f"{library}_warm"):
                self.create(table, java=False)
            found = run_peer(library, self.ours, library, words.rows, words.batches, words.keys, words.repeats)
            if found["rows"] != rows:
                raise RuntimeError(f"{NAMES[library]} read {found['rows']} rows, not {rows}")
            self.measure(f"{NAMES[library]}: write a batch").ours += found["write"]
            self.measure(f"{NAMES[library]}: merge on read").ours += found["read"]

    def compact(self) -> None:
        """Copies of each side's table; the first one warms."""
        taken = self.measure(f"full compaction of {self.words.batches} runs")
        for repeat in range(self.words.repeats + 1):
            say(f"compact, {repeat} of {self.words.repeats}" if repeat else "compact, warming")
            copy = f"copy{repeat}"
            for warehouse in (self.ours, self.javas) if self.java else (self.ours,):
                shutil.copytree(Path(warehouse, "db.db", "t"), Path(warehouse, "db.db", copy))
            table = self.catalog.table(f"db.{copy}")
            ours = timed(lambda table=table: table.compact(full=True))
            java = self.java.seconds("compact", self.javas, copy) if self.java else []
            if repeat:
                taken.ours.append(ours)
                taken.java += java
            else:
                self.checksums["our table, compacted by us"] = workload.checksum(table.scan().to_arrow())
            for warehouse in (self.ours, self.javas):
                shutil.rmtree(Path(warehouse, "db.db", copy), ignore_errors=True)

    def plan(self) -> None:
        """The same table for both: Java's where it is there."""
        partitions = commits = max(1, round(self.words.files**0.5))
        say(f"making a table of {partitions * commits:,} files")
        warehouse = self.many("many", partitions, commits)
        fresh = self.measure(f"plan {partitions * commits:,} files, new catalog")
        again = self.measure(f"plan {partitions * commits:,} files, again")
        for repeat in range(self.words.repeats + 1):
            say(f"plan, {repeat} of {self.words.repeats}" if repeat else "plan, warming")
            catalog = paimon_core.open_catalog(warehouse)
            ours = [timed(lambda catalog=catalog: catalog.table("db.many").scan().splits()) for _ in range(3)]
            java = self.java.seconds("plan", warehouse, "many", 3) if self.java else []
            if repeat:
                fresh.ours.append(ours[0])
                again.ours.append(ours[-1])
                fresh.java += java[:1]
                again.java += java[-1:]

    def many(self, table: str, partitions: int, commits: int) -> str:
        """The warehouse with a table of ``partitions * commits`` files."""
        if self.java:
            self.java.run("many", self.javas, table, partitions, commits)
            return self.javas
        self.many_commits(table, partitions, commits)
        return self.ours

    def many_commits(self, name: str, partitions: int, commits: int) -> list[float]:
        """Seconds of each commit of one row per partition, by us."""
        options = {"bucket": "1", "write-only": "true"}
        table = self.catalog.create_table(
            f"db.{name}", MANY, primary_key=["p", "id"], partition_by=["p"], options=options
        )
        batches = [
            pa.table([range(partitions), [k] * partitions, [f"v{k}"] * partitions], schema=MANY) for k in range(commits)
        ]
        return [timed(lambda batch=batch: table.write(batch)) for batch in batches]

    def commit(self) -> None:
        """One row a commit; the first half warms."""
        taken = self.measure("commit of one row")
        count = self.words.commits
        say(f"{count} commits of one row")
        taken.ours += self.many_commits("one", 1, count)[count // 2 :]
        if self.java:
            taken.java += self.java.seconds("many", self.javas, "one", 1, count)[count // 2 :]

    def report(self) -> str:
        words = self.words
        head = (
            f"{words.rows:,} rows x {len(workload.SCHEMA)} columns a batch, {words.batches} batches, "
            f"keys from {words.keys:,}, {BUCKETS} buckets, table {words.table}\n"
            f"{os.cpu_count()} processors, load {self.load:.1f} at the start; medians of warm runs"
        )
        lines = [head, "", f"{'':34}{'paimon_core':>12}{'Java':>10}{'ratio':>9}   (ours | Java)"]
        for taken in self.measures:
            ours = median(taken.ours)
            java = (
                f"{median(taken.java):8.3f} s{median(taken.java) / ours:7.1f} x" if taken.java else f"{'-':>10}{'-':>9}"
            )
            lines.append(f"{taken.name:34}{ours:10.3f} s{java}   {spread(taken.ours)} | {spread(taken.java)}")
        sizes = [f"{side} {size_mb(Path(folder, 'db.db', 't')):.0f} MB" for side, folder in self.sides()]
        lines += ["", "table of all batches on disk: " + ", ".join(sizes)] if self.checksums else []
        lines += [f"checksum {value} of {what}" for what, value in self.checksums.items()]
        return "\n".join(lines)

    def sides(self) -> list[tuple[str, str]]:
        return [("ours", self.ours), ("Java's", self.javas)] if self.java else [("ours", self.ours)]


def spread(seconds: list[float]) -> str:
    return f"{min(seconds):.3f} to {max(seconds):.3f}" if seconds else "-"


def size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of a batch")
    parser.add_argument("--batches", type=int, default=5, help="batches, each a run of the table")
    parser.add_argument("--keys", type=int, default=2_000_000, help="keys are drawn from this many")
    parser.add_argument("--files", type=int, default=10_000, help="files of the table that is planned")
    parser.add_argument("--commits", type=int, default=60, help="commits of one row")
    parser.add_argument("--repeats", type=int, default=3, help="counted repeats of read, compaction and plan")
    parser.add_argument("--table", choices=list(TABLES), default="plain", help="its key and merge engine")
    parser.add_argument("--peers", nargs="*", choices=list(NAMES), default=[], help="Python libraries to time as well")
    parser.add_argument("--skip-java", action="store_true", help="time paimon_core alone")
    parser.add_argument(
        "--only", nargs="*", default=["write", "read", "peers", "compact", "plan", "commit"], help="the measures"
    )
    return parser.parse_args()


def main() -> int:
    words = arguments()
    java = None
    if not words.skip_java:
        try:
            java = JavaSide()
        except OracleUnavailable as reason:
            print(f"Java is left out: {reason}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="paimon-bench-") as folder:
        run = Run(words, Path(folder), java)
        steps = {
            "write": run.write,
            "read": run.read,
            "peers": run.peers,
            "compact": run.compact,
            "plan": run.plan,
            "commit": run.commit,
        }
        for name, step in steps.items():
            if name in words.only or (name == "write" and {"read", "peers", "compact"} & set(words.only)):
                step()
        if java:
            java.close()
        print(run.report())
    if len(set(run.checksums.values())) > 1:
        print("The checksums differ: the sides did not read the same rows.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
