"""Statements of Spark on a standalone cluster that lose shuffle files, and whose slow tasks run in two copies.

``python -m tests.cluster.retries MASTER FOLDER WAREHOUSE [STATEMENT ...]`` plays these statements, or all of them;
FOLDER has the files of the cluster. It prints, as JSON, what each statement gave: what is wrong with the table
afterwards, the orphans that the clean-up removed, and what Spark's log of events says: repeated stages, tasks that
could not fetch rows, and speculative copies of tasks.
"""

from __future__ import annotations

import datetime
import json
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from paimon_core.spark import compactor, sort_compact_spark, write_spark
from paimon_core.spark.writes import direct
from tests.cluster.kills import ROWS, STATEMENTS, TABLES, Lake, content
from tests.support.project import ROOT

KILL_SECONDS = 0.3
"""Spark ends the process of a copy that has lost after this time; its default is two seconds."""
FAULTS = Path(__file__).parent / "faults"
TASKS = 6
"""More than the cluster has cores, so that tasks start after the shuffle files are lost."""
IN_BUCKETS = {"bucket": str(TASKS), "bucket-key": "k", "write-only": "true"}
OWN_TABLES: Mapping[str, dict[str, Any]] = {
    "keyed": {
        "primary_key": ["k"],
        "options": {"bucket": str(TASKS), "write-only": "true", "target-file-size": "100 kb"},
    },
    "dynamic": {
        "primary_key": ["k"],  # with one bucket, one task would read all rows, before any task has written
        "options": {"bucket": "-1", "dynamic-bucket.target-row-num": "10000", "write-only": "true"},
    },
    "compacted": {
        "primary_key": ["k"],
        "options": {"bucket": str(TASKS), "num-sorted-run.compaction-trigger": "2"},
    },
    "merged": {"primary_key": ["k"], "options": {"bucket": str(TASKS)}},
    "append_buckets": {"options": IN_BUCKETS},
    "marked_buckets": {"options": IN_BUCKETS | {"deletion-vectors.enabled": "true"}},
    "tracked": {"options": {"row-tracking.enabled": "true", "write-only": "true", "target-file-size": "50 kb"}},
}
SETTINGS = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.default.parallelism": str(TASKS),
    "spark.sql.shuffle.partitions": str(TASKS),
    "spark.sql.adaptive.coalescePartitions.enabled": "false",  # otherwise small stages have one task
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.speculation.task.duration.threshold": "3s",
    "spark.speculation.efficiency.enabled": "false",
    "spark.python.task.killTimeout": f"{int(KILL_SECONDS * 1000)}ms",
}
"""A task is slow when it takes more than a second and longer than others, or three seconds."""


def write(lake: Lake, table: Any) -> None:
    source = lake.spark.range(ROWS * 2).selectExpr("id AS k", "id * 5 AS v")
    write_spark(source.repartition(4), table, tasks=TASKS)


def overwritten(_: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    return Counter({(k, 5 * k): 1 for k in range(2 * ROWS)})


def write_directly(lake: Lake, table: Any, overwrite: str | None = None) -> None:
    """Write without a shuffle to buckets; the rows themselves come from a shuffle."""
    source = lake.spark.range(ROWS * 2).selectExpr("id AS k", "id * 5 AS v").repartition(TASKS)
    least = direct.LEAST_TASK_BYTES, direct.LEAST_FILE_BYTES
    direct.LEAST_TASK_BYTES, direct.LEAST_FILE_BYTES = 1, 0
    try:
        overwrites = overwrite is not None
        found = direct.direct_tasks(source, table.context, order_by=(), overwrites=overwrites, tasks=None, keys=None)
        assert found == TASKS, found
        write_spark(source, table, overwrite=overwrite)
    finally:
        direct.LEAST_TASK_BYTES, direct.LEAST_FILE_BYTES = least


def overwrite_directly(lake: Lake, table: Any) -> None:
    """Replace all rows; the new runs of a bucket overlap and are merged before the commit."""
    write_directly(lake, table, "dynamic")


def write_random(lake: Lake, table: Any) -> None:
    """Write keys that a repeated task of the first stage computes anew, as other keys."""
    draw = F.udf(lambda _: uuid.uuid4().int >> 66, T.LongType()).asNondeterministic()
    source = lake.spark.range(0, ROWS, 1, 4).select(draw("id").alias("k"), F.col("id").alias("v"))
    write_spark(source, table, tasks=TASKS)


def sort_in_ranges(lake: Lake, table: Any) -> None:
    """Sort one large partition by a column whose order is not that of the files."""
    sort_compact_spark(lake.spark, table, ["v"])


def values(table: Any) -> Counter[tuple[int, ...]]:
    """Return the rows without their keys."""
    return Counter((value,) for value in table.scan().to_arrow()["v"].to_pylist())


def identified(table: Any) -> Counter[tuple[int, ...]]:
    """Return the rows with their ids."""
    found = table.scan(columns=["k", "v", "_ROW_ID"]).to_arrow()
    return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))


