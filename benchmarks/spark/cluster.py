"""Cluster: jobs whose work is in the tasks, on one worker and on two workers of a standalone cluster.

Each worker has one core and is bound to one processor, with its executor and its Python workers. The driver needs a
processor as well: it is bound to the processor of the first worker. So two workers have twice the processors of one
worker, and the driver takes from both what it takes.

``python -m benchmarks.spark.cluster FOLDER REPEATS`` starts a cluster of one worker and one of two. They get
sessions in turns. After a warm-up, a session runs each job, and the least seconds on the clock of each job are printed
as JSON. On its standard error are the processor seconds of each run: of the driver, and of each worker with all that it
started.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from benchmarks.processes import Processes
from benchmarks.spark.case import Case, Mark, Measured
from benchmarks.spark.lake import Lake
from benchmarks.spark.session import started
from paimon_core import Table
from paimon_core.spark import compact_spark, read_spark, write_files_spark
from tests.support.standalone import standalone_cluster

SETTINGS = {
    "spark.executor.memory": "900m",
    "spark.executor.cores": "1",
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.sql.shuffle.partitions": "4",
}
BUCKETS, RUNS, FILES, TASKS = 32, 3, 16, 4


@dataclass
class Sides:
    """Counts the processor seconds of the driver and of each worker; processes that have ended count too."""

    folder: Path
    """The folder of the cluster."""
    workers: int
    seen: dict[int, tuple[int, float]] = field(default_factory=dict)

    def used(self) -> list[float]:
        """Return the seconds of the driver, then those of the workers, until now."""
        pids = [int((self.folder / f"worker-{number}.pid").read_text()) for number in range(self.workers)]
        own, trees = psutil.Process(), [[psutil.Process(pid), *psutil.Process(pid).children(True)] for pid in pids]
        found = [(number + 1, process) for number, tree in enumerate(trees) for process in tree]
        theirs = {process.pid for _, process in found} | {int((self.folder / "master.pid").read_text())}
        found += [(0, process) for process in (own, *own.children(True)) if process.pid not in theirs]
        for side, process in found:
            with contextlib.suppress(psutil.Error):
                self.seen[process.pid] = (side, sum(process.cpu_times()[:2]))
        return [sum(spent for at, spent in self.seen.values() if at == side) for side in range(self.workers + 1)]


def _runs(lake: Lake) -> Table:
    """Return lineitem in many buckets, each with three runs of all its keys; jobs leave other snapshots."""

    def make() -> Table:
        options = {"bucket": str(BUCKETS), "write-only": "true"}
        key = ["l_orderkey", "l_linenumber"]
        made = lake.create("lineitem", lake.schema("lineitem"), primary_key=key, options=options)
        for _ in range(RUNS):
            made.write(lake.rows("lineitem"))
        return made

    return lake.again("runs", make)


def _compaction(lake: Lake, table: Table) -> object:
    return compact_spark(lake.spark, table, full=True)


def _import(lake: Lake, table: Table) -> object:
    return write_files_spark(lake.spark, table, str(lake.folder / "parts"), "parquet", tasks=TASKS)


def _aggregation(lake: Lake, table: Table) -> object:
    sums = [F.sum(name) for name in ("l_quantity", "l_extendedprice", "l_discount", "l_tax")]
    return read_spark(lake.spark, table).groupBy("l_shipmode").agg(*sums).collect()


Job = tuple[Callable[[Lake], Table], Callable[[Lake, Table], object]]
JOBS: Mapping[str, Job] = {
    f"compaction of {BUCKETS} buckets of {RUNS} runs": (_runs, _compaction),
    f"import of {FILES} files in {TASKS} tasks": (lambda lake: lake.table("lineitem", write_only=True), _import),
    f"sums of {RUNS} runs": (_runs, _aggregation),
}
"""The table of each job, which is not measured, and the job."""


def on_cluster(folder: Path, repeats: int) -> dict[str, Measured]:
    """Return what the fastest run of each job used, by job and number of workers."""
    found: dict[str, Measured] = {}
    processors = os.sched_getaffinity(0)
    with contextlib.ExitStack() as stack:
        clusters = {}
        for workers in (1, 2):
            own = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
            clusters[workers] = own, stack.enter_context(standalone_cluster(own, workers, bound=True, java=""))
        stack.callback(os.sched_setaffinity, 0, processors)
        os.sched_setaffinity(0, {min(processors)})
        _divide(folder)
        for _ in range(repeats):
            for workers, (own, master) in clusters.items():
                with started(own, master, SETTINGS) as spark:
                    lake, sides = Lake(folder, spark), Sides(own, workers)
                    for warm in (False, True):
                        for job in JOBS:
                            name, spent = f"{job}, {workers}", _run(lake, job, sides)
                            if warm and (name not in found or spent.wall < found[name].wall):
                                found[name] = spent
    return found


def _run(lake: Lake, job: str, sides: Sides) -> Measured:
    """Run a job once, and print what the driver and each worker used."""
    prepare, run = JOBS[job]
    table, processes = prepare(lake), Processes()
    before, start, clock = sides.used(), processes.used(), time.perf_counter()
    run(lake, table)
    spent = Measured(processes.used().since(start), time.perf_counter() - clock)
    driver, *workers = (now - then for now, then in zip(sides.used(), before, strict=True))
    used = f"driver {driver:.2f}, workers " + " and ".join(f"{one:.2f}" for one in workers)
    print(f"{job}: {spent.wall:.2f} s on the clock; processor seconds: {used}", file=sys.stderr, flush=True)
    return spent


def _divide(folder: Path) -> None:
    """Write the rows of lineitem in several files."""
    (folder / "parts").mkdir(exist_ok=True)
    rows = pq.read_table(folder / "lineitem.parquet")
    share = -(-len(rows) // FILES)
    for number in range(FILES):
        pq.write_table(rows.slice(number * share, share), folder / "parts" / f"{number}.parquet")


@functools.cache
def _measured(folder: Path, repeats: int) -> dict[str, Measured]:
    command = [sys.executable, "-m", "benchmarks.spark.cluster", str(folder), str(repeats)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: Measured.from_json(one) for name, one in found.items()}


def cluster_cases() -> list[Case]:
    """Return the cases of each job with one worker and with two workers; seconds on the clock are compared."""

    def case(job: str, workers: int) -> Callable[[Lake], Measured]:
        return lambda lake: _measured(lake.folder, lake.repeats)[f"{job}, {workers}"]

    found = []
    for job in JOBS:
        one, two = f"cluster: {job}, one worker", f"cluster: {job}, two workers"
        found.append(Case(one, case(job, 1), wall=True, once=True))
        found.append(Case(two, case(job, 2), one, Mark(times=1 / 1.7), wall=True, once=True))
    return found


if __name__ == "__main__":
    print(json.dumps({name: one.to_json() for name, one in on_cluster(Path(sys.argv[1]), int(sys.argv[2])).items()}))
