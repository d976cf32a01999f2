"""Processor time of merges, compactions and writes beside their limits, for many shapes of tables.

Each shape is a table in a temporary folder: upserts whose keys are drawn from twice the rows of a run, 2 buckets, not
compacted. ``benchmarks.shape_tables`` has the limits: decoding, sorting and encoding with pyarrow.

merged           every column, beside decoding the same columns with key, sequence number and kind
projected        one value column, beside decoding it with key, sequence number and kind
filtered         every column, of the rows that satisfy a predicate on a value column, about one in a hundred
both             one value column of the rows that satisfy the predicate
compaction       a full compaction, beside decoding all columns of the files and encoding the result
full-compaction  the same with this changelog producer, where the first run is in the last level
lookup           the same with the changelog producer lookup
write            one run, beside sorting it by its key and encoding it

The two sides alternate. Each time is the least, in milliseconds of processor time of all threads; "ratio" is the
ratio of the two, and "middle" that of the medians. By default a base shape is changed in one respect at a time;
``--full`` measures every combination of the values. ``python -m benchmarks.merge_shapes --columns 8 --keys uuid``
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.shape_tables import CHANGELOGS, ENGINES, KEYS, Shape, ShapeTable
from paimon_core import col

FEW_COLUMNS = 8
WIDE_SHARE = 5
"""A table of more than FEW_COLUMNS columns has a fifth of the rows."""
ONE_IN = 100
MARKS = {"merged": 1.3, "projected": 1.6, "compaction": 1.15, "full-compaction": 1.4, "lookup": 1.4, "write": 1.1}
"""The ratios that are wanted."""
MEASURES = ("merged", "projected", "filtered", "both", "compaction", *CHANGELOGS, "write")


@dataclass(frozen=True)
class Measure:
    """Work of ours, the limit beside it, and what to do with the result of the work after its time is taken."""

    name: str
    ours: Callable[[], object]
    limit: Callable[[], object]
    after: Callable[..., None] = lambda _: None


def spent(work: Callable[[], object]) -> tuple[float, object]:
    """Return the processor seconds of ``work`` in this process, over all threads, and its result."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    found = work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, found


def reads(of: ShapeTable) -> Iterator[Measure]:
    """Yield the reads; the values of ``b`` are evenly distributed from 0 to 2 ** 56."""
    table, files = of.table, of.files
    names = table.schema.names
    few = (1 << 56) // ONE_IN
    where, condition, shown = col("b") < few, pc.field("b") < few, names[-1]
    yield Measure("merged", lambda: table.scan().to_arrow(), lambda: of.decoding(files, names))
    yield Measure("projected", lambda: table.scan([shown]).to_arrow(), lambda: of.decoding(files, [shown]))
    if "b" in names:
        yield Measure(
            "filtered", lambda: table.scan(where=where).to_arrow(), lambda: of.decoding(files, names, condition)
        )
        yield Measure(
            "both",
            lambda: table.scan([shown], where=where).to_arrow(),
            lambda: of.decoding(files, ["b", shown], condition),
        )


def compaction(name: str, of: ShapeTable) -> Measure:
    """Return the measure of a full compaction."""
    results, files = of.removing(of.compacted), of.files

    def limit() -> None:
        of.decoding(files, None)
        of.encoding(results)

    return Measure(name, of.compacted, limit, of.remove)


def writes(of: ShapeTable) -> Measure:
    """Return the measure of a write."""
    unsorted = [rows.sort_by("_SEQUENCE_NUMBER") for rows in of.removing(of.written)]
    return Measure("write", of.written, lambda: of.encoding(unsorted, ordered=False), of.remove)


def measures(shape: Shape, folder: Path, asked: Sequence[str]) -> Iterator[Measure]:
    """Yield the measures of ``asked`` that the shape has; tables are created in ``folder`` when they are needed."""
    plain = ShapeTable(shape, shape.filled(folder, "t"), folder)
    yield from (measure for measure in reads(plain) if measure.name in asked)
    if "compaction" in asked:
        yield compaction("compaction", plain)
    for producer in CHANGELOGS:
        if producer in asked:
            name = producer.replace("-", "_")
            yield compaction(producer, ShapeTable(shape, shape.filled(folder, name, changelog=producer), folder))
    if "write" in asked:
        yield writes(plain)


def report(shape: Shape, measure: Measure, repeats: int) -> None:
    """Print one line: the least time of both sides, the ratios, and the mark when it is missed."""
    measure.after(measure.ours())
    measure.limit()
    ours: list[float] = []
    limits: list[float] = []
    for _ in range(repeats):
        limits.append(spent(measure.limit)[0])
        seconds, found = spent(measure.ours)
        ours.append(seconds)
        measure.after(found)
        del found
    ratio, middle = min(ours) / min(limits), median(ours) / median(limits)
    mark = MARKS.get(measure.name)
    missed = f"  above {mark}" if mark is not None and ratio > mark else ""
    what = f"{shape.engine:23}{shape.key:11}{shape.columns:5}{shape.runs:5} {measure.name:16}"
    print(f"{what}{min(limits) * 1000:9.1f}{min(ours) * 1000:9.1f}{ratio:8.2f}{middle:8.2f}{missed}", flush=True)
    pa.default_memory_pool().release_unused()


def shapes(args: argparse.Namespace) -> list[Shape]:
    """Return the shapes to measure, without repeats."""
    first = (args.engines[0], args.keys[0], args.columns[0], args.runs[0])
    lists = [args.engines, args.keys, args.columns, args.runs]
    every = itertools.product(*lists)
    alone = ((*first[:at], value, *first[at + 1 :]) for at, values in enumerate(lists) for value in values)
    return [
        Shape(engine, key, columns, runs, args.rows if columns <= FEW_COLUMNS else args.rows // WIDE_SHARE)
        for engine, key, columns, runs in dict.fromkeys(every if args.full else alone)
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks.merge_shapes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--keys", nargs="+", default=list(KEYS), choices=list(KEYS))
    parser.add_argument("--columns", type=int, nargs="+", default=[8, 2, 100], help="with the key columns")
    parser.add_argument("--runs", type=int, nargs="+", default=[5, 2, 20])
    parser.add_argument("--full", action="store_true", help="every combination, not one change of the first values")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of all runs; a fifth of them for wide tables")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=list(MEASURES), choices=MEASURES, help="the measures")
    parser.add_argument("--folder", default=None, help="folder for the temporary warehouses")
    args = parser.parse_args()
    if args.repeats < 1 or args.rows < max(args.runs):
        parser.error(f"--repeats must be 1 or more, and --rows at least the number of runs, not {args.rows}")
    if min(args.columns) < 2:
        parser.error(f"--columns must be 2 or more, not {min(args.columns)}")
    return args


def main() -> int:
    args = arguments()
    head = f"{'engine':23}{'key':11}{'cols':>5}{'runs':>5} {'measure':16}"
    print(f"{head}{'limit':>9}{'ours':>9}{'ratio':>8}{'middle':>8}")
    for shape in shapes(args):
        with tempfile.TemporaryDirectory(prefix="paimon-shapes-", dir=args.folder) as folder:
            for measure in measures(shape, Path(folder), args.only):
                report(shape, measure, args.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
