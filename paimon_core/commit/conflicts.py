"""Conflicts: checks that the changes of a commit are still valid on its base (format 14.3).

A commit is not retried after a conflict, because its changes were planned for a state that no longer exists: a
concurrent commit has deleted or added the same file, or has added files with the same keys to the same level. The error
names the concurrent commit and says what to do. An append conflicts only if the number of buckets differs or one of its
files was added before, so the check of an append reads few manifests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from paimon_core.codec.binary_row.row_columns import RowBytes
from paimon_core.commit.base import Base
from paimon_core.commit.duplicates import added_before
from paimon_core.commit.snapshot_history import changed_by, describe
from paimon_core.commit.touched_files import first_of_each_number, runs_of, touched_files
from paimon_core.errors import CommitConflict
from paimon_core.lsm.key_ranks import ranks_of_keys
from paimon_core.metadata import clock
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.entry_columns import EntryColumns, Indices
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.times.partition_time import is_expired_by_value

_TWO_COMPACTORS = (
    "; two jobs compact this table: let only one of them do it (with table option write-only = true, writes do "
    "not compact; only explicit calls do) and plan the compaction again"
)
_COMMITTED_BEFORE = "; these messages were committed before: use a user and an identifier to commit exactly once"
_READ_AGAIN = "; read the table again and repeat the change"
_PLAN_AGAIN = "; plan the compaction again"


def check_append(base: Base, entries: Sequence[ManifestEntry], *, fresh: bool = False) -> None:
    """Check ADD entries of level 0, for which the existing files need not be read.

    The entries must state the same number of buckets as their partition has, and no file may have been added before.
    ``fresh``: the call that commits the files also wrote them, so the check for files added before is skipped. Raises
    CommitConflict, which names the file, when a check fails.
    """
    _check_consistent(base, entries)
    _check_buckets(base, [*_newest_of_each_partition(base, entries), *entries])
    if fresh:
        return
    for entry, snapshot in added_before(base, entries):
        by = f": {describe(snapshot)} added it" if snapshot else ", or was in it before"
        _raise_conflict(base, entry, f"is already in the table{by}{_COMMITTED_BEFORE}", snapshot)


def check_changes(base: Base, kind: CommitKind, entries: Sequence[ManifestEntry]) -> None:
    """Check entries that delete files, or add files above level 0, against all live files of their partitions.

    Raises CommitConflict naming the file when a file to delete is not live, a file to add is live already, the number
    of buckets differs within a partition, or keys overlap within a level.
    """
    _check_consistent(base, entries)
    touched = touched_files(base, entries)
    same_name = np.isin(touched.files.name_digest, EntryColumns.of_entries(entries).name_digest)
    live = {e.identity: e for e in touched.files.entries(np.flatnonzero(same_name))}
    for entry in entries:
        if entry.kind is FileKind.ADD:
            if entry.identity in live:
                by = changed_by(base, entry, FileKind.ADD)
                how = f": {describe(by)} added it" if by else ""
                _raise_conflict(base, entry, f"is already in the table{how}{_COMMITTED_BEFORE}", by)
            live[entry.identity] = entry
        elif live.pop(entry.identity, None) is None:
            _raise_file_removed(base, kind, entry)
    left = EntryColumns.concat([touched.files.filter(~same_name), tuple(live.values())])
    _check_buckets(base, [*first_of_each_number(left), *touched.others])
    _check_levels(base, left)


def _check_consistent(base: Base, entries: Sequence[ManifestEntry]) -> None:
    """Check that no entry occurs twice, and that no file is deleted and then added.

    The manifests of one commit may be merged, and the merge requires that a deleted file is not added again.
    """
    seen: set[Any] = set()
    for entry in entries:
        if (entry.kind, entry.identity) in seen:
            _raise_conflict(base, entry, f"occurs twice as {entry.kind.name} in one commit")
        if entry.kind is FileKind.ADD and (FileKind.DELETE, entry.identity) in seen:
            _raise_conflict(
                base, entry, f"is already in the table, and the commit would delete it and add it{_READ_AGAIN}"
            )
        seen.add((entry.kind, entry.identity))


def _check_buckets(base: Base, entries: Iterable[ManifestEntry]) -> None:
    counts: dict[bytes, int] = {}
    for entry in entries:
        total = entry.total_buckets
        if total > 0 and counts.setdefault(entry.partition, total) != total:
            _raise_conflict(
                base,
                entry,
                f"was written for {total} buckets, but its partition has {counts[entry.partition]}; "
                "only an overwrite of the partition changes the number",
                buckets=counts[entry.partition],
            )


def _check_levels(base: Base, live: EntryColumns) -> None:
    """Check that each level from 1 on is a sorted run: the key ranges of its files must not overlap."""
    schema = base.context.schema
    at = np.flatnonzero(live.numbers["level"] > 0)
    if not schema.primary_keys or not len(at):
        return
    types = [f.type for f in schema.key_fields]
    run = runs_of(live)[at]
    low, high = ranks_of_keys(_keys(live, "min_key", at, len(types)), _keys(live, "max_key", at, len(types)), types)
    order = np.lexsort((low, run))
    run = run[order]
    shared = np.flatnonzero((run[1:] == run[:-1]) & (high[order][:-1] >= low[order][1:]))
    if not len(shared):
        return
    first, second = live.entries(at[order[shared[0] : shared[0] + 2]])
    by = changed_by(base, first, FileKind.ADD) or changed_by(base, second, FileKind.ADD)
    cause = f", {describe(by)}," if by else ""
    _raise_conflict(
        base,
        second,
        f"overlaps the keys of {first.file.file_name} on level {second.file.level}: "
        f"another compaction{cause} filled it{_TWO_COMPACTORS}",
        by,
    )


def _keys(columns: EntryColumns, name: str, at: Indices, arity: int) -> RowBytes:
    starts, lengths = (column[at].astype(np.int64) for column in columns.spans[name])
    return RowBytes(columns.buffer, starts, lengths, arity)


def _newest_of_each_partition(base: Base, entries: Sequence[ManifestEntry]) -> Iterator[ManifestEntry]:
    """Yield one live entry for each partition of ``entries`` that has live entries.

    Manifests are read from the newest one on, and only until every partition has an entry.
    """
    wanted = {e.partition for e in entries if e.total_buckets > 0}
    deleted = set()
    for manifest in reversed(base.manifests):
        if not base.may_hold(manifest, wanted):
            continue
        for entry in reversed(base.read_holding(manifest, wanted)):
            if entry.partition not in wanted or entry.total_buckets <= 0:
                continue
            if entry.kind is FileKind.DELETE:
                deleted.add(entry.identity)
            elif entry.identity not in deleted:
                wanted.discard(entry.partition)
                yield entry


def _raise_file_removed(base: Base, kind: CommitKind, entry: ManifestEntry) -> NoReturn:
    by = changed_by(base, entry, FileKind.DELETE)
    cause = "" if by is None else f": {describe(by)} removed it"
    if is_expired_by_value(base.context, entry.partition, clock.now_millis()):
        advice = (
            f"; partition {base.context.partition_path(entry.partition)} has expired (option "
            "partition.expiration-time): leave out rows that are as old, because they make every commit fail"
        )
    elif by is not None and by.commit_kind is CommitKind.OVERWRITE and _drops_old_partitions(base):
        advice = (
            "; old partitions of the table are dropped (option partition.expiration-time): if this one was dropped, "
            "leave out rows that are as old, because they make every commit fail"
        )
    elif kind is not CommitKind.COMPACT:
        advice = _READ_AGAIN
    elif by is not None and by.commit_kind is CommitKind.COMPACT:
        advice = _TWO_COMPACTORS
    else:
        advice = _PLAN_AGAIN
    _raise_conflict(base, entry, f"is no longer in the table{cause}{advice}", by)


def _drops_old_partitions(base: Base) -> bool:
    schema = base.context.schema
    return bool(schema.partition_keys) and "partition.expiration-time" in schema.options


def _raise_conflict(
    base: Base, entry: ManifestEntry, problem: str, other: Snapshot | None = None, **more: Any
) -> NoReturn:
    place = base.context.bucket_path(entry.partition, entry.bucket)
    facts: dict[str, Any] = {"table": base.context.name, "file": entry.file.file_name, "bucket": place, **more}
    if other is not None:
        facts |= {
            "other_user": other.commit_user,
            "other_snapshot": other.id,
            "other_kind": str(other.commit_kind),
        }
    raise CommitConflict(
        f"table {base.context.name}: file {entry.file.file_name} of {place} {problem}", snapshot=base.id, **facts
    )
