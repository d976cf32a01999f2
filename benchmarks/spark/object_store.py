"""Object store: a compacted table on S3, read by this library's choice of readers and by Spark's own Parquet reader.

``python -m benchmarks.spark.object_store --scale 0.1 --repeats 3`` starts moto as the server. The session needs
Hadoop's connector: the package ``org.apache.hadoop:hadoop-aws``, or its jars in ``--jars``. The same files are also
read by Python tasks, as in a session without the connector. Processor seconds do not have those of the server.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import paimon_core
from benchmarks.processes import Processes
from benchmarks.spark.case import Case
from benchmarks.spark.lake import KEYS, Lake, generated
from benchmarks.spark.measuring import run
from benchmarks.spark.reads import GROUPS, TWO, consumed
from benchmarks.spark.session import started
from paimon_core import Table
from paimon_core.spark import read_spark
from paimon_core.spark.reads.hadoop import place_of
from tests.support.object_servers import S3_OPTIONS, make_bucket, s3_server

PACKAGE = "org.apache.hadoop:hadoop-aws:{}"


def compacted(lake: Lake, name: str, endpoint: str) -> Table:
    """Write a table of TPC-H with 4 buckets to the server, and compact it."""
    options = {**S3_OPTIONS, "s3.endpoint": endpoint, "s3.path.style.access": "true"}
    catalog = paimon_core.open_catalog("s3://lake/w", storage=options)
    catalog.create_database("db", ignore_if_exists=True)
    table = catalog.create_table(
        f"db.{name}", lake.schema(name), primary_key=KEYS[name], options={"bucket": "4", "write-only": "true"}
    )
    table.write(lake.rows(name))
    table.compact(full=True)
    return table


def cases(spark: SparkSession, name: str, table: Table) -> list[Case]:
    """Return the cases of a table: Spark's reader on its files, our read, and our read in Python tasks only."""
    frame = read_spark(spark, table)
    place, files = place_of(spark, table.context.storage), frame.inputFiles()
    if place is None or not files:
        raise SystemExit("the session lacks Hadoop's connector: nothing to compare")

    def plain() -> DataFrame:
        return spark.read.schema(frame.schema).options(**place.options).parquet(*files)

    def in_tasks(columns: list[str] | None) -> DataFrame:
        with patch("paimon_core.spark.reads.reader.place_of", lambda *_: None):  # as without the connector
            return read_spark(spark, table, columns)

    def summed(rows: DataFrame) -> object:
        return rows.groupBy(GROUPS[name]).agg(F.sum(TWO[name][1])).collect()

    two = [GROUPS[name], TWO[name][1]]
    reads: list[tuple[str, Callable[[], object]]] = [
        ("Spark's Parquet reader, all columns", lambda: consumed(plain())),
        ("read_spark, all columns", lambda: consumed(read_spark(spark, table))),
        ("Python tasks, all columns", lambda: consumed(in_tasks(None))),
        ("Spark's Parquet reader, sum by group", lambda: summed(plain())),
        ("read_spark, sum by group", lambda: summed(read_spark(spark, table))),
        ("Python tasks, sum by group", lambda: summed(in_tasks(two))),
    ]

    def case(what: str, read: Callable[[], object]) -> Case:
        return Case(f"{name} on S3: {what}", lambda _: read())

    return [case(*read) for read in reads]


def main() -> None:
    """Measure in turns and print the best run of each case."""
    parser = argparse.ArgumentParser(prog="benchmarks.spark.object_store", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jars", help="the jars of Hadoop's connector, with commas; default: the package")
    parser.add_argument(
        "--package", default=PACKAGE.format("3.5.0"), help="the version must be Hadoop's in the session"
    )
    args = parser.parse_args()
    jars = {"spark.jars": args.jars} if args.jars else {"spark.jars.packages": args.package}
    with tempfile.TemporaryDirectory(prefix="spark-s3-") as own, s3_server() as endpoint:
        folder = Path(own)
        generated(folder, args.scale)
        make_bucket(endpoint, "lake")
        with started(folder, settings=jars) as spark:
            lake, processes = Lake(folder, spark, args.scale, args.repeats), Processes()
            found = [case for name in KEYS for case in cases(spark, name, compacted(lake, name, endpoint))]
            best: dict[str, float] = {}
            for repeat in range(args.repeats + 1):
                for case in found:
                    seconds = run(lake, case, processes).seconds.total
                    if repeat:
                        best[case.name] = min(seconds, best.get(case.name, seconds))
            for what, seconds in best.items():
                print(f"{what}: {seconds:.2f} s")


if __name__ == "__main__":
    main()
