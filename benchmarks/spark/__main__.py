"""Measure Spark jobs on the rows of TPC-H, beside plain Parquet through Spark and this library alone.

Each case runs ``--repeats`` times, in turns with the other cases, after one round that warms up, and the best run
counts. ``--partitions`` are values of ``spark.sql.shuffle.partitions``; ``default`` is Spark's. With ``--output``, a
table (``spark.md``), a picture (``spark.svg``) and the numbers (``spark.json``) are written to a folder; a later run
with other ``--cases`` and the same folder completes them.

    python -m benchmarks.spark --scale 0.1 --repeats 2 --partitions 4 200 --cases "orders: append" "merge"
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks.spark.case import Case
from benchmarks.spark.cases import CASES, chosen
from benchmarks.spark.lake import Lake, generated
from benchmarks.spark.measuring import measured
from benchmarks.spark.report import text, write
from benchmarks.spark.results import Results
from benchmarks.spark.session import started

SETTING = "spark.sql.shuffle.partitions"


def measure(folder: Path, args: argparse.Namespace, cases: list[Case], results: Results) -> None:
    """Measure the cases with each number of shuffle partitions; print their lines and write the results."""
    with started(folder) as spark:
        lake = Lake(folder, spark, args.scale, args.repeats)
        default, done = spark.conf.get(SETTING), set[str]()
        for name in args.partitions:
            partitions = str(default if name == "default" else name)
            if partitions in done:
                print(f"\nshuffle partitions {name}: {partitions}, see above")
                continue
            spark.conf.set(SETTING, partitions)
            some = [case for case in cases if not (done and case.once)]
            results.add(partitions, measured(lake, some, args.repeats))
            done.add(partitions)
            print("\n" + text(results, partitions, some), flush=True)
            if args.output is not None:
                write(results, CASES, args.output)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.spark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--partitions", nargs="+", default=["4", "200", "default"])
    parser.add_argument("--cases", nargs="+", metavar="CASE", help="the beginnings of names; peers are measured too")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where the table and the picture are written")
    args = parser.parse_args()
    cases = chosen(args.cases)
    if not cases:
        parser.error("no case has such a name; the cases are: " + "; ".join(c.name for c in CASES))
    if args.repeats < 1:
        parser.error(f"--repeats must be at least 1, not {args.repeats}")
    if wrong := [name for name in args.partitions if name != "default" and not (name.isdigit() and int(name))]:
        parser.error(f"--partitions must be whole numbers from 1 on, or default, not {wrong[0]!r}")
    results = Results(args.scale)
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
        try:
            results = Results.load(args.output, args.scale)
        except ValueError as error:
            parser.error(str(error))
    folder = Path(tempfile.mkdtemp(prefix="spark-benchmark-"))
    try:
        generated(folder, args.scale)
        measure(folder, args, cases, results)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
