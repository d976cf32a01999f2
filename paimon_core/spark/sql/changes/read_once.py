"""Read once: a handle whose changes are computed from one snapshot, which a query of the same statement has read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.table.table import Table


def read_once(table: Table, snapshot: Snapshot | None) -> Table:
    """Return a handle for one change that reads rows and commits: it reads the rows of ``snapshot``.

    The commit raises CommitConflict when a later snapshot changed the rows that were read. Nothing is repeated, because
    other parts of the statement have also read ``snapshot``.
    """
    context = table.with_options({"commit.max-retries": 0}).context
    store = context.snapshots
    first = _FirstRead(store.storage, store.paths, store.publisher, fixed=[snapshot])
    return replace(table, context=replace(context, snapshots=first))


@dataclass(frozen=True)
class _FirstRead(SnapshotStore):
    """The snapshots of a table; the first read of the latest one, from which the change is computed, is fixed."""

    fixed: list[Snapshot | None] = field(default_factory=list)

    def latest(self) -> Snapshot | None:
        return self.fixed.pop() if self.fixed else super().latest()
