"""Reads: the rows from which a commit was computed. The commit fails when a concurrent commit has changed these rows.

A delete by predicate reads the rows that match and then commits their removal. If another commit changes or adds rows
after the read, the delete has not read these rows. So the commit of the delete raises ReadOutdated, and the caller must
read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from paimon_core.commit.base import Base
from paimon_core.commit.snapshot_history import delta_of, describe, snapshots_since
from paimon_core.errors import CorruptTable, ReadOutdated, SnapshotNotFound
from paimon_core.metadata.commit_message import position_of
from paimon_core.metadata.snapshot import CommitKind, Snapshot


@dataclass(frozen=True)
class Reads:
    """The partitions of one snapshot from which rows were read."""

    snapshot: Snapshot | None
    """None: the table had no snapshot."""
    may_hold: Callable[[bytes], bool]
    """Whether a serialized partition may contain rows that the read selects."""
    any_commit: bool = False
    """Whether any later commit makes the read outdated, even a commit without changes, because properties were read
    too.
    """

    def check(self, base: Base) -> None:
        """Raise ReadOutdated when a later commit changed one of the partitions, or when this cannot be determined."""
        if self.snapshot == base.snapshot:
            return
        if self.any_commit:
            raise self._outdated(base, "it is not the latest snapshot any more", base.snapshot)
        try:
            for snapshot in snapshots_since(base, position_of(self.snapshot)):
                if self._is_change(base, snapshot) and any(map(self.may_hold, _changed_partitions(base, snapshot))):
                    raise self._outdated(base, f"{describe(snapshot)} changed rows of the same partitions", snapshot)
        except (SnapshotNotFound, CorruptTable) as error:
            raise self._outdated(base, f"a later snapshot has expired or was rolled back: {error}") from error

    def _is_change(self, base: Base, snapshot: Snapshot) -> bool:
        """Whether the snapshot may change rows.

        A compaction changes rows when it removes expired rows or moves rows out of the postpone bucket.
        """
        if snapshot.commit_kind is not CommitKind.COMPACT:
            return True
        return base.context.is_postponed or base.context.options["record-level.expire-time"] is not None

    def _outdated(self, base: Base, problem: str, other: Snapshot | None = None) -> ReadOutdated:
        start = 0 if self.snapshot is None else self.snapshot.id
        facts = {} if other is None else {"other_user": other.commit_user, "other_snapshot": other.id}
        return ReadOutdated(
            f"table {base.context.name}: the change was computed from snapshot {start}, but {problem}: read again "
            "and repeat the change",
            table=base.context.name,
            snapshot=start,
            **facts,
        )


def _changed_partitions(base: Base, snapshot: Snapshot) -> Iterator[bytes]:
    """Yield the partitions of the files and of the index files that the snapshot adds and deletes."""
    for entry in delta_of(base, snapshot):
        yield entry.partition
    before = base.context.snapshots.read(snapshot.id - 1).index_manifest if snapshot.id > 1 else None
    if before != snapshot.index_manifest:
        read = base.context.manifests.read_indexes
        for index in set(read(before)) ^ set(read(snapshot.index_manifest)):
            yield index.partition
