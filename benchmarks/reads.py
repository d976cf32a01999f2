"""Processor time of queries, beside Java Paimon and pypaimon, on the same tables with equal rows and checksums.

spread   an append table of which each file has keys of the whole range, so that no file can be left out
sorted   an append table of the same rows, sorted by key
merged   a primary-key table of which all files must be merged

Each query is run by a new catalog. "first" of this library is without any kept footer or manifest, "warm" is the median
of the other runs. The processor time of all threads is counted. Java and pypaimon have no count or extreme: they read
the column. ``python -m benchmarks.reads --rows 100000 --batches 20``
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any

import pyarrow as pa

import paimon_core
from benchmarks import workload
from benchmarks.indexes import spent
from benchmarks.java_side import JavaSide
from benchmarks.peers import run_queries
from paimon_core import Predicate, Table, col
from paimon_core.datafile.parquet import checked_footer

REPEATS = 5
BLOOM = {"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.items": "100000"}


@dataclass(frozen=True)
class Query:
    """One line of the report; ``columns`` None: all."""

    name: str
    table: str
    columns: tuple[str, ...] | None = None
    keys: tuple[int, int] | None = None
    limit: int = 0
    answer: Callable[[Any], object] | None = None
    """What to call on our scan instead of reading the rows that others read."""

    def where(self) -> Predicate | None:
        """Return the filter."""
        return None if self.keys is None else (col("id") >= self.keys[0]) & (col("id") <= self.keys[1])

    def run(self, folder: str) -> Any:
        """Run the query with this library."""
        table = paimon_core.open_catalog(folder).table(f"db.{self.table}")
        columns = None if self.columns is None else list(self.columns)
        scan = table.scan(columns, self.where(), limit=self.limit or None)
        return scan.to_arrow() if self.answer is None else self.answer(scan)


def queries(keys: int, key: int) -> list[Query]:
    """Return the queries; ``key`` exists."""
    few = (keys // 3, keys // 3 + keys // 100)
    out = []
    for table in ("spread", "sorted", "merged"):
        out += [
            Query("all columns", table),
            Query("two columns", table, ("id", "city")),
            Query("all columns, 1% of the keys", table, None, few),
            Query("one key", table, None, (key, key)),
            Query("first 10 rows", table, None, None, 10),
            Query("count", table, ("id",), answer=lambda scan: scan.count()),
            Query("max of a column", table, ("b",), answer=lambda scan: scan.max("b")),
            Query("first 10 rows by a column", table, None, answer=lambda scan: scan.top(10, by="b")),
        ]
    return [*out, Query("one key, bloom filter", "bloom", None, (key, key))]


def fill(folder: str, rows: int, batches: int, keys: int) -> int:
    """Create and fill the tables; return a key that exists."""
    catalog = paimon_core.open_catalog(folder)
    catalog.create_database("db")
    parts = [workload.batch(k, rows, keys) for k in range(batches)]
    whole = pa.concat_tables(parts).sort_by("id")
    only = {"write-only": "true"}
    merged = {**only, "bucket": "2"}

    def table(name: str, **more: Any) -> Table:
        return catalog.create_table(f"db.{name}", workload.SCHEMA, **more)

    tables = {
        "spread": (table("spread", options=only), parts),
        "sorted": (table("sorted", options=only), [whole.slice(k * rows, rows) for k in range(batches)]),
        "bloom": (table("bloom", options={**only, **BLOOM}), parts),
        "merged": (table("merged", primary_key=["id"], options=merged), parts[:5]),
    }
    for opened, written in tables.values():
        for part in written:
            opened.write(part)
    return int(parts[0]["id"][0].as_py())


def measure(folder: str, query: Query) -> tuple[Any, float, float]:
    """Return the answer, the seconds of the first run and the seconds of a warm run."""
    checked_footer.forget()
    found: list[Any] = []
    first = spent(lambda: found.append(query.run(folder)))
    return found[0], first, median(spent(lambda: query.run(folder)) for _ in range(REPEATS))


def report(folder: str, asked: list[Query], java: JavaSide | None, *, peers: bool) -> None:
    """Measure and print, and check that all sides return the same rows."""
    columns = [None if q.columns is None else list(q.columns) for q in asked]
    ranges = [q.keys or (None, None) for q in asked]
    theirs: list[dict[str, Any] | None] = [None] * len(asked)
    if peers:
        lists = [[q.table, c, *r, q.limit, 3] for q, c, r in zip(asked, columns, ranges, strict=True)]
        theirs = list(run_queries(folder, lists))
    print(f"{'processor seconds':46}{'first':>9}{'warm':>9}{'Java 1st':>9}{'warm':>9}{'pypaimon':>9}{'warm':>9}")
    for query, names, keys, peer in zip(asked, columns, ranges, theirs, strict=True):
        answer, first, warm = measure(folder, query)
        cells = [f"{first:9.4f}{warm:9.4f}"]
        low, high = ("-", "-") if keys[0] is None else keys
        sides = []
        if java is not None:
            runs = java.run("query", folder, query.table, ",".join(names or ["*"]), low, high, query.limit, 2 * REPEATS)
            sides.append(runs[-1])
            cells.append(f"{runs[0]['seconds']:9.4f}{median(run['seconds'] for run in runs[REPEATS:]):9.4f}")
        if peer is not None:
            sides.append(peer)
            cells.append(f"{peer['seconds'][0]:9.4f}{median(peer['seconds'][1:]):9.4f}")
        for side in sides:
            if isinstance(answer, pa.Table) and query.answer is None:
                assert side["rows"] == len(answer), f"{query}: {side['rows']} rows, ours are {len(answer)}"
                equal = query.limit or side["checksum"] == workload.checksum_of(answer)
                assert equal, f"{query}: the rows of {side} differ from ours"
            elif isinstance(answer, int) and query.name == "count":
                assert side["rows"] == answer, f"{query}: {side['rows']} rows, ours are {answer}"
        print(f"{query.table + ': ' + query.name:46}{''.join(cells)}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--skip-java", action="store_true")
    parser.add_argument("--skip-peers", action="store_true")
    args = parser.parse_args()
    keys = args.rows * args.batches
    with tempfile.TemporaryDirectory() as folder, nullcontext() if args.skip_java else closing(JavaSide()) as java:
        key = fill(folder, args.rows, args.batches, keys)
        report(folder, queries(keys, key), java, peers=not args.skip_peers)


if __name__ == "__main__":
    main()
