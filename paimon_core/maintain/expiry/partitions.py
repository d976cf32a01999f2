"""Partition expiry: drop partitions whose time is over, by what their values say or by their last update (format 16.3).

A plan names the partitions; applying it is one commit, or several of ``partition.expiration-batch-size``, by a user of
the plan's own, so that a plan which is applied twice, or after a crash, drops nothing twice. The files stay until the
snapshots that hold them expire.
"""

from __future__ import annotations

import base64
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from paimon_core.codec.binary_row import decode_row
from paimon_core.codec.partition_text import partition_values
from paimon_core.commit.committer import commit
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CorruptTable, InvalidRequest, SnapshotNotFound
from paimon_core.maintain.expiry.retention import refuse_unread_options
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.metadata.commit_message import CommitMessage, deletions
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import latest_entries, read_latest
from paimon_core.metadata.local_time import epoch_millis
from paimon_core.metadata.manifest import ManifestEntry
from paimon_core.metadata.manifest_file import live_entries
from paimon_core.metadata.partition_time import BY_VALUE, LIFETIME, STRATEGY, PartitionTime, local_nanos
from paimon_core.metadata.snapshot import Snapshot

OPERATION = "expire-partitions"


@dataclass(frozen=True)
class PartitionReport:
    """What an expiry of partitions did."""

    table: str
    dropped: tuple[str, ...] = ()
    """Directories below the root, such as ``dt=2024-01-01``."""
    snapshots: tuple[int, ...] = ()
    """The commits that dropped them, those of an earlier run of the same plan included."""
    data_files: int = 0
    size_bytes: int = 0
    protected: tuple[Protected, ...] = ()


