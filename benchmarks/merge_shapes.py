"""Processor time of merge on read next to decoding the same files, for several table widths and numbers of runs.

Each shape is a table in a temporary folder: upserts whose keys are drawn from twice the rows of a batch, 2 buckets, not
compacted. Each measure is compared with pyarrow decoding the columns that the read needs from the same files (key,
sequence number, kind and the requested columns). pyarrow verifies page checksums, as paimon_core does (not with
``--unverified``).

merged      every column
projected   one value column
filtered    every column, of the rows that satisfy a predicate on a value column, about one in a hundred
both        one value column of the rows that satisfy the predicate

The two sides alternate. Each figure is the median, in milliseconds of processor time, user|system. ``python -m
benchmarks.merge_shapes --columns 2 8 --runs 5``
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import paimon_core
from benchmarks import workload
from paimon_core import col

BUCKETS = 2
OPTIONS = {"bucket": str(BUCKETS), "write-only": "true"}
MERGE_COLUMNS = ("id", "_SEQUENCE_NUMBER", "_VALUE_KIND")
FEW_COLUMNS = 8
WIDE_SHARE = 5
"""A table of more than FEW_COLUMNS columns has a fifth of the rows."""
ONE_IN = 100


@dataclass(frozen=True)
class Cost:
    """Processor seconds and page faults of one call."""

    user: float
    system: float
    faults: int

    @property
    def total(self) -> float:
        return self.user + self.system


def cost(work: Callable[[], object]) -> Cost:
    """Return the cost of ``work`` in this process, over all threads, including freeing its result."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return Cost(after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, after.ru_minflt - before.ru_minflt)


# -- tables ------------------------------------------------------------------------------------------------------------


def batch(k: int, rows: int, columns: int, *, sparse: bool) -> pa.Table:
    """Return batch ``k``: the first columns of the workload, repeated under other names if there are too few."""
    source = workload.batch(k, rows, 2 * rows)
    made = {"id": source["id"]}
    if sparse:
        keys = workload.mix(source["id"].to_numpy().astype(np.uint64)) >> np.uint64(1)
        made["id"] = pa.chunked_array([pa.array(keys.astype(np.int64))])
    names = ["b", "a", "c", "d", "name", "city", "ts"]
    for number in range(columns - 1):
        name = names[number % len(names)]
        made[name if number < len(names) else f"{name}{number}"] = source[name]
    schema = pa.schema([pa.field(name, column.type, nullable=name != "id") for name, column in made.items()])
    return pa.table(list(made.values()), schema=schema)


def filled(folder: Path, columns: int, runs: int, rows: int, *, sparse: bool) -> paimon_core.Table:
    """Create a table of ``runs`` commits with ``rows`` rows in total."""
    catalog = paimon_core.open_catalog(str(folder))
    catalog.create_database("db", ignore_if_exists=True)
    first = batch(0, rows // runs, columns, sparse=sparse)
    table = catalog.create_table("db.t", first.schema, primary_key=["id"], options=OPTIONS)
    for k in range(runs):
        table.write(batch(k, rows // runs, columns, sparse=sparse))
    return table


# -- measures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """A read, and the decoding that it needs in any case."""

    name: str
    read: Callable[[], object]
    decode: Callable[[], object]


def decoding(
    files: Sequence[Path], asked: Sequence[str], where: pc.Expression | None, *, verify: bool
) -> Callable[[], object]:
    """Return a function that decodes whole files, each in one thread, one per processor; all rows are kept."""
    names = list(dict.fromkeys([*MERGE_COLUMNS, *asked]))

    def whole(file: Path) -> pa.Table:
        table = pq.ParquetFile(file, page_checksum_verification=verify).read(names, use_threads=False)
        return table if where is None else table.filter(where)

    def work() -> object:
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(whole, files))

    return work


def measures(table: paimon_core.Table, files: Sequence[Path], *, verify: bool) -> Iterator[Measure]:
    """Yield the measures of a table; the values of ``b`` are evenly distributed from 0 to 2 ** 56."""
    names = table.schema.names
    few = (1 << 56) // ONE_IN
    selective, condition = col("b") < few, pc.field("b") < few
    shown = names[-1]

    def alone(asked: Sequence[str], where: pc.Expression | None = None) -> Callable[[], object]:
        return decoding(files, asked, where, verify=verify)

    yield Measure("merged", lambda: table.scan().to_arrow(), alone(names))
    yield Measure("projected", lambda: table.scan([shown]).to_arrow(), alone([shown]))
    yield Measure("filtered", lambda: table.scan(where=selective).to_arrow(), alone(names, condition))
    yield Measure("both", lambda: table.scan([shown], where=selective).to_arrow(), alone(["b", shown], condition))


def times(costs: Sequence[Cost]) -> str:
    user, system = median(c.user for c in costs), median(c.system for c in costs)
    return f"{user * 1000:9.0f}|{system * 1000:<6.0f}"


def report(shape: str, measure: Measure, repeats: int) -> None:
    """Print one line: both sides, the ratio of the medians and of the minima, and the page faults."""
    measure.read()
    measure.decode()
    ours: list[Cost] = []
    alone: list[Cost] = []
    for _ in range(repeats):
        alone.append(cost(measure.decode))
        ours.append(cost(measure.read))
    middle = median(c.total for c in ours) / median(c.total for c in alone)
    least = min(c.total for c in ours) / min(c.total for c in alone)
    faults = f"{median(c.faults for c in alone):10,.0f}{median(c.faults for c in ours):10,.0f}"
    print(f"{shape:18}{measure.name:11}{times(alone)}{times(ours)}{middle:7.2f}{least:7.2f}{faults}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.merge_shapes", description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, nargs="+", default=[2, 8, 100])
    parser.add_argument("--runs", type=int, nargs="+", default=[2, 5, 20])
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of all runs; a fifth of them for wide tables")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sparse", action="store_true", help="keys spread over 63 bits instead of the numbers from 0")
    parser.add_argument("--unverified", action="store_true", help="decoding alone does not verify page checksums")
    parser.add_argument("--only", nargs="*", default=None, help="the measures, all by default")
    parser.add_argument("--folder", default=None, help="folder for the temporary warehouses")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    print(f"{'columns, runs':18}{'':11}{'decoding alone':>16}{'ours':>16}{'ratio':>7}{'least':>7}{'faults':>20}")
    for columns in args.columns:
        rows = args.rows if columns <= FEW_COLUMNS else args.rows // WIDE_SHARE
        for runs in args.runs:
            with tempfile.TemporaryDirectory(prefix="paimon-shapes-", dir=args.folder) as folder:
                table = filled(Path(folder), columns, runs, rows, sparse=args.sparse)
                files = sorted(Path(folder, "db.db", "t").rglob("*.parquet"))
                for measure in measures(table, files, verify=not args.unverified):
                    if args.only is None or measure.name in args.only:
                        report(f"{columns}, {runs}", measure, args.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
