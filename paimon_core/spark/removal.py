"""Clean-up in Spark: tasks list directories, read manifests and delete files; the driver makes all decisions.

The driver keeps the order that makes a clean-up safe (``maintain.orphans``): the listing is complete before the
references are read, and references are read again when a plan is applied and after files were moved. When a task cannot
read a manifest, the driver reads the manifest again, so that a missing manifest is handled in the same way as without
Spark.

Files are moved by threads of the driver, not by tasks. Spark may repeat a task, and a task may continue after Spark
counts it as failed. A late move could then remove a file that the driver has restored in the meantime. Late listings,
reads and deletions are harmless.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from paimon_core.argument_checks import as_millis
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
from paimon_core.spark.arguments import check_session_and_table
from paimon_core.spark.reference import TableReference
from paimon_core.spark.tasks import collect_tasks
from paimon_core.storage.storage import FileInfo, Storage
from paimon_core.table.table import Table

_T = TypeVar("_T")
_VERSION = 1
_DAY = datetime.timedelta(days=1)
APPLY: Mapping[str, Callable[..., Any]] = {
    orphans.OPERATION: orphans.apply_orphan_removal,
    quarantine.OPERATION: quarantine.apply_purge,
    expire.OPERATION: expire.apply_snapshot_expiry,
}
"""For each operation of a plan, the function that applies the plan with an executor."""


def plan_orphan_removal_spark(
    spark: SparkSession,
    table: Table,
    *,
    older_than: datetime.timedelta = _DAY,
    mode: str = "quarantine",
    without_snapshots: bool = False,
) -> Plan:
    """Return a plan as ``table.maintenance.plan_orphan_removal`` does, with the reads in Spark tasks.

    Raises the errors of that method, and CorruptTable when Spark returns no result for a task.
    """
    check_session_and_table(spark, table, Table)
    return orphans.plan_orphan_removal(
        table_to_change(table.maintenance.context),
        older_than_millis=as_millis("older_than", older_than),
        mode=mode,
        without_snapshots=without_snapshots,
        executor=SparkExecutor(spark),
    )


def apply_spark(spark: SparkSession, table: Table, plan: Plan) -> Any:
    """Apply a plan as ``table.maintenance.apply`` does, with the long steps in Spark tasks.

    Supports plans for the removal of orphans, the purge of quarantines and the expiry of snapshots. Raises the errors
    of ``table.maintenance.apply``, and InvalidRequest for a plan of another operation.
    """
    check_session_and_table(spark, table, Table)
    if not isinstance(plan, Plan) or plan.operation not in APPLY:
        raise InvalidRequest(f"apply_spark applies plans to {', '.join(sorted(APPLY))}, not {plan!r:.80}")
    return APPLY[plan.operation](table_to_change(table.maintenance.context), plan, executor=SparkExecutor(spark))


@dataclass(frozen=True)
class SparkExecutor:
    """A ``maintain.executor.WorkExecutor`` on a Spark session.

    The other fields are the numbers of directories, manifests and files per task, and the number of concurrent moves.
    """

    spark: SparkSession
    directories_per_task: int = 200
    manifests_per_task: int = 50
    files_per_task: int = 1000
    moves_at_once: int = 16

    def candidates(self, context: TableContext, places: Sequence[Directory], before_millis: int) -> Found:
        """List the directories in Spark tasks, and return the files that may be orphans.

        These are the files older than ``before_millis``. The result also has the entries that must be kept.
        """
        reference = TableReference.of(context)

        def work(payload: bytes) -> bytes:
            with unpacked(payload, "directories", _VERSION) as value:
                mine = [Directory(path, Kind(kind)) for path, kind in value["places"]]
            found = candidates(reference.open(), mine, before_millis)
            files = [[f.path, f.size, f.modified_millis] for f in found.files]
            return pack(_VERSION, {"files": files, "protected": [[p.what, p.by] for p in found.protected]})

        found = Found()
        chunks = [{"places": [[d.path, d.kind] for d in chunk]} for chunk in _chunks(places, self.directories_per_task)]
        for value in self._run(chunks, work):
            found.files += [FileInfo(path, False, size, modified) for path, size, modified in value["files"]]
            found.protected += [Protected(what, by) for what, by in value["protected"]]
        return found

    def data_names(self, context: TableContext, manifests: Mapping[str, bool], among: Collection[str]) -> set[str]:
        """Read the manifests in Spark tasks, and return the file names in ``among`` that the manifests reference.

        The driver reads manifests that a task could not read.
        """
        reference, wanted = TableReference.of(context), frozenset(among)

        def work(payload: bytes) -> bytes:
            with unpacked(payload, "manifests", _VERSION) as value:
                mine = dict(value["manifests"])
            opened, names, unread = reference.open(), set[str](), []
            for name in mine:
                try:
                    names |= data_names(opened, {name: True}, wanted)
                except CorruptTable:
                    unread.append(name)
            return pack(_VERSION, {"read": sorted(mine.keys() - set(unread)), "names": sorted(names)})

        names, read = set[str](), set[str]()
        chunks = [{"manifests": chunk} for chunk in _chunks(list(manifests.items()), self.manifests_per_task)]
        for value in self._run(chunks, work):
            names.update(value["names"])
            read.update(value["read"])
        return names | data_names(context, {n: must for n, must in manifests.items() if n not in read}, wanted)

    def move(self, context: TableContext, moves: Sequence[tuple[str, str]]) -> list[bool]:
        """Move the files in threads of the driver; return for each file False if it did not exist.

        All threads have ended when this function returns or raises.
        """
        with ThreadPoolExecutor(self.moves_at_once) as threads:
            return list(threads.map(lambda pair: _move(context.storage, *pair), moves))

    def delete(self, context: TableContext, paths: Sequence[str]) -> None:
        """Delete the files in Spark tasks."""
        storage = context.storage

        def work(payload: bytes) -> bytes:
            with unpacked(payload, "files", _VERSION) as value:
                mine = [str(path) for path in value["paths"]]
            return pack(_VERSION, {"deleted": storage.delete(mine)})

        self._run([{"paths": chunk} for chunk in _chunks(paths, self.files_per_task)], work)

    def _run(self, chunks: Sequence[Mapping[str, Any]], work: Callable[[bytes], bytes]) -> list[Mapping[str, Any]]:
        """Run one task per chunk and return the answers; raises CorruptTable when an answer is missing."""
        found = collect_tasks(self.spark, [pack(_VERSION, chunk) for chunk in chunks], work)
        if len(found) != len(chunks):
            raise CorruptTable(
                f"only {len(found)} of {len(chunks)} Spark tasks returned a result, so it is incomplete and not used"
            )
        answers: list[Mapping[str, Any]] = []
        for answer in found:
            with unpacked(answer, "answer of a task", _VERSION) as value:
                answers.append(value)
        return answers


def _chunks(items: Sequence[_T], size: int) -> list[Sequence[_T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _move(storage: Storage, source: str, target: str) -> bool:
    try:
        storage.move(source, target)
    except FileNotFoundError:
        return False
    return True