RANDOM, RANGES = "write random keys", "sort in ranges"
Statement = tuple[str, Callable[[Lake, Any], None], Callable[[Any], Any]]
PLAYED: Mapping[str, Statement] = {
    **STATEMENTS,
    "write by key": ("keyed", write, overwritten),
    "write directly": ("keyed", write_directly, overwritten),
    "write and merge runs": ("merged", overwrite_directly, overwritten),
    "write by index": ("dynamic", write, overwritten),
    "write and compact": ("compacted", write, overwritten),
    "update by position": ("append_buckets", *STATEMENTS["update by position"][1:]),
    "merge by position": ("marked_buckets", *STATEMENTS["merge by position"][1:]),
    RANDOM: ("append_buckets", write_random, lambda before: before + before),
    RANGES: ("tracked", sort_in_ranges, lambda before: before),
}
SHOWN: Mapping[str, Callable[[Any], Counter[Any]]] = {RANDOM: values, RANGES: identified}
"""What is compared; of other statements, the rows."""
LOST = [
    ("write by key", "write"),
    ("write directly", "write"),
    ("write by index", "write"),
    ("merge by key", "write"),
    ("merge by position", "write"),
    ("merge by position", "remove"),
    ("update by position", "remove"),
    ("stream", "write"),
    (RANGES, "sort"),
    (RANDOM, "write"),
]
"""The statement, and the work of its tasks after which the shuffle files are deleted."""
COPIED = [
    ("write by key", "write"),
    ("write directly", "write"),
    ("write and merge runs", "compact"),
    ("write files", "write"),
    ("merge by key", "write"),
    ("merge by position", "write"),
    ("merge by position", "remove"),
    ("compact", "compact"),
    ("write and compact", "compact"),
    ("stream", "write"),
    (RANGES, "sort"),
]
"""The statement, and the work of its tasks that has a copy."""


@dataclass
class Played:
    """What a statement did, and when."""

    statement: str
    work: str
    fault: str
    began: int
    ended: int
    done: bool
    faulty: bool
    """Whether a task did the fault."""
    orphans: int
    error: str
    wrong: list[str]
    repeated_stages: int = 0
    lost_fetches: int = 0
    speculative_tasks: int = 0
    killed_tasks: int = 0
    """Copies that Spark ended because the other copy had ended."""


