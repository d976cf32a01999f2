"""Clean-up with Spark: tasks list directories, open manifests and delete; the driver decides everything.

The order that makes a clean-up safe is kept by the driver (``maintain.orphans``): the listing is complete before the
references are read, and both are looked at again before and after files go. A task that cannot read a manifest says so
and the driver reads that one itself, so that a missing manifest has the same meaning as without Spark.

Files are moved by threads of the driver, not by tasks. A task may be repeated, or go on after Spark gave it up, and a
move that comes late would take a file away that the last look has brought back. What tasks do may come late.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_core.errors import CorruptTable, InvalidRequest
from paimon_core.maintain.candidate_files import Directory, Found, Kind, candidates
from paimon_core.maintain.expiry import snapshots as expire
from paimon_core.maintain.orphans import quarantine
from paimon_core.maintain.orphans import removal as orphans
from paimon_core.maintain.planning.plan import Plan, Protected
from paimon_core.maintain.references.used_files import data_names
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.table_identity import table_to_change
from paimon_core.metadata.versioned_json import pack, unpacked
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import run_tasks
from paimon_core.storage.storage import FileInfo, Storage
from paimon_core.table.argument_checks import as_millis
from paimon_core.table.table import Table

_T = TypeVar("_T")
_VERSION = 1
_DAY = datetime.timedelta(days=1)
APPLY: Mapping[str, Callable[..., Any]] = {
    orphans.OPERATION: orphans.apply_orphan_removal,
    quarantine.OPERATION: quarantine.apply_purge,
    expire.OPERATION: expire.apply_snapshot_expiry,
}
"""What applies a plan with hands, by its operation."""


def plan_orphan_removal_spark(
    spark: SparkSession,
    table: Table,
    *,
    older_than: datetime.timedelta = _DAY,
    mode: str = "quarantine",
    without_snapshots: bool = False,
) -> Plan:
    """What ``table.maintenance.plan_orphan_removal`` does, with the reading spread over Spark tasks; raises as that."""
    return orphans.plan_orphan_removal(
        table_to_change(table.maintenance.context),
        older_than_millis=as_millis("older_than", older_than),
        mode=mode,
        without_snapshots=without_snapshots,
        executor=SparkExecutor(spark),
    )


def apply_spark(spark: SparkSession, table: Table, plan: Plan) -> Any:
    """What ``table.maintenance.apply`` does, with the long parts spread: orphans, a purge, expiry of snapshots.

    Raises as that, InvalidRequest for a plan of another operation.
    """
    if not isinstance(plan, Plan) or plan.operation not in APPLY:
        raise InvalidRequest(f"Spark applies plans to {', '.join(sorted(APPLY))}, not {plan!r:.80}")
    return APPLY[plan.operation](table_to_change(table.maintenance.context), plan, executor=SparkExecutor(spark))


@dataclass(frozen=True)
class SparkExecutor:
    """``maintain.hands.Hands`` of a Spark session; a task takes so many directories, manifests or files."""

    spark: SparkSession
    directories_per_task: int = 200
    manifests_per_task: int = 50
    files_per_task: int = 1000
    moves_at_once: int = 16

    def candidates(self, context: TableContext, places: Sequence[Directory], before_millis: int) -> Found:
        """Every task lists its directories."""
        reference = TableReference.of(context)

        def work(payload: bytes) -> Iterator[pa.RecordBatch]:
            with unpacked(payload, "directories", _VERSION) as value:
                mine = [Directory(path, Kind(kind)) for path, kind in value["places"]]
            found = candidates(reference.open(), mine, before_millis)
            files = [[f.path, f.size, f.modified_millis] for f in found.files]
            yield _answer({"files": files, "protected": [[p.what, p.by] for p in found.protected]})

        found = Found()
        chunks = [{"places": [[d.path, d.kind] for d in chunk]} for chunk in _chunks(places, self.directories_per_task)]
        for value in self._run(chunks, work):
            found.files += [FileInfo(path, False, size, modified) for path, size, modified in value["files"]]
            found.protected += [Protected(what, by) for what, by in value["protected"]]
        return found

    def data_names(self, context: TableContext, manifests: Mapping[str, bool], among: Collection[str]) -> set[str]:
        """Every task opens its manifests; the driver opens those that a task could not."""
        reference, wanted = TableReference.of(context), frozenset(among)

        def work(payload: bytes) -> Iterator[pa.RecordBatch]:
            with unpacked(payload, "manifests", _VERSION) as value:
                mine = dict(value["manifests"])
            opened, names, unread = reference.open(), set[str](), []
            for name in mine:
                try:
                    names |= data_names(opened, {name: True}, wanted)
                except CorruptTable:
                    unread.append(name)
            yield _answer({"read": sorted(mine.keys() - set(unread)), "names": sorted(names)})

        names, read = set[str](), set[str]()
        chunks = [{"manifests": chunk} for chunk in _chunks(list(manifests.items()), self.manifests_per_task)]
        for value in self._run(chunks, work):
            names.update(value["names"])
            read.update(value["read"])
        return names | data_names(context, {n: must for n, must in manifests.items() if n not in read}, wanted)

    def move(self, context: TableContext, moves: Sequence[tuple[str, str]]) -> list[bool]:
        """By threads here, which have ended when this returns or raises."""
        with ThreadPoolExecutor(self.moves_at_once) as threads:
            return list(threads.map(lambda way: _moved(context.storage, *way), moves))

    def delete(self, context: TableContext, paths: Sequence[str]) -> None:
        """Every task deletes its files."""
        storage = context.storage

        def work(payload: bytes) -> Iterator[pa.RecordBatch]:
            with unpacked(payload, "files", _VERSION) as value:
                mine = [str(path) for path in value["paths"]]
            yield _answer({"deleted": storage.delete(mine)})

        self._run([{"paths": chunk} for chunk in _chunks(paths, self.files_per_task)], work)

    def _run(
        self, chunks: Sequence[Mapping[str, Any]], work: Callable[[bytes], Iterator[pa.RecordBatch]]
    ) -> list[Mapping[str, Any]]:
        """The answers of the tasks, one for each chunk; none may be missing."""
        if not chunks:
            return []
        rows = run_tasks(self.spark, [pack(_VERSION, dict(c)) for c in chunks], work, "answer binary").collect()
        if len(rows) != len(chunks):
            raise CorruptTable(f"{len(rows)} of {len(chunks)} Spark tasks answered: nothing is concluded from that")
        answers: list[Mapping[str, Any]] = []
        for row in rows:
            with unpacked(bytes(row["answer"]), "answer of a task", _VERSION) as value:
                answers.append(value)
        return answers


def _chunks(items: Sequence[_T], size: int) -> list[Sequence[_T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _answer(value: Mapping[str, Any]) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pack(_VERSION, dict(value))], pa.binary())], names=["answer"])


def _moved(storage: Storage, source: str, target: str) -> bool:
    try:
        storage.move(source, target)
    except FileNotFoundError:
        return False
    return True
