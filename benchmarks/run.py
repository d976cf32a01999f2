"""Times paimon_core next to Apache Paimon's Java code on the same rows, in one run, and prints the ratios.

Both sides are warm (their first runs are not counted), alternate, and have their own tables in a temporary folder. Each
side then reads the other's table, and all four reads must have the same checksum. The measures:

write     one batch of upserts, rows in memory; the time in which Java creates its rows is measured and subtracted
peers     with --peers: the same writes and reads by other Python libraries, in the column of paimon_core
decode    the same files decoded by pyarrow alone, every column, without a merge: the lower limit of a read
read      every column of all sorted runs, merged
compact   a full compaction into the last level, on copies of the table
plan      the splits of a table of many small files, by a new catalog, and again by the same one
commit    one row, written and committed

``--table`` selects other keys and merge engines than a deduplicate table with a BIGINT key.
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
    """One line of the report: the warm seconds of each side, in the order in which they were measured."""

    name: str
    ours: list[float] = field(default_factory=list)
    java: list[float] = field(default_factory=list)


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def log(text: str) -> None:
    print(f"  {text} ...", file=sys.stderr, flush=True)


class Run:
    """One run of the benchmark: a folder, a catalog, a JVM and the measures so far."""

    def __init__(self, args: argparse.Namespace, folder: Path, java: JavaSide | None) -> None:
        self.args = args
        self.our_warehouse, self.java_warehouse = str(folder / "ours"), str(folder / "java")
        self.java = java
        self.catalog = paimon_core.open_catalog(self.our_warehouse)
        self.catalog.create_database("db")
        self.measures: list[Measure] = []
        self.checksums: dict[str, int] = {}
        self.load = os.getloadavg()[0]

    def measure(self, name: str) -> Measure:
        self.measures.append(Measure(name))
        return self.measures[-1]

    def create(self, table: str, *, java: bool = True) -> Any:
        key, more = TABLES[self.args.table]
        options = OPTIONS | more
        if self.java and java:
            settings = (f"{name}={value}" for name, value in options.items())
            self.java.run("create", self.java_warehouse, table, f"pk:{','.join(key)}", *settings)
        return self.catalog.create_table(f"db.{table}", workload.SCHEMA, primary_key=key, options=options)

    def batch(self, k: int) -> pa.Table:
        return workload.batch(k, self.args.rows, self.args.keys, holes=self.args.table == "partial-update")

    def write(self) -> None:
        """Batch k by paimon_core, then batch k by Java; both have written other tables before."""
        rows, keys = self.args.rows, self.args.keys
        made = 0.0
        log("warming both sides")
        warm = self.create("warm")
        warm.write(self.batch(0))
        warm.scan().to_arrow()
        if self.java:
            made = median(self.java.seconds("rows", self.java_warehouse, "warm", rows, 5, keys)[1:])
            self.java.run("write", self.java_warehouse, "warm", rows, 2, keys)
        table = self.create("t")
        taken = self.measure("write a batch")
        for k in range(self.args.batches):
            log(f"write, batch {k + 1} of {self.args.batches}")
            batch = self.batch(k)
            taken.ours.append(timed(lambda batch=batch: table.write(batch)))
            if self.java:
                (seconds,) = self.java.seconds("write", self.java_warehouse, "t", rows, 1, keys, k)
                taken.java.append(seconds - made)

    def read(self) -> None:
        """Every column, merged; Java sums the rows with as many threads as there are processors."""
        taken = self.measure(f"merge on read of {self.args.batches} runs")
        threads = os.cpu_count() or 1
        table = self.catalog.table("db.t")
        log("read, warming")
        self.checksums["our table, read by us"] = workload.checksum(table.scan().to_arrow())
        if self.java:
            self.java.run("read", self.java_warehouse, "t", threads)
        for repeat in range(self.args.repeats):
            log(f"read, {repeat + 1} of {self.args.repeats}")
            # Java reads three times a call: the best of three on both sides.
            taken.ours.append(min(timed(lambda: table.scan().to_arrow()) for _ in range(3)))
            if self.java:
                timings = self.java.run("read", self.java_warehouse, "t", threads)
                taken.java.append(min(timing["seconds"] for timing in timings))
                self.checksums["Java's table, read by Java"] = timings[-1]["checksum"]
        self.decode()
        if self.java:
            log("each reads the other's table")
            self.checksums["our table, read by Java"] = self.java.run("read", self.our_warehouse, "t", threads)[-1][
                "checksum"
            ]
            theirs = paimon_core.open_catalog(self.java_warehouse).table("db.t")
            self.checksums["Java's table, read by us"] = workload.checksum(theirs.scan().to_arrow())

    def decode(self) -> None:
        """Decode each file of our table in one thread of pyarrow, one file per processor at a time."""
        taken = self.measure("decoding alone, by pyarrow")
        files = sorted(Path(self.our_warehouse, "db.db", "t").rglob("*.parquet"))
        names = workload.SCHEMA.names

        def whole(file: Path) -> int:
            return int(pq.ParquetFile(file).read(names, use_threads=False).num_rows)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for _ in range(self.args.repeats):
                taken.ours.append(min(timed(lambda: list(pool.map(whole, files))) for _ in range(3)))

    def peers(self) -> None:
        """Other Python libraries, one after the other, on empty tables that paimon_core has created."""
        args = self.args
        rows = self.catalog.table("db.t").scan(["id"]).to_arrow().num_rows
        for library in args.peers:
            log(f"{NAMES[library]} writes and reads")
            for table in (library, f"{library}_warm"):
                self.create(table, java=False)
            found = run_peer(library, self.our_warehouse, library, args.rows, args.batches, args.keys, args.repeats)
            if found["rows"] != rows:
                raise RuntimeError(f"{NAMES[library]} read {found['rows']} rows, not {rows}")
            self.measure(f"{NAMES[library]}: write a batch").ours += found["write"]
            self.measure(f"{NAMES[library]}: merge on read").ours += found["read"]

    def compact(self) -> None:
        """Compact copies of each side's table; the first copy is the warm-up."""
        taken = self.measure(f"full compaction of {self.args.batches} runs")
        for repeat in range(self.args.repeats + 1):
            log(f"compact, {repeat} of {self.args.repeats}" if repeat else "compact, warming")
            copy = f"copy{repeat}"
            for warehouse in (self.our_warehouse, self.java_warehouse) if self.java else (self.our_warehouse,):
                shutil.copytree(Path(warehouse, "db.db", "t"), Path(warehouse, "db.db", copy))
            table = self.catalog.table(f"db.{copy}")
            ours = timed(lambda table=table: table.compact(full=True))
            java = self.java.seconds("compact", self.java_warehouse, copy) if self.java else []
            if repeat:
                taken.ours.append(ours)
                taken.java += java
            else:
                self.checksums["our table, compacted by us"] = workload.checksum(table.scan().to_arrow())
            for warehouse in (self.our_warehouse, self.java_warehouse):
                shutil.rmtree(Path(warehouse, "db.db", copy), ignore_errors=True)

    def plan(self) -> None:
        """Plan the same table on both sides: Java's if Java runs."""
        partitions = commits = max(1, round(self.args.files**0.5))
        log(f"creating a table of {partitions * commits:,} files")
        warehouse = self.many("many", partitions, commits)
        fresh = self.measure(f"plan {partitions * commits:,} files, new catalog")
        again = self.measure(f"plan {partitions * commits:,} files, again")
        for repeat in range(self.args.repeats + 1):
            log(f"plan, {repeat} of {self.args.repeats}" if repeat else "plan, warming")
            catalog = paimon_core.open_catalog(warehouse)
            ours = [timed(lambda catalog=catalog: catalog.table("db.many").scan().splits()) for _ in range(3)]
            java = self.java.seconds("plan", warehouse, "many", 3) if self.java else []
            if repeat:
                fresh.ours.append(ours[0])
                again.ours.append(ours[-1])
                fresh.java += java[:1]
                again.java += java[-1:]

    def many(self, table: str, partitions: int, commits: int) -> str:
        """Return the warehouse with a table of ``partitions * commits`` files."""
        if self.java:
            self.java.run("many", self.java_warehouse, table, partitions, commits)
            return self.java_warehouse
        self.many_commits(table, partitions, commits)
        return self.our_warehouse

    def many_commits(self, name: str, partitions: int, commits: int) -> list[float]:
        """Return the seconds of each commit of one row per partition, by paimon_core."""
        options = {"bucket": "1", "write-only": "true"}
        table = self.catalog.create_table(
            f"db.{name}", MANY, primary_key=["p", "id"], partition_by=["p"], options=options
        )
        batches = [
            pa.table([range(partitions), [k] * partitions, [f"v{k}"] * partitions], schema=MANY) for k in range(commits)
        ]
        return [timed(lambda batch=batch: table.write(batch)) for batch in batches]

    def commit(self) -> None:
        """Commit one row at a time; the first half of the commits is the warm-up."""
        taken = self.measure("commit of one row")
        count = self.args.commits
        log(f"{count} commits of one row")
        taken.ours += self.many_commits("one", 1, count)[count // 2 :]
        if self.java:
            taken.java += self.java.seconds("many", self.java_warehouse, "one", 1, count)[count // 2 :]

    def report(self) -> str:
        args = self.args
        head = (
            f"{args.rows:,} rows x {len(workload.SCHEMA)} columns a batch, {args.batches} batches, "
            f"keys from {args.keys:,}, {BUCKETS} buckets, table {args.table}\n"
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
        return (
            [("ours", self.our_warehouse), ("Java's", self.java_warehouse)]
            if self.java
            else [("ours", self.our_warehouse)]
        )


def spread(seconds: list[float]) -> str:
    return f"{min(seconds):.3f} to {max(seconds):.3f}" if seconds else "-"


def size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of a batch")
    parser.add_argument("--batches", type=int, default=5, help="batches, each a sorted run of the table")
    parser.add_argument("--keys", type=int, default=2_000_000, help="keys are drawn from this many")
    parser.add_argument("--files", type=int, default=10_000, help="files of the table that is planned")
    parser.add_argument("--commits", type=int, default=60, help="commits of one row")
    parser.add_argument("--repeats", type=int, default=3, help="counted repeats of read, compaction and plan")
    parser.add_argument("--table", choices=list(TABLES), default="plain", help="key and merge engine to time")
    parser.add_argument("--peers", nargs="*", choices=list(NAMES), default=[], help="Python libraries to time as well")
    parser.add_argument("--skip-java", action="store_true", help="time paimon_core alone")
    parser.add_argument(
        "--only", nargs="*", default=["write", "read", "peers", "compact", "plan", "commit"], help="the measures"
    )
    return parser.parse_args()


def main() -> int:
    args = arguments()
    java = None
    if not args.skip_java:
        try:
            java = JavaSide()
        except OracleUnavailable as reason:
            print(f"Java is left out: {reason}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="paimon-bench-") as folder:
        run = Run(args, Path(folder), java)
        steps = {
            "write": run.write,
            "read": run.read,
            "peers": run.peers,
            "compact": run.compact,
            "plan": run.plan,
            "commit": run.commit,
        }
        for name, step in steps.items():
            if name in args.only or (name == "write" and {"read", "peers", "compact"} & set(args.only)):
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
