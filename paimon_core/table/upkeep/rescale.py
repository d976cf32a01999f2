"""Rescale: rewrites the rows of some partitions into another number of buckets (format 11).

Each bucket is read as a full compaction reads it: the rows of a key are merged, and deletes and deletion vectors are
applied. Level 0 is included, even if reads leave it out. The bucket of each row is then computed again. With a primary
key, the new files of a bucket are one sorted run at the last level, so that reads show all rows without a compaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from paimon_core.commit.overwrite import Overwrite
from paimon_core.commit.read_set import Reads
from paimon_core.compact.compaction import run
from paimon_core.compact.planning import plan
from paimon_core.errors import CorruptTable, InvalidRequest, ReadOutdated, shown
from paimon_core.lsm.levels import Levels, num_levels
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.live_files import refuse_unread
from paimon_core.plan.partitions import matching_partitions
from paimon_core.predicate import Where
from paimon_core.table.commit_request import CommitRequest, Committed
from paimon_core.table.rows.repeat import Found, repeat_when_outdated
from paimon_core.table.upkeep.rescale_task import OldBucket, RescaleTask, RescaleWork, run_rescales
from paimon_core.table_indexes.bucket_vectors import index_files_by_bucket

MAX_BUCKETS = 2**31 - 1
"""The largest number of buckets of a partition, which is stored as a 32-bit number (format 4.3)."""


_Partitions = Mapping[bytes, Sequence[OldBucket]]


def rescale(
    request: CommitRequest, buckets: int | None = None, where: Where | None = None, work: RescaleWork = run_rescales
) -> Committed | None:
    """Rewrite the partitions into ``buckets`` buckets in one commit; see ``Table.rescale``."""
    count = _count(request.context, buckets)

    def read(context: TableContext) -> Found[_Partitions]:
        latest, partitions = read_latest(context.snapshots, partial(_to_rescale, context, count, where))
        files = [f for found in partitions.values() for bucket in found for f in bucket.files]
        return Found(Reads(latest, partitions.__contains__), files, partitions)

    def rewrite(request: CommitRequest, found: Found[_Partitions]) -> Committed | None:
        context, partitions = request.context, found.content
        if not partitions:
            return None
        if _awaits_changelog(context, partitions):
            _compact(request, where, partitions)
            raise ReadOutdated(f"table {context.name}: the compaction before the rescale has replaced files")
        target = Overwrite(partitions.__contains__, waiting=False)
        tasks = [RescaleTask(partition, count, tuple(old)) for partition, old in partitions.items()]
        return request.complete(work(context, tasks), target, reads=found.reads)

    return repeat_when_outdated(request, read, rewrite)


def _count(context: TableContext, buckets: int | None) -> int:
    """Return the number of buckets to create; raises InvalidRequest for a table without fixed buckets."""
    option = context.options["bucket"]
    if option == -1:
        raise InvalidRequest(
            f"table {context.name} has bucket = -1: "
            + ("its buckets are dynamic" if context.is_keyed else "it has no buckets")
            + ", so their number cannot be changed",
            table=context.name,
        )
    if buckets is None and context.is_postponed:
        raise InvalidRequest(
            f"table {context.name} has bucket = -2: a rescale needs the number of buckets", table=context.name
        )
    count = option if buckets is None else buckets
    if type(count) is not int or not 1 <= count <= MAX_BUCKETS:
        raise InvalidRequest(f"a number of buckets must be from 1 to {MAX_BUCKETS}, not {shown(count, 60)}")
    return count


def _to_rescale(
    context: TableContext, count: int, where: Where | None, latest: Snapshot | None
) -> tuple[Snapshot | None, _Partitions]:
    """Return the snapshot, and the buckets of the matching partitions whose number of buckets is not ``count``."""
    matches = None if where is None else matching_partitions(context, where)
    if latest is None:
        return None, {}
    with context.manifests.reading(latest):
        indexes = index_files_by_bucket(context.manifests.read_indexes(latest.index_manifest))
        entries = context.manifests.entries_of(latest)
    chosen = [e for e in entries if e.bucket >= 0 and (matches is None or matches(e.partition))]
    totals = _totals(context, chosen)
    found: dict[bytes, list[OldBucket]] = {partition: [] for partition, total in totals.items() if total != count}
    for (partition, bucket), some in sorted(by_bucket(chosen).items()):
        if partition in found:
            files = tuple(e.file for e in some)
            found[partition].append(OldBucket(bucket, files, indexes.get((partition, bucket), ())))
    return latest, found


def _totals(context: TableContext, entries: Sequence[ManifestEntry]) -> dict[bytes, int]:
    """Return the number of buckets of each partition.

    Raises CorruptTable when the files of a partition state no number or several numbers, and UnsupportedFeature for a
    file that a scan could not read either.
    """
    totals: dict[bytes, set[int]] = {}
    for entry in entries:
        totals.setdefault(entry.partition, set()).add(entry.total_buckets)
    for partition, found in totals.items():
        if len(found) > 1 or min(found) < 1:
            where = context.partition_path(partition) or "the table"
            raise CorruptTable(
                f"table {context.name}: the files of {where} have {sorted(found)} buckets: only one number is right",
                table=context.name,
            )
    for entry in entries:
        refuse_unread(entry, context.paths)
    return {partition: min(found) for partition, found in totals.items()}


def _awaits_changelog(context: TableContext, partitions: _Partitions) -> bool:
    """Whether a later compaction would write changes to the changelog that an overwrite would lose (format 10)."""
    producer = context.options["changelog-producer"]
    if producer not in ("lookup", "full-compaction"):
        return False
    return any(
        file.level == 0 or (producer == "full-compaction" and file.level < levels.max_level)
        for buckets in partitions.values()
        for levels in (Levels.of(bucket.files, num_levels(context.options)) for bucket in buckets)
        for file in levels.files
    )


def _compact(request: CommitRequest, where: Where | None, partitions: _Partitions) -> None:
    """Compact the partitions fully, and commit; raises CommitConflict when concurrent commits conflicted."""
    tasks = plan(request.context, full=True, where=where)
    some = [replace(task, of_full_table=False) for task in tasks if task.partition in partitions]
    if some:
        run(request.context, request.author(), some)
