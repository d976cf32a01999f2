"""Partition expiry: drops partitions that are older than their lifetime, by value or by last update (format 16.3).

A plan contains the partitions. Applying a plan creates one commit, or several commits of
``partition.expiration-batch-size`` partitions each. The plan contains its own commit user, so a plan that is applied
twice, or again after a crash, is committed exactly once. The files are deleted later, when the snapshots that reference
them expire.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.codec.partition_text import partition_values
from paimon_core.commit.author import Author
from paimon_core.commit.changes import changes_of
from paimon_core.commit.committer import commit_changes
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CorruptTable, InvalidRequest, SnapshotNotFound
from paimon_core.maintain.expiry.retention import limit_text, refuse_unread_options
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.metadata.commit_message import CommitMessage, deletions
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import latest_entries, read_latest
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.live_manifests import LiveManifests
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.metadata.times.partition_time import BY_VALUE, LIFETIME, STRATEGY, PartitionTime, local_nanos
from paimon_core.table_indexes.bucket_vectors import dropping_vectors

OPERATION = "expire-partitions"
_LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class PartitionReport:
    """The result of an expiry of partitions."""

    table: str
    dropped: tuple[str, ...] = ()
    """The directories of the dropped partitions, relative to the root, such as ``dt=2024-01-01``."""
    snapshots: tuple[int, ...] = ()
    """The snapshot ids of the commits that dropped the partitions, including commits of an earlier run of the plan."""
    data_files: int = 0
    size_bytes: int = 0
    protected: tuple[Protected, ...] = ()
    snapshot: Snapshot | None = None
    """The snapshot of the last commit that dropped partitions."""


def plan_partition_expiry(
    context: TableContext,
    *,
    now_millis: int,
    lifetime_millis: int | None = None,
    strategy: str | None = None,
    limit: int | None = None,
) -> Plan:
    """Find the partitions that are older than their lifetime; arguments that are None are taken from the options.

    With the strategy "values-time", the age of a partition is counted from the time in its partition values, in this
    process's time zone; a partition whose values contain no time is protected. With "update-time", the age is counted
    from the creation time of the partition's newest file. Plans at most ``limit`` partitions (0: none), in the order of
    their values. Raises InvalidRequest for a table without partitions or without a lifetime and for a negative limit,
    UnsupportedFeature for a time format that is not supported.
    """
    strategy = context.options[STRATEGY] if strategy is None else strategy
    lifetime = context.options[LIFETIME] if lifetime_millis is None else lifetime_millis
    limit = context.options["partition.expiration-max-num"] if limit is None else limit
    _check(context, strategy, lifetime, limit)
    assert lifetime is not None
    state = TableState.of(context)
    manifests = read_latest(context.snapshots, lambda latest: _manifests(context, latest))
    updated = _last_updates(manifests)
    if strategy == BY_VALUE:
        expired, protected = _by_value(context, updated, local_nanos(now_millis) - lifetime * 1_000_000)
    else:
        threshold = epoch_millis(local_nanos(now_millis) // 1_000_000 - lifetime)
        expired, protected = _by_update(context, updated, threshold)
    expired.sort(key=lambda p: _partition_texts(context, p))
    over = [Protected(_description(context, p), limit_text(limit)) for p in expired[limit:]]
    files = _files(context, manifests, expired[:limit])
    return Plan(
        OPERATION,
        context.name,
        context.branch,
        state,
        tuple(_description(context, p) for p in expired[:limit]),
        tuple(files),
        (*protected, *over),
        {
            "partitions": [base64.b64encode(p).decode() for p in expired[:limit]],
            "strategy": strategy,
            "user": f"partition-expiry-{uuid.uuid4()}",
        },
    )


def apply_partition_expiry(context: TableContext, plan: Plan) -> PartitionReport:
    """Drop the partitions of the plan.

    With "values-time", all files that a partition contains at the time of the commit are dropped. With "update-time",
    only the files in the plan are dropped: later rows are kept. Raises PlanOutdated when the table has changed;
    CommitConflict when a concurrent compaction rewrote the files; CommitStateUnknown, after which the same plan can be
    applied again.
    """
    plan.check(context, OPERATION)
    partitions = _partitions_of(plan, context)
    by_value = plan.argument("strategy", str) == BY_VALUE
    size = context.options["partition.expiration-batch-size"] or max(1, len(partitions))
    snapshots: list[Snapshot] = []
    for number, start in enumerate(range(0, len(partitions), size)):
        batch = frozenset(partitions[start : start + size])
        messages = [] if by_value else _deletes(context, batch, {f.path for f in plan.files})
        target = Overwrite(batch.__contains__) if by_value else None
        author = Author(plan.argument("user", str), number)
        snapshots += commit_changes(changes_of(messages, target), context, author, target)
    return PartitionReport(
        context.name,
        tuple(context.partition_path(p) for p in partitions),
        tuple(s.id for s in snapshots),
        len(plan.files),
        plan.size_bytes,
        plan.protected,
        snapshots[-1] if snapshots else None,
    )


def _partitions_of(plan: Plan, context: TableContext) -> list[bytes]:
    """Return the partitions that a plan names; raises InvalidRequest for a value that is no partition of the table."""
    named = plan.argument("partitions", list, str)
    try:
        partitions = [base64.b64decode(p, validate=True) for p in named]
        for partition in partitions:
            context.partition_path(partition)
    except (ValueError, CorruptTable) as error:
        raise InvalidRequest(
            f"a plan to {OPERATION} contains a value that is no partition of table {context.name}: {error}",
            table=context.name,
        ) from error
    return partitions


def is_due_after_write(context: TableContext) -> bool:
    """Whether partitions must be expired after a write.

    In Paimon the check interval is measured per writer, and here each write is a new writer. So partitions are expired
    after a write only when the interval is 0, or when option ``end-input.check-partition-expire`` requests a check at
    the end of the input.
    """
    options = context.options
    checks = options["partition.expiration-check-interval"] == 0 or options["end-input.check-partition-expire"]
    return bool(context.schema.partition_keys) and options[LIFETIME] is not None and checks


def _check(context: TableContext, strategy: str, lifetime: int | None, limit: int) -> None:
    refuse_unread_options(context)
    if strategy not in (BY_VALUE, "update-time"):
        raise InvalidRequest(f"strategy {strategy!r:.40} is neither 'values-time' nor 'update-time'", strategy=strategy)
    if not context.schema.partition_keys:
        raise InvalidRequest(f"table {context.name} has no partitions that could expire", table=context.name)
    if limit < 0:
        raise InvalidRequest(
            f"limit (option partition.expiration-max-num) must be 0 or more, not {limit}", bound="limit"
        )
    if lifetime is None:
        raise InvalidRequest(
            f"table {context.name} has no option {LIFETIME}, so its partitions do not expire: give older_than",
            table=context.name,
            option=LIFETIME,
        )


def _manifests(context: TableContext, snapshot: Snapshot | None) -> LiveManifests:
    manifests = context.manifests
    if snapshot is None:
        return LiveManifests(manifests, [])
    with manifests.reading(snapshot):
        return LiveManifests(manifests, manifests.manifests_of(snapshot))


def _last_updates(manifests: LiveManifests) -> dict[bytes, int | None]:
    """Return the last update of each partition with live files, in epoch milliseconds.

    The last update is None when a file of the partition has no creation time. As in Java, deleted files are included in
    the last update as long as the manifests contain them.
    """
    times: dict[bytes, tuple[int, int]] = {}
    with_files: set[bytes] = set()
    unknown: set[bytes] = set()
    for columns, alive in manifests.each():
        code, partitions = columns.partition_codes()
        created = columns.numbers["creation_time_millis"]
        first, last = np.full(len(partitions), _LATEST), np.full(len(partitions), -_LATEST)
        np.minimum.at(first, code, created)
        np.maximum.at(last, code, created)
        for partition, low, high in zip(partitions, first.tolist(), last.tolist(), strict=True):
            before = times.get(partition, (low, high))
            times[partition] = min(low, before[0]), max(high, before[1])
        with_files.update(partitions[at] for at in np.unique(code[alive]).tolist())
        if (nulls := columns.nulls.get("creation_time_millis")) is not None:
            unknown.update(partitions[at] for at in np.unique(code[nulls]).tolist())
    # Only the first or the last time can be one that Python cannot convert.
    found = {p: [epoch_millis(local) for local in both] for p, both in times.items() if p in with_files}
    return {
        p: None if p in unknown or first is None or last is None else max(0, last) for p, (first, last) in found.items()
    }


def _by_value(context: TableContext, live: Iterable[bytes], threshold: int) -> tuple[list[bytes], list[Protected]]:
    times, expired, protected = PartitionTime(context), [], []
    for partition in live:
        time, reason = times.time_of(partition)
        if time is None:
            protected.append(Protected(_description(context, partition), f"{reason}; drop it, or use update-time"))
        elif time.total_nanos < threshold:
            expired.append(partition)
    return expired, sorted(protected, key=lambda p: p.what)


def _by_update(
    context: TableContext, updated: dict[bytes, int | None], threshold: int | None
) -> tuple[list[bytes], list[Protected]]:
    if threshold is None:  # before the first date that can be represented
        return [], []
    unknown = [p for p, last in updated.items() if last is None]
    protected = sorted(_description(context, p) for p in unknown)
    return (
        [p for p, last in updated.items() if last is not None and last < threshold],
        [Protected(name, "one of its files has no creation time") for name in protected],
    )


def _deletes(context: TableContext, partitions: Iterable[bytes], planned: set[str]) -> list[CommitMessage]:
    """Return commit messages that delete the planned files that are live."""
    wanted = frozenset(partitions)
    if context.snapshots.latest() is None:
        raise SnapshotNotFound(f"table {context.name} has no snapshot any more", table=context.name)
    found = deletions(
        entry
        for entry in latest_entries(context, wanted)
        if entry.bucket >= 0 and planned.issuperset(_paths(context, entry)[:1])
    )
    return dropping_vectors(context, found)


def _files(context: TableContext, manifests: LiveManifests, partitions: Sequence[bytes]) -> list[PlannedFile]:
    """Return the live files of the partitions, in the order of ``partitions``."""
    found: dict[bytes, list[PlannedFile]] = {partition: [] for partition in partitions}
    for columns in manifests if partitions else ():
        for entry in columns.of_partitions(found.__contains__).entries():
            found[entry.partition] += (
                PlannedFile(path, 0 if position else entry.file.file_size)
                for position, path in enumerate(_paths(context, entry))
            )
    return [file for files in found.values() for file in files]


def _paths(context: TableContext, entry: ManifestEntry) -> list[str]:
    return context.file_paths(entry.partition, entry.bucket, entry.file)


def _description(context: TableContext, partition: bytes) -> str:
    return f"partition {context.partition_path(partition)}"


def _partition_texts(context: TableContext, partition: bytes) -> tuple[str, ...]:
    options, types = context.options, [f.type for f in context.schema.partition_fields]
    legacy, default = options["partition.legacy-name"], options["partition.default-name"]
    return (",".join(partition_values(decode_row(partition, types), types, legacy=legacy, default_name=default)),)
