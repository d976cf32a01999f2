"""Kill a real main job at random points, repeat it, and compare: ``python -m tests.soak.killed_demo --points 30``.

Each round has a lake of its own: a table of files (with rejects) and a query over it. The process of the demo, its JVM
and its Python workers are killed (SIGKILL) after a random time, then the demo is run to its end. The rows, the rejected
rows and the counts must be the same as of a demo that was never killed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from paimon_lake.cli.new_lake import new_lake
from paimon_lake.declarations import load_settings
from paimon_lake.loads.ledger.load_properties import ROWS_READ, ROWS_REJECTED, ROWS_WRITTEN
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.tables import open_lake
from tests.support.project import ROOT

TABLES = ("shop.orders", "shop.orders__rejects", "shop.revenue")
_SECONDS = 600


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start the demo of a lake in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "assets.demo", "--configs", str(folder)],
        cwd=ROOT,
        env=os.environ | {"PAIMON_LAKE": str(folder / "warehouse")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def run(folder: Path) -> float:
    """Run the demo to its end; return its seconds."""
    started = time.monotonic()
    process = start(folder)
    _, said = process.communicate(timeout=_SECONDS)
    assert process.returncode == 0, said.decode()[-2000:]
    return time.monotonic() - started


def kill(folder: Path, after: float) -> bool:
    """Start the demo and kill it after some seconds; return whether it was still running."""
    process = start(folder)
    try:
        process.wait(after)
        return False
    except subprocess.TimeoutExpired:
        return True
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def content(folder: Path) -> list[Counter[str]]:
    """Return the rows of the tables, without the paths of files, which differ between rounds."""
    catalog = open_lake(load_settings("local", configs=folder))
    found = []
    for name in TABLES:
        rows = catalog.table(name).scan().to_arrow()
        rows = rows.drop_columns(["file"]) if "file" in rows.column_names else rows
        kept = rows.drop_columns([name for name in ("load", "loaded_at") if name in rows.column_names])
        found.append(Counter(json.dumps(row, default=str) for row in kept.to_pylist()))
    return found


def counts(folder: Path) -> tuple[int, int, int]:
    """Return the rows that the loads of the orders read, wrote and rejected."""
    loads = loads_of(open_lake(load_settings("local", configs=folder)).table("shop.orders"))
    read, written, rejected = (
        sum(int(load.properties.get(name, "0")) for load in loads) for name in (ROWS_READ, ROWS_WRITTEN, ROWS_REJECTED)
    )
    return read, written, rejected


def play(points: int, seed: int, *, folder: Path) -> Iterator[str]:
    """Kill the demo at random points, one round each, and yield one line for each. Raises AssertionError."""
    chosen = random.Random(seed)
    clean = folder / "clean"
    new_lake(clean)
    run(clean)
    again = folder / "again"  # the first demo was slowed by empty caches
    new_lake(again)
    seconds = run(again)
    expected, expected_counts = content(clean), counts(clean)
    for number in range(points):
        lake = folder / f"lake-{number}"
        new_lake(lake)
        after = chosen.uniform(0.0, seconds)
        killed = kill(lake, after)
        run(lake)
        assert content(lake) == expected, f"round {number}: killed after {after:.2f} s"
        assert counts(lake) == expected_counts, f"round {number}: {counts(lake)} and not {expected_counts}"
        yield f"round {number}: {'killed' if killed else 'had ended'} after {after:.2f} s of {seconds:.1f} s"


def main() -> int:
    """Play the rounds of the command line."""
    parser = argparse.ArgumentParser(description="Kill the main job at random points and repeat it.")
    parser.add_argument("--points", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for line in play(asked.points, asked.seed, folder=Path(folder)):
            print(line, flush=True)
    print(f"{asked.points} rounds: all tables are equal to the tables of a run that was never killed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
