"""Processor time of merge on read beside decoding the same files, for tables of several widths and numbers of runs.

Each shape is a table in a temporary folder: upserts whose keys are drawn from twice the rows of a batch, 2 buckets, not
compacted. Per shape, each measure beside pyarrow decoding the columns that it has to decode from the same files (key,
sequence number, kind and what is asked for), its page checksums verified as ours are (``--unverified``: not):

merged      every column
projected   one value column
filtered    every column, of the rows that satisfy a predicate on a value column, about one in a hundred
both        one value column of the rows that satisfy the predicate

The measures take turns. Each figure is the median, in milliseconds of processor time, user|system.
``python -m benchmarks.merge_shapes --columns 2 8 --runs 5``
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
    """What ``work`` took of this process, all threads, its result freed."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return Cost(after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, after.ru_minflt - before.ru_minflt)


# -- tables ------------------------------------------------------------------------------------------------------------


def batch(k: int, rows: int, columns: int, *, sparse: bool) -> pa.Table:
    """Batch ``k``: the first columns of the workload, which repeat under other names where that is too few."""
    held = workload.batch(k, rows, 2 * rows)
    made = {"id": held["id"]}
    if sparse:
        keys = workload.mix(held["id"].to_numpy().astype(np.uint64)) >> np.uint64(1)
        made["id"] = pa.chunked_array([pa.array(keys.astype(np.int64))])
    names = ["b", "a", "c", "d", "name", "city", "ts"]
    for number in range(columns - 1):
        name = names[number % len(names)]
        made[name if number < len(names) else f"{name}{number}"] = held[name]
    schema = pa.schema([pa.field(name, column.type, nullable=name != "id") for name, column in made.items()])
    return pa.table(list(made.values()), schema=schema)


def filled(folder: Path, columns: int, runs: int, rows: int, *, sparse: bool) -> paimon_core.Table:
    """A table of ``runs`` commits with ``rows`` rows in total."""
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
    """A read, and the decoding that it cannot do without."""

    name: str
    read: Callable[[], object]
    decode: Callable[[], object]


def decoding(
    files: Sequence[Path], asked: Sequence[str], where: pc.Expression | None, *, verify: bool
) -> Callable[[], object]:
    """Whole files by one thread of pyarrow each, as many at a time as there are processors; all rows are kept."""
    names = list(dict.fromkeys([*MERGE_COLUMNS, *asked]))

    def whole(file: Path) -> pa.Table:
        table = pq.ParquetFile(file, page_checksum_verification=verify).read(names, use_threads=False)
        return table if where is None else table.filter(where)

    def work() -> object:
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(whole, files))

    return work


def measures(table: paimon_core.Table, files: Sequence[Path], *, verify: bool) -> Iterator[Measure]:
    """``b`` lies evenly between 0 and 2 ** 56."""
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
    """One line: both sides, the ratio of the medians and of the least, and the page faults."""
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
    parser.add_argument("--rows", type=int, default=2_000_000, help="of all runs; a fifth of it for wide tables")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sparse", action="store_true", help="keys spread over 63 bits, not the numbers from 0")
    parser.add_argument("--unverified", action="store_true", help="decoding alone does not verify page checksums")
    parser.add_argument("--only", nargs="*", default=None, help="the measures, all by default")
    parser.add_argument("--folder", default=None, help="where the temporary warehouses are made")
    return parser.parse_args()


def main() -> int:
    words = arguments()
    print(f"{'columns, runs':18}{'':11}{'decoding alone':>16}{'ours':>16}{'ratio':>7}{'least':>7}{'faults':>20}")
    for columns in words.columns:
        rows = words.rows if columns <= FEW_COLUMNS else words.rows // WIDE_SHARE
        for runs in words.runs:
            with tempfile.TemporaryDirectory(prefix="paimon-shapes-", dir=words.folder) as folder:
                table = filled(Path(folder), columns, runs, rows, sparse=words.sparse)
                files = sorted(Path(folder, "db.db", "t").rglob("*.parquet"))
                for measure in measures(table, files, verify=not words.unverified):
                    if words.only is None or measure.name in words.only:
                        report(f"{columns}, {runs}", measure, words.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
