"""Processor seconds of Spark jobs on the rows of TPC-H, beside plain Parquet through Spark and this library alone.

The columns are the seconds of the JVM, of Spark's Python workers, and of this process, and their sum; the last column
is the ratio to the peer of the case. Each case runs ``--repeats`` times, in turns with the other cases, and the run
with the smallest sum counts. ``--partitions`` are values of ``spark.sql.shuffle.partitions``.

    python -m benchmarks.spark --scale 0.1 --repeats 2 --partitions 4 200 --cases "orders: append" "orders: from files"
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import paimon_core
from benchmarks.processes import Processes, Seconds
from paimon_core import Table
from paimon_core.spark import compact_spark, read_spark, write_files_spark, write_spark

KEYS = {"orders": ["o_orderkey"], "lineitem": ["l_orderkey", "l_linenumber"]}
PARTITIONS = 1_000
"""The number of partitions of the table of many small buckets."""


@dataclass
class Lake:
    """The files of TPC-H, and new tables for their rows."""

    folder: Path
    spark: SparkSession
    count: int = 0
    kept: dict[str, Table] = field(default_factory=dict)
    """The tables that several cases use."""

    def source(self, name: str) -> str:
        """Return the path of the Parquet file of a table of TPC-H."""
        return str(self.folder / f"{name}.parquet")

    def frame(self, name: str) -> DataFrame:
        """Return the rows of a table of TPC-H."""
        return self.spark.read.parquet(self.source(name))

    def table(self, name: str, *, keyed: bool = True, buckets: int = 4) -> Table:
        """Create a table for the rows of a table of TPC-H."""
        key = KEYS[name] if keyed else []
        schema = pa.schema([_column(f, f.name in key) for f in pq.read_schema(self.source(name))])
        self.count += 1
        catalog = paimon_core.open_catalog(str(self.folder / "lake"))
        catalog.create_database("db", ignore_if_exists=True)
        options = {"bucket": str(buckets)} if keyed else {}
        return catalog.create_table(f"db.{name}_{self.count}", schema, primary_key=key, options=options)

    def small_buckets(self) -> Table:
        """Create a table of PARTITIONS partitions of 2 buckets."""
        self.count += 1
        catalog = paimon_core.open_catalog(str(self.folder / "lake"))
        catalog.create_database("db", ignore_if_exists=True)
        fields = [pa.field("part", pa.int32(), nullable=False), pa.field("id", pa.int64(), nullable=False)]
        schema = pa.schema([*fields, ("price", pa.float64()), ("clerk", pa.string())])
        options = {"bucket": "2"}
        name = f"db.small_{self.count}"
        return catalog.create_table(name, schema, primary_key=["part", "id"], partition_by=["part"], options=options)

    def small_rows(self) -> pa.Table:
        """Return the rows of the table of small buckets: every tenth order."""
        rows = pq.read_table(self.source("orders"), columns=["o_orderkey", "o_totalprice", "o_clerk"])
        rows = rows.set_column(2, "o_clerk", rows["o_clerk"].cast(pa.string()))
        rows = rows.take(pa.array(range(0, len(rows), 10)))
        part = np.arange(len(rows), dtype=np.int32) % PARTITIONS
        price = rows["o_totalprice"].cast(pa.float64())
        return pa.table({"part": part, "id": rows["o_orderkey"], "price": price, "clerk": rows["o_clerk"]})


def _column(column: pa.Field, is_key: bool) -> pa.Field:
    kind = pa.string() if column.type == pa.string_view() else column.type
    return pa.field(column.name, kind, nullable=not is_key)


@dataclass(frozen=True)
class Case:
    """One line of the report; ``mark`` is the largest ratio to ``peer`` that is the goal."""

    name: str
    run: Callable[[Lake], object]
    peer: str | None = None
    mark: float | None = None


def plain_parquet(name: str) -> Callable[[Lake], object]:
    """Write the rows with Spark to plain Parquet files."""

    def run(lake: Lake) -> None:
        target = str(lake.folder / "plain")
        lake.frame(name).write.parquet(target, mode="overwrite")

    return run


def library_alone(name: str) -> Callable[[Lake], object]:
    """Write the rows in this process."""

    def run(lake: Lake) -> object:
        file = pq.ParquetFile(lake.source(name))
        return lake.table(name).write(pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches()))

    return run


def upsert(name: str) -> Callable[[Lake], object]:
    """Write every tenth row again, into a table that has all rows."""

    def run(lake: Lake) -> object:
        if name not in lake.kept:
            lake.kept[name] = lake.table(name)
            write_files_spark(lake.spark, lake.kept[name], lake.source(name), "parquet")
            return None
        rows = lake.frame(name).where(F.col(KEYS[name][0]) % 10 == 0)
        return write_spark(rows, lake.kept[name])

    return run


def small_by_library(lake: Lake) -> None:
    """Write, read and compact the table of small buckets in this process."""
    table, rows = lake.small_buckets(), lake.small_rows()
    table.write(rows)
    table.scan().to_arrow()
    table.compact(full=True)


def small_by_spark(lake: Lake) -> None:
    """Write, read and compact the table of small buckets with Spark."""
    table = lake.small_buckets()
    source = str(lake.folder / "small.parquet")
    if not Path(source).exists():
        pq.write_table(lake.small_rows(), source)
    write_spark(lake.spark.read.parquet(source), table)
    read_spark(lake.spark, table).write.format("noop").mode("overwrite").save()
    compact_spark(lake.spark, table, full=True)


def write_cases(name: str) -> list[Case]:
    """Return the cases of writes of a table of TPC-H."""
    plain = f"{name}: plain Parquet through Spark"

    def files(lake: Lake) -> object:
        return write_files_spark(lake.spark, lake.table(name), lake.source(name), "parquet")

    return [
        Case(plain, plain_parquet(name)),
        Case(f"{name}: library alone", library_alone(name), plain),
        Case(f"{name}: from files", files, plain, 0.7),
        Case(f"{name}: from a DataFrame", lambda lake: write_spark(lake.frame(name), lake.table(name)), plain, 1.3),
        Case(f"{name}: append", lambda lake: write_spark(lake.frame(name), lake.table(name, keyed=False)), plain, 1.0),
        Case(f"{name}: upsert of 10 %", upsert(name), f"{name}: from a DataFrame", 0.2),
    ]


CASES = [
    *write_cases("orders"),
    *write_cases("lineitem"),
    Case("small buckets: library alone", small_by_library),
    Case("small buckets: written, read, compacted", small_by_spark, "small buckets: library alone", 1.5),
]
"""All cases. Cases of reads and of merges are added here."""


def report(lake: Lake, cases: list[Case], partitions: str, repeats: int) -> None:
    """Run the cases in turns and print the smallest seconds of each."""
    lake.spark.conf.set("spark.sql.shuffle.partitions", partitions)
    processes = Processes()
    found: dict[str, Seconds] = {}
    for repeat in range(repeats + 1):  # the first round warms up
        for case in cases:
            start = processes.used()
            case.run(lake)
            spent = processes.used().since(start)
            if repeat and (case.name not in found or spent.total < found[case.name].total):
                found[case.name] = spent
    print(f"\nshuffle partitions {partitions:30}{'JVM':>9}{'workers':>9}{'driver':>9}{'total':>9}{'ratio':>9}  mark")
    for case in cases:
        spent = found[case.name]
        cells = "".join(f"{value:9.2f}" for value in (*spent, spent.total))
        ratio = f"{spent.total / found[case.peer].total:9.2f}" if case.peer in found else " " * 9
        print(f"{case.name:49}{cells}{ratio}  {'' if case.mark is None else case.mark}", flush=True)


def generated(folder: Path, scale: float, names: Iterable[str]) -> None:
    """Generate the tables of TPC-H as Parquet files."""
    program = Path(sys.executable).with_name("tpchgen-cli")
    tables = ",".join(names)
    subprocess.run(
        [str(program), "parquet", "-q", "-s", f"{scale:g}", f"--tables={tables}", f"--output-dir={folder}"], check=True
    )


@contextlib.contextmanager
def started(folder: Path) -> Iterator[SparkSession]:
    """Start a session with two cores, whose workers start with this package imported."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.session.timeZone": "UTC",
        "spark.python.daemon.module": "paimon_core.spark.daemon",
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    }
    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--partitions", nargs="+", default=["4", "200"])
    parser.add_argument("--cases", nargs="+", metavar="CASE", help="the beginnings of the names of the cases to run")
    args = parser.parse_args()
    cases = [c for c in CASES if not args.cases or any(c.name.startswith(name) for name in args.cases)]
    if not cases:
        parser.error("no case has such a name; the cases are: " + "; ".join(c.name for c in CASES))
    folder = Path(tempfile.mkdtemp(prefix="spark-benchmark-"))
    try:
        generated(folder, args.scale, KEYS)
        with started(folder) as spark:
            lake, processes = Lake(folder, spark), Processes()
            start = processes.used()
            write_spark(lake.frame("orders"), lake.table("orders"))
            first = processes.used().since(start)
            print(
                f"first write of the session, orders from a DataFrame: {first.total:.2f} s (mark: 2 warm writes + 4 s)"
            )
            for partitions in args.partitions:
                report(lake, cases, partitions, args.repeats)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
