"""Forecasts of maintenance beside what really happened, on random tables: bytes, seconds and peak memory.

Each run fills a random table (keys, columns, buckets, partitions, merge engine, updates, deletes, file format) in this
process and maintains it in a new process, in several rounds with commits between them. The first round knows nothing
of the table; later rounds learn from the log. ``python -m benchmarks.forecast --runs 100`` prints one line for each
round and a summary; the exit code is 1 when a later round misses 10 % of the bytes, or a peak exceeds its forecast.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import paimon_core

MOST_ERROR = 0.1


@dataclass
class RandomTable:
    """A random table and the rows that its commits write."""

    random: np.random.Generator
    kind: str
    keys: int
    rows: int
    commits: int
    width: int

    @staticmethod
    def of(seed: int, most_rows: int) -> RandomTable:
        """Return the table of a seed, whose commits have at most about ``most_rows`` rows."""
        random = np.random.default_rng(seed)
        kind = str(random.choice(["number", "text", "two", "append", "parts"]))
        rows = int(10 ** random.uniform(3, np.log10(most_rows)))
        keys = int(rows * 10 ** random.uniform(0, 1.5))
        return RandomTable(random, kind, keys, rows, int(random.integers(2, 9)), int(random.integers(4, 200)))

    def create(self, catalog: Any) -> Any:
        """Create the table ``db.t``."""
        engine = str(self.random.choice(["deduplicate", "partial-update", "aggregation"]))
        options = {
            "bucket": "-1" if self.kind == "append" else str(self.random.integers(1, 4)),
            "write-only": "true",
            "file.format": str(self.random.choice(["parquet", "parquet", "orc"])),
        }
        if self.kind != "append":
            options["merge-engine"] = engine
        if engine == "aggregation" and self.kind != "append":
            options |= {"fields.v.aggregate-function": "sum", "fields.w.aggregate-function": "last_value"}
        key = {"number": ["id"], "text": ["name"], "two": ["id", "name"], "append": [], "parts": ["day", "id"]}
        return catalog.create_table(
            "db.t",
            "id BIGINT NOT NULL, name STRING NOT NULL, day INT NOT NULL, v BIGINT, w STRING",
            primary_key=key[self.kind],
            partition_by=["day"] if self.kind == "parts" else [],
            options=options,
        )

    def batch(self) -> pa.Table:
        """Return the rows of one commit: random keys, texts of one width."""
        count = int(self.rows * self.random.uniform(0.5, 1.5))
        ids = self.random.choice(self.keys, min(count, self.keys), replace=False)
        words = self.random.integers(0, 1 << 30, len(ids))
        return pa.table(
            {
                "id": ids,
                "name": [f"{n:012}" for n in ids],
                "day": (ids % 3).astype(np.int32),
                "v": words,
                "w": [f"{word:x}".ljust(self.width, "-")[: self.width] for word in words],
            }
        )


def maintained(folder: str) -> dict[str, Any]:
    """Do one round in this process and return the sums of the forecasts and of the outcomes."""
    catalog = paimon_core.open_catalog(folder)
    report = catalog.table("db.t").maintain(actions=["compact"], log=catalog.maintenance_log())
    assert not report.failed, report.text()
    done = report.outcomes
    return {
        "bytes": sum(o.bytes_read + o.bytes_written for o in done),
        "predicted_bytes": sum(o.candidate.bytes_read + o.candidate.bytes_written for o in done),
        "seconds": sum(o.seconds for o in done),
        "predicted_seconds": sum(o.candidate.seconds for o in done),
        "peak": max((o.peak_memory or 0 for o in done), default=0),
        "predicted_peak": max((o.group_peak_memory or 0 for o in done), default=0),
    }


def play(seed: int, rounds: int, most_rows: int) -> list[dict[str, Any]]:
    """Fill and maintain one random table; return the numbers of each round."""
    table = RandomTable.of(seed, most_rows)
    found = []
    with tempfile.TemporaryDirectory(prefix="paimon-forecast-") as folder:
        catalog = paimon_core.open_catalog(folder)
        catalog.create_database("db")
        made = table.create(catalog)
        for _ in range(rounds):
            for _ in range(table.commits):
                made.write(table.batch())
            command = [sys.executable, "-m", "benchmarks.forecast", "--round", folder]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found.append({"kind": table.kind, **json.loads(done.stdout)})
    return found


def error(one: dict[str, Any]) -> float:
    """Return the error of the predicted bytes of a round, relative to the real bytes."""
    return float(one["predicted_bytes"] / one["bytes"] - 1) if one["bytes"] else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.forecast", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of maintenance of each table")
    parser.add_argument("--most-rows", type=int, default=200_000, help="rows of a commit")
    parser.add_argument("--round", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.round:
        print(json.dumps(maintained(args.round)))
        return 0
    cold, warm, over = list[float](), list[float](), 0
    for seed in range(args.first, args.first + args.runs):
        for number, one in enumerate(play(seed, args.rounds, args.most_rows)):
            (warm if number else cold).append(abs(error(one)))
            over += one["peak"] > one["predicted_peak"]
            peaks = f"peak {one['peak'] / 2**20:.0f} of {one['predicted_peak'] / 2**20:.0f} MiB"
            times = f"{one['seconds']:.2f} s of {one['predicted_seconds']:.2f} s"
            size = f"{one['bytes'] / 1e6:8.2f} MB"
            print(f"{seed:4} {number} {one['kind']:7}{size} {error(one):+7.1%}  {peaks}  {times}", flush=True)
    missed = sum(e > MOST_ERROR for e in warm)
    print(f"first rounds: mean error {np.mean(cold):.1%}, largest {max(cold):.1%}")
    worst = max(warm, default=0)
    print(f"later rounds: mean error {np.mean(warm):.1%}, largest {worst:.1%}, {missed} above {MOST_ERROR:.0%}")
    print(f"{over} peaks above the forecast")
    return 1 if missed or over else 0


if __name__ == "__main__":
    sys.exit(main())
