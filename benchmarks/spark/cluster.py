"""Cluster: the same jobs on a standalone cluster of one worker and of two workers, each with one core.

``python -m benchmarks.spark.cluster FOLDER WORKERS REPEATS`` starts the cluster, writes lineitem from a DataFrame,
upserts a tenth, compacts the table in full and reads it, and prints what the best round used as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.processes import Processes
from benchmarks.spark.case import Case, Mark, Measured
from benchmarks.spark.first_write import in_process
from benchmarks.spark.lake import Lake
from benchmarks.spark.reads import consumed
from benchmarks.spark.session import started
from paimon_core.spark import compact_spark, read_spark, write_spark
from tests.support.standalone import standalone_cluster


def on_cluster(folder: Path, workers: int, repeats: int) -> Measured:
    """Return what the best of the rounds used on a new cluster, after one round that warms up."""
    settings = {"spark.executor.memory": "900m", "spark.executor.cores": "1"}
    with (
        tempfile.TemporaryDirectory(dir=folder) as own,
        standalone_cluster(Path(own), workers) as master,
        started(Path(own), master, settings) as spark,
    ):
        lake, processes, rounds = Lake(folder, spark), Processes(), []
        lake.refresh("lineitem")
        for _ in range(repeats + 1):
            start, clock = processes.used(), time.perf_counter()
            table = lake.table("lineitem", write_only=True)
            write_spark(lake.frame("lineitem"), table)
            write_spark(spark.read.parquet(lake.refresh("lineitem")), table)
            consumed(read_spark(spark, table))
            compact_spark(spark, table, full=True)
            rounds.append(Measured(processes.used().since(start), time.perf_counter() - clock))
        return min(rounds[1:], key=lambda spent: spent.wall)


def cluster_cases() -> list[Case]:
    """Return the cases of one worker and of two workers; seconds on the clock are compared."""

    def jobs(workers: int) -> Callable[[Lake], Measured]:
        return lambda lake: in_process("cluster", str(lake.folder), str(workers), str(lake.repeats))

    one = "cluster: one worker"
    return [
        Case(one, jobs(1), wall=True, once=True),
        Case("cluster: two workers", jobs(2), one, Mark(times=1 / 1.7), wall=True, once=True),
    ]


if __name__ == "__main__":
    print(json.dumps(on_cluster(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).to_json()))
