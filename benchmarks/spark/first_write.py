"""First write: a write by a new Spark session, in processes of its own.

``python -m benchmarks.spark.first_write FOLDER KIND`` starts a session, writes orders once from a DataFrame, and prints
what the write used as JSON. KIND is ``paimon`` or ``plain`` (Parquet through Spark). The start of the JVM and of the
session is not counted: a user has a session already.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.processes import Processes
from benchmarks.spark.case import Case, Mark, Measured
from benchmarks.spark.lake import Lake
from benchmarks.spark.session import started
from paimon_core.spark import write_spark


def first_write(folder: Path, kind: str) -> Measured:
    """Write orders in a new session of this process."""
    with tempfile.TemporaryDirectory(dir=folder) as own, started(Path(own)) as spark:
        lake, processes = Lake(folder, spark), Processes()
        start, clock = processes.used(), time.perf_counter()
        if kind == "paimon":
            write_spark(lake.frame("orders"), lake.table("orders"))
        else:
            lake.frame("orders").write.parquet(f"{own}/plain")
        return Measured(processes.used().since(start), time.perf_counter() - clock)


def in_process(module: str, *arguments: str) -> Measured:
    """Return what a module of this package prints, run in a process of its own."""
    command = [sys.executable, "-m", f"benchmarks.spark.{module}", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Measured.from_json(json.loads(done.stdout.splitlines()[-1]))


def first_cases() -> list[Case]:
    """Return the cases of the first write of a session."""

    def first(kind: str) -> Case:
        def best(lake: Lake) -> Measured:
            runs = [in_process("first_write", str(lake.folder), kind) for _ in range(lake.repeats)]
            return min(runs, key=lambda spent: spent.seconds.total)

        if kind == "plain":
            return Case(
                "first write of a session, plain Parquet", best, "orders: plain Parquet through Spark", once=True
            )
        mark = Mark(times=2.0, plus=4.0)
        return Case("first write of a session, from a DataFrame", best, "orders: from a DataFrame", mark, once=True)

    return [first("plain"), first("paimon")]


if __name__ == "__main__":
    print(json.dumps(first_write(Path(sys.argv[1]), sys.argv[2]).to_json()))