def plan_partition_expiry(
    context: TableContext,
    *,
    now_millis: int,
    lifetime_millis: int | None = None,
    strategy: str | None = None,
    limit: int | None = None,
) -> Plan:
    """Find the partitions that are older than their lifetime; what is not given comes from the options.

    ``strategy`` "values-time": the time that the values tell, in this process's time zone; a partition whose values
    tell none never expires, and the plan says so. "update-time": the creation of its newest file. At most ``limit``
    partitions, the first in the order of their values. Raises InvalidRequest for a table without partitions or without
    a lifetime, UnsupportedFeature for a time format that is not read here.
    """
    strategy = context.options[STRATEGY] if strategy is None else strategy
    lifetime = context.options[LIFETIME] if lifetime_millis is None else lifetime_millis
    limit = limit or context.options["partition.expiration-max-num"]
    _check(context, strategy, lifetime)
    assert lifetime is not None
    state = TableState.of(context)
    live, updated = _partitions(context)
    if strategy == BY_VALUE:
        expired, protected = _by_value(context, live, local_nanos(now_millis) - lifetime * 1_000_000)
    else:
        border = epoch_millis(local_nanos(now_millis) // 1_000_000 - lifetime)
        expired, protected = _by_update(context, updated, border)
    expired.sort(key=lambda p: _texts(context, p))
    over = [Protected(_named(context, p), f"the limit of one run, {limit}: run it again") for p in expired[limit:]]
    files = [f for p in expired[:limit] for f in _files(context, live[p])]
    return Plan(
        OPERATION,
        context.name,
        context.branch,
        state,
        tuple(_named(context, p) for p in expired[:limit]),
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

    By value, a partition goes with all that it holds when the commit lands. By update, only the files that the plan has
    seen go: rows that came since stay. Raises PlanOutdated when the table moved, CommitConflict when a compaction
    rewrote those files meanwhile, CommitStateUnknown: apply the same plan again.
    """
    plan.check(context, OPERATION)
    partitions = _partitions_of(plan, context)
    by_value = plan.argument("strategy", str) == BY_VALUE
    size = context.options["partition.expiration-batch-size"] or max(1, len(partitions))
    snapshots: list[Snapshot] = []
    for number, start in enumerate(range(0, len(partitions), size)):
        batch = frozenset(partitions[start : start + size])
        messages = [] if by_value else _deletes(context, batch, {f.path for f in plan.files})
        snapshots += commit(
            messages,
            context=context,
            user=plan.argument("user", str),
            identifier=number,
            overwrite=Overwrite(batch.__contains__) if by_value else None,
        )
    return PartitionReport(
        context.name,
        tuple(context.partition_path(p) for p in partitions),
        tuple(s.id for s in snapshots),
        len(plan.files),
        plan.size_bytes,
        plan.protected,
    )


def _partitions_of(plan: Plan, context: TableContext) -> list[bytes]:
    """The partitions that a plan names; raises InvalidRequest for what is none of the table."""
    named = plan.argument("partitions", list, str)
    try:
        partitions = [base64.b64decode(p, validate=True) for p in named]
        for partition in partitions:
            context.partition_path(partition)
    except (ValueError, CorruptTable) as error:
        raise InvalidRequest(
            f"a plan to {OPERATION} names what is no partition of table {context.name}: {error}", table=context.name
        ) from error
    return partitions


def is_due_after_write(context: TableContext) -> bool:
    """Whether a write is to be followed by an expiry of partitions.

    The check interval counts in the life of one writer, and a write is a life of its own: it looks when the interval is
    0, or when the end of its input is the time to look.
    """
    options = context.options
    looks = options["partition.expiration-check-interval"] == 0 or options["end-input.check-partition-expire"]
    return bool(context.schema.partition_keys) and options[LIFETIME] is not None and looks


def _check(context: TableContext, strategy: str, lifetime: int | None) -> None:
    refuse_unread_options(context)
    if strategy not in (BY_VALUE, "update-time"):
        raise InvalidRequest(f"strategy {strategy!r:.40} is neither 'values-time' nor 'update-time'", strategy=strategy)
    if not context.schema.partition_keys:
        raise InvalidRequest(f"table {context.name} has no partitions that could expire", table=context.name)
    if lifetime is None:
        raise InvalidRequest(
            f"table {context.name} does not say when its partitions expire (option {LIFETIME}): give older_than",
            table=context.name,
            option=LIFETIME,
        )


_Live = dict[bytes, list[ManifestEntry]]


def _partitions(context: TableContext) -> tuple[_Live, dict[bytes, int | None]]:
    """The live files by partition, and when each was updated last: epoch millis, None where a file does not say.

    Files that are deleted already count for the update as long as the manifests tell of them, as in Java.
    """
    entries = read_latest(context.snapshots, lambda latest: _entries(context, latest))
    live: _Live = defaultdict(list)
    for entry in live_entries(entries):
        live[entry.partition].append(entry)
    updated: dict[bytes, int | None] = {}
    for entry in entries:
        if entry.partition in live:
            local = entry.file.creation_time_millis
            last, now = updated.get(entry.partition, 0), None if local is None else epoch_millis(local)
            updated[entry.partition] = None if last is None or now is None else max(last, now)
    return dict(live), updated


def _entries(context: TableContext, snapshot: Snapshot | None) -> list[ManifestEntry]:
    """What the manifests of a snapshot add and delete."""
    if snapshot is None:
        return []
    manifests = context.manifests
    with manifests.reading(snapshot):
        read = (manifests.read_manifest(m.file_name, m.file_size) for m in manifests.manifests_of(snapshot))
        return list(chain.from_iterable(read))


def _by_value(context: TableContext, live: Iterable[bytes], border: int) -> tuple[list[bytes], list[Protected]]:
    times, expired, protected = PartitionTime(context), [], []
    for partition in live:
        told, reason = times.told_by(partition)
        if told is None:
            protected.append(Protected(_named(context, partition), f"{reason}; drop it, or use update-time"))
        elif told.total_nanos < border:
            expired.append(partition)
    return expired, sorted(protected, key=lambda p: p.what)


def _by_update(
    context: TableContext, updated: dict[bytes, int | None], border: int | None
) -> tuple[list[bytes], list[Protected]]:
    if border is None:  # before the calendar begins
        return [], []
    silent = [p for p, last in updated.items() if last is None]
    protected = sorted(_named(context, p) for p in silent)
    return (
        [p for p, last in updated.items() if last is not None and last < border],
        [Protected(name, "one of its files does not say when it was made") for name in protected],
    )


def _deletes(context: TableContext, partitions: Iterable[bytes], planned: set[str]) -> list[CommitMessage]:
    """Deletes of the planned files that are live, by bucket."""
    wanted = frozenset(partitions)
    if context.snapshots.latest() is None:
        raise SnapshotNotFound(f"table {context.name} has no snapshot any more", table=context.name)
    return deletions(
        entry
        for entry in latest_entries(context, wanted)
        if entry.bucket >= 0 and planned.issuperset(_paths(context, entry)[:1])
    )


def _files(context: TableContext, entries: Sequence[ManifestEntry]) -> list[PlannedFile]:
    return [
        PlannedFile(path, 0 if position else entry.file.file_size)
        for entry in entries
        for position, path in enumerate(_paths(context, entry))
    ]


def _paths(context: TableContext, entry: ManifestEntry) -> list[str]:
    partition, file = context.partition_path(entry.partition), entry.file
    return [context.paths.data_file(partition, entry.bucket, name) for name in (file.file_name, *file.extra_files)]


def _named(context: TableContext, partition: bytes) -> str:
    return f"partition {context.partition_path(partition)}"


def _texts(context: TableContext, partition: bytes) -> tuple[str, ...]:
    options, types = context.options, [f.type for f in context.schema.partition_fields]
    legacy, default = options["partition.legacy-name"], options["partition.default-name"]
    return (",".join(partition_values(decode_row(partition, types), types, legacy=legacy, default_name=default)),)
