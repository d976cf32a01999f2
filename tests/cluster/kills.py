"""Statements of Spark on a standalone cluster whose Python workers and executors are killed while they run.

``python -m tests.cluster.kills MASTER FOLDER WAREHOUSE [SEED COUNT]``: FOLDER has the logs and ids of the cluster. It
prints, as JSON, what each statement gave: whether it was done, and what is wrong with the table afterwards. With a
SEED, at least COUNT statements are killed at random moments. Otherwise processes of each statement are killed once when
its tasks have begun to write, and again and again until the statement fails.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core.errors import TableNotFound
from paimon_core.spark import (
    compact_spark,
    compactor,
    merge_spark,
    sort_compact_spark,
    update_spark,
    write_files_spark,
    write_stream_spark,
)
from tests.support.project import ROOT
from tests.support.standalone import processes, python_workers

ORPHAN = "I29"
"""The invariant of files that no snapshot uses: a task that has ended leaves them."""
ROWS = 60_000
KEYED = {"bucket": "2", "write-only": "true", "target-file-size": "100 kb"}
TABLES: dict[str, dict[str, Any]] = {
    "keyed": {"primary_key": ["k"], "options": KEYED},
    "summed": {
        "primary_key": ["k"],
        "options": KEYED | {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    },
    "append": {"options": {"write-only": "true"}},
    "marked": {"options": {"write-only": "true", "deletion-vectors.enabled": "true"}},
}


class Lake:
    """The session, the tables and what the statements should give."""

    def __init__(self, master: str, folder: Path, warehouse: str, more: Mapping[str, str] | None = None) -> None:
        self.folder, self.warehouse = folder, warehouse
        settings = {
            "spark.executorEnv.PYTHONPATH": str(ROOT),
            "spark.python.daemon.module": "paimon_core.spark.daemon",
            # The statements have few rows: generating and compiling Java code for them takes longer.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.executor.memory": "512m",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1",
        }
        builder = SparkSession.builder.master(master).appName("kills")
        for name, value in {**settings, **(more or {})}.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.catalog = paimon.open_catalog(warehouse)
        self.catalog.create_database("db", ignore_if_exists=True)

    def filled(self, name: str) -> Any:
        """Make a table anew with two versions of its rows."""
        with contextlib.suppress(TableNotFound):
            self.catalog.drop_table(f"db.{name}")
        table = self.catalog.create_table(f"db.{name}", {"k": "BIGINT", "v": "BIGINT"}, **TABLES[name])
        for start in (0, ROWS // 2):
            table.write(scattered(start, start + ROWS // 2) if name == "tracked" else rows(start, start + ROWS // 2, 1))
        if name in ("keyed", "summed"):
            table.write(rows(0, ROWS, 2))
        return table


def rows(start: int, end: int, factor: int) -> pa.Table:
    return pa.table({"k": range(start, end), "v": [n * factor for n in range(start, end)]})


def scattered(start: int, end: int) -> pa.Table:
    """Return rows whose values are in another order than their keys, in files that are not small."""
    return pa.table({"k": range(start, end), "v": [n * 2_654_435_761 % 2**32 for n in range(start, end)]})


def content(table: Any) -> Counter[tuple[int, int]]:
    found = table.scan().to_arrow()
    return Counter(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True))


def merge(lake: Lake, table: Any) -> None:
    source = lake.spark.range(ROWS - 15_000, ROWS + 15_000).selectExpr("id AS k", "id * 7 AS v")
    merge_spark(lake.spark, table, source, ["k"])


def merged(before: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    return Counter({(k, v): n for (k, v), n in before.items() if k < ROWS - 15_000}) + Counter(
        {(k, 7 * k): 1 for k in range(ROWS - 15_000, ROWS + 15_000)}
    )


def update(lake: Lake, table: Any) -> None:
    update_spark(lake.spark, table, {"v": F.expr("v + 1")}, "k % 3 = 0")


def updated(before: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    return Counter({(k, v + (k % 3 == 0)): n for (k, v), n in before.items()})


def write(lake: Lake, table: Any) -> None:
    files = Path(lake.warehouse).parent / "files"
    if not files.exists():
        files.mkdir()
        for part in range(4):
            pq.write_table(rows(ROWS * (part + 1), ROWS * (part + 2), 5), files / f"{part}.parquet")
    write_files_spark(lake.spark, table, str(files), "parquet", tasks=4)


def written(before: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    return before + Counter({(k, 5 * k): 1 for k in range(ROWS, 5 * ROWS)})


def stream(lake: Lake, table: Any) -> None:
    """One batch of a query; a new checkpoint is a new query."""
    source = lake.spark.range(ROWS * 2).selectExpr("id AS k", "id * 5 AS v")
    files, place = (Path(lake.warehouse).parent / name for name in ("streamed", f"checkpoint-{time.monotonic_ns()}"))
    if not files.exists():
        source.repartition(4).write.parquet(str(files))
    rows = lake.spark.readStream.schema(source.schema).parquet(str(files)).groupBy("k").agg(F.sum("v").alias("v"))
    write_stream_spark(rows, table, checkpoint=str(place), mode="update").trigger(
        availableNow=True
    ).start().awaitTermination()


def streamed(before: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    return Counter({(k, 5 * k): 1 for k in range(2 * ROWS)})


def sort(lake: Lake, table: Any) -> None:
    sort_compact_spark(lake.spark, table, ["v", "k"], "zorder")


def compact(lake: Lake, table: Any) -> None:
    compact_spark(lake.spark, table, full=True)


Statement = tuple[str, Callable[[Lake, Any], None], Callable[[Any], Any]]
STATEMENTS: dict[str, Statement] = {
    "merge by key": ("keyed", merge, merged),
    "merge by position": ("marked", merge, merged),
    "update by key": ("keyed", update, updated),
    "update by position": ("append", update, updated),
    "write files": ("append", write, written),
    "write files by key": ("summed", write, written),
    "compact": ("summed", compact, lambda before: before),
    "sort": ("append", sort, lambda before: before),
    "stream": ("keyed", stream, streamed),
}


class Killer:
    """Kills processes of the executors in a thread, while a statement runs."""

    def __init__(self, lake: Lake, table: Any, victim: str, *, delay: float | None, again: bool) -> None:
        self.killed = 0
        self._lake, self._victim, self._delay, self._again = lake, victim, delay, again
        self._data = Path(table.location)
        self._known = self._files()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _files(self) -> set[str]:
        return {path.name for path in self._data.glob("bucket-*/*")}

    def _run(self) -> None:
        if self._delay is not None:
            self._ended.wait(self._delay)
        elif not self._again:
            while not self._ended.is_set() and not self._files() - self._known:  # tasks have begun to write
                time.sleep(0.002)
        while not self._ended.is_set():
            self._kill()
            if self.killed and not self._again:
                return
            time.sleep(0.05)

    def _kill(self) -> None:
        folder = self._lake.folder
        found: list[int] = []
        if self._victim == "executor":
            found = processes(folder, "CoarseGrainedExecutorBackend")[:1]
        elif self._victim == "worker":
            found = python_workers(folder)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.killed += 1


def played(lake: Lake, name: str, victim: str, *, delay: float | None = None, again: bool = False) -> dict[str, Any]:
    """Run a statement with kills, and compare the table with what it should be."""
    which, statement, expected = STATEMENTS[name]
    table = lake.filled(which)
    before, snapshot = content(table), table.inspect.snapshots().num_rows
    began, problem = time.monotonic(), ""
    with Killer(lake, table, victim, delay=delay, again=again) as killer:
        try:
            statement(lake, table.refresh())
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - began
    table = lake.catalog.table(f"db.{which}")
    wrong = []
    if content(table) != (before if problem else expected(before)):
        wrong.append("other rows")
    if table.inspect.snapshots().num_rows != snapshot + (not problem):
        wrong.append("other snapshots")
    # A query of Spark may also fail in its own tasks, before the library writes: that error is Spark's.
    if problem and name != "stream" and f"table db.{which}" not in problem:
        wrong.append("the error does not name the table")
    findings = table.maintenance.check().findings
    wrong += [str(finding) for finding in findings if finding.invariant != ORPHAN]
    return {
        "statement": name,
        "victim": victim,
        "again": again,
        "killed": killer.killed,
        "done": not problem,
        "orphans": sum(finding.invariant == ORPHAN for finding in findings),
        "error": problem[:600],
        "told": name == "stream" or "a Spark task was lost in each of its attempts" in problem,
        "wrong": wrong,
        "seconds": round(seconds, 1),
    }


def main(master: str, folder: str, warehouse: str, seed: str = "", count: str = "0") -> None:
    """Play, and print what happened, as JSON."""
    compactor._SHARE_BYTES = 100_000  # several parts of each bucket
    lake = Lake(master, Path(folder), warehouse)
    found = []

    def play(*arguments: Any, **options: Any) -> None:
        found.append(played(lake, *arguments, **options))
        print(f"\n{found[-1]}", file=sys.stderr, flush=True)

    if seed:
        chance = random.Random(int(seed))
        update(lake, lake.filled("keyed"))  # the first query of a JVM takes seconds
        usual = {name: played(lake, name, "nothing")["seconds"] for name in STATEMENTS}
        while sum(one["killed"] > 0 for one in found) < int(count):
            for name, seconds in usual.items():
                play(name, chance.choice(["worker", "executor"]), delay=chance.uniform(0, seconds))
    else:
        for number, name in enumerate(
            ("merge by position", "update by key", "write files", "compact", "sort", "stream")
        ):
            play(name, ("worker", "executor")[number % 2])
            play(name, "worker", again=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
