"""Read cost between full compactions: rounds of upserts and deletes in a table with one bucket.

A table with a primary key gets a first load of ``--rows`` keys. Each round upserts ``--upserts`` per cent of the keys
and deletes ``--deletes`` per cent; a tenth of the upserts are new keys. Writers compact as the table's options require,
and nothing else is compacted. After each round, the whole table is read.

The report states, every ten rounds: the processor seconds of the read, of the upsert and of the delete (both with their
compactions), the live bytes, and write amplification: bytes of all new data files by bytes of the files of level 0.
With ``--policy both``, two equal tables with the two rules of compaction take turns round by round, and their rows are
compared at the end. ``--picture FILE`` draws the read costs.

``python -m benchmarks.longevity --rows 200000 --rounds 130 --picture docs/images/longevity.svg``
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

import paimon_core
from benchmarks.lake_report import line_chart
from benchmarks.workload import SCHEMA, batch
from paimon_core import Table, col
from paimon_core.metadata.manifests.entries import FileKind

POLICIES = {
    "bound": {},
    "ratio": {"compaction.max-size-amplification-percent": "200"},
}
"""Options by policy: without the option, reads are bounded; with the option, its ratio alone is the rule (Java)."""
NAMES = {"bound": "bounded reads (default)", "ratio": "size ratio alone"}


@dataclass
class Side:
    """One table, and a value per round of each measure."""

    table: Table
    read: list[float] = field(default_factory=list)
    upsert: list[float] = field(default_factory=list)
    delete: list[float] = field(default_factory=list)
    live_bytes: list[int] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    flushed: int = 0
    written: int = 0
    last: int = 0
    seen: set[str] = field(default_factory=set)
    """File names: a file that moves to another level is not written again."""

    def round(self, rows: pa.Table, low: int, high: int) -> None:
        """Upsert ``rows``, delete the keys in [low, high), read all rows."""
        self.upsert.append(_spent(lambda: self.table.write(rows)))
        self.delete.append(_spent(lambda: self.table.delete((col("id") >= low) & (col("id") < high))))
        self.read.append(_spent(lambda: self.table.scan().to_arrow()))
        self.count()

    def count(self) -> None:
        """Add the files of new snapshots."""
        context = self.table.context
        latest = max(context.snapshots.ids())
        for number in range(self.last + 1, latest + 1):
            snapshot = context.snapshots.read(number)
            delta = context.manifests.read_list(snapshot.delta_manifest_list)
            for entry in (e for m in delta for e in context.manifests.read_manifest(m.file_name)):
                if entry.kind is FileKind.ADD and entry.file.file_name not in self.seen:
                    self.seen.add(entry.file.file_name)
                    self.flushed += entry.file.file_size if entry.file.level == 0 else 0
                    self.written += entry.file.file_size
        self.last = latest
        files = [e.file for e in context.manifests.entries_of(context.snapshots.read(latest))]
        self.live_bytes.append(sum(f.file_size for f in files))
        self.runs.append(sum(f.level == 0 for f in files) + len({f.level for f in files} - {0}))


def _spent(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def created(folder: Path, policy: str, rows: int) -> Side:
    """Return a table with ``rows`` keys in one run of the last level."""
    catalog = paimon_core.open_catalog(str(folder))
    if not catalog.list_databases():
        catalog.create_database("db")
    options = {"bucket": "1", **POLICIES[policy]}
    table = catalog.create_table(f"db.{policy}", SCHEMA, primary_key=["id"], options=options)
    first = batch(0, rows, rows)
    table.write(first.set_column(0, SCHEMA.field("id"), pa.array(np.arange(rows))))
    table.compact(full=True)
    side = Side(table)
    side.last = max(table.context.snapshots.ids())
    return side


def main() -> None:
    """Run the rounds and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=130)
    parser.add_argument("--upserts", type=float, default=2.0, help="per cent of the keys in a round")
    parser.add_argument("--deletes", type=float, default=0.5, help="per cent of the keys in a round")
    parser.add_argument("--policy", choices=[*POLICIES, "both"], default="both")
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    policies = list(POLICIES) if args.policy == "both" else [args.policy]
    count, width = round(args.rows * args.upserts / 100), round(args.rows * args.deletes / 100)
    chance = np.random.default_rng(7)
    print(f"{args.rows:,} rows, {args.rounds} rounds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as name:
        sides = {policy: created(Path(name), policy, args.rows) for policy in policies}
        keys = args.rows
        for number in range(1, args.rounds + 1):
            rows, low = batch(number, count, keys), int(chance.integers(0, keys - width))
            fresh = np.where(np.arange(count) < count // 10, keys + np.arange(count), rows["id"].to_numpy())
            rows = rows.set_column(0, SCHEMA.field("id"), pa.array(fresh))
            keys += count // 10
            for side in sides.values():
                side.round(rows, low, low + width)
            if number % 10 == 0 or number == args.rounds:
                for policy, side in sides.items():
                    print(line(number, policy, side), flush=True)
        for policy, side in sides.items():
            print(
                f"{policy}: write amplification {side.written / max(1, side.flushed):.2f}, read {min(side.read):.3f} "
                f"to {max(side.read):.3f} s, mean {np.mean(side.read):.3f} s; bytes {max(side.live_bytes):,} at most"
            )
        answers = [side.table.scan().to_arrow().sort_by("id") for side in sides.values()]
        if any(answer != answers[0] for answer in answers):
            sys.exit("the tables have different rows")
    if args.picture:
        args.picture.write_text(picture(sides, args))


def line(number: int, policy: str, side: Side) -> str:
    """Return the measures of a round: the least read of the last three rounds, the means of ten upserts and deletes."""
    return (
        f"{number:5} {policy:6} read {min(side.read[-3:]):6.3f} s  upsert {np.mean(side.upsert[-10:]):6.3f} s  delete "
        f"{np.mean(side.delete[-10:]):6.3f} s  {side.live_bytes[-1]:12,} bytes in {side.runs[-1]} runs  "
        f"write amplification {side.written / max(1, side.flushed):.2f}"
    )


def picture(sides: dict[str, Side], args: argparse.Namespace) -> str:
    """Return a chart of live bytes by the bytes of one run, which do not depend on other work of the machine."""
    lines = {}
    for policy, side in sides.items():
        least = min(side.live_bytes)
        lines[NAMES[policy]] = [size / least for size in side.live_bytes]
    return line_chart(
        f"{args.rounds} rounds of upserts ({args.upserts:g} %) and deletes ({args.deletes:g} %), one bucket",
        lines,
        "round",
        "bytes that a full read decodes, by those of the first round",
        1.5,
    )


if __name__ == "__main__":
    main()