def played(lake: Lake, name: str, work: str, fault: str) -> Played:
    """Run a statement whose tasks have a fault, compare the table with what it should be, and clean it up."""
    which, statement, expected = PLAYED[name]
    table = lake.filled(which)
    shown = SHOWN.get(name, content)
    before = shown(table)
    armed = lake.folder / "armed"
    for old in lake.folder.glob("copy-*"):
        old.unlink()
    (lake.folder / "next").write_text(json.dumps({"work": work, "kind": fault}))
    (lake.folder / "next").rename(armed)
    began, problem = time.time(), ""
    try:
        statement(lake, table.refresh())
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    ended, faulty = time.time(), not armed.exists()
    armed.unlink(missing_ok=True)
    table = lake.catalog.table(f"db.{which}")
    right = before if problem else expected(before)
    wrong = [] if shown(table) == right else ["other rows"]
    if name == RANGES and not is_sorted(table):
        wrong.append("rows out of order")
    wrong += [str(one) for one in table.maintenance.check(deep=True).findings if one.invariant != "I29"]
    time.sleep(2 * KILL_SECONDS if fault != "lose" else 0.01)
    orphans = table.maintenance.plan_orphan_removal(older_than=datetime.timedelta(milliseconds=1), mode="delete")
    removed = table.maintenance.apply(orphans)
    findings = table.maintenance.check(deep=True).findings
    wrong += [f"after the clean-up: {one}" for one in findings]
    if shown(table) != right:
        wrong.append("other rows after the clean-up")
    return Played(
        name,
        work,
        fault,
        began=int(began * 1000),
        ended=int(ended * 1000),
        done=not problem,
        faulty=faulty,
        orphans=len(removed.removed),
        error=problem[:600],
        wrong=wrong,
    )


def is_sorted(table: Any) -> bool:
    found = table.scan().to_arrow()["v"].to_pylist()
    return bool(found == sorted(found))


def told(folder: Path, found: list[Played]) -> None:
    """Add what the log of events says about each statement."""
    for path in sorted(folder.glob("**/events_*")):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerStageSubmitted":
                info = event["Stage Info"]
                one = during(found, info.get("Submission Time", 0))
                if one is not None and info["Stage Attempt ID"] > 0:
                    one.repeated_stages += 1
            elif event["Event"] == "SparkListenerTaskEnd":
                info = event["Task Info"]
                one = during(found, info["Launch Time"])
                if one is not None:
                    one.lost_fetches += event["Task End Reason"]["Reason"] == "FetchFailed"
                    one.speculative_tasks += info["Speculative"]
                    one.killed_tasks += event["Task End Reason"]["Reason"] == "TaskKilled"


def during(found: list[Played], millis: int) -> Played | None:
    """Return the statement that ran at a time."""
    return next((one for one in found if one.began <= millis <= one.ended), None)


def session(master: str, place: Path, warehouse: str, plays: list[tuple[str, str, str]]) -> list[Played]:
    """Play statements, each with its fault and work, in a new session of Spark."""
    logs = Path(tempfile.mkdtemp(prefix="events-", dir=place))
    workers = {"spark.executorEnv.PYTHONPATH": f"{FAULTS}:{ROOT}", "spark.executorEnv.TASK_FAULTS": str(place)}
    lake = Lake(master, place, warehouse, SETTINGS | workers | {"spark.eventLog.dir": f"file:{logs}"})
    found: list[Played] = []
    for kind, name, work in plays:
        found.append(played(lake, name, work, kind))
        print(f"\n{found[-1]}", file=sys.stderr, flush=True)
    lake.spark.stop()
    told(logs, found)
    return found


def main(master: str, folder: str, warehouse: str, *only: str) -> None:
    """Play, and print what happened, as JSON."""
    compactor._SHARE_BYTES = 2_000  # several parts of each bucket
    TABLES.update(OWN_TABLES)
    plays = [("lose", *one) for one in LOST] + [(kind, *one) for one in COPIED for kind in ("hang", "race")]
    plays = [play for play in plays if not only or play[1] in only]
    found = session(master, Path(folder), warehouse, plays)
    # On a busy machine all tasks may have fetched their rows before the files are lost: such a play is repeated once.
    early = [
        at for at, one in enumerate(found) if one.fault == "lose" and not (one.repeated_stages and one.lost_fetches)
    ]
    if early:
        again = session(master, Path(folder), warehouse, [plays[at] for at in early])
        for at, one in zip(early, again, strict=True):
            one.wrong += found[at].wrong
            found[at] = one
    print(json.dumps([vars(one) for one in found]))


if __name__ == "__main__":
    main(*sys.argv[1:])
