"""Reads of the latest snapshot, which are repeated with a newer snapshot when this snapshot expires meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeVar

from paimon_core.metadata.read_again import read_again
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore

if TYPE_CHECKING:
    from paimon_core.metadata.context import TableContext
    from paimon_core.metadata.manifests.entries import ManifestEntry

SNAPSHOT_TRIES = 5
"""The maximum number of reads, each of another snapshot. If all fail, the error of the last read is raised."""
_T = TypeVar("_T")


def read_latest(snapshots: SnapshotStore, read: Callable[[Snapshot | None], _T]) -> _T:
    """Return ``read(latest)``; ``latest`` is None for a table without snapshots. ``read`` may be called repeatedly.

    When ``read`` fails because a snapshot or a file is missing, and another snapshot is the latest by then, ``read`` is
    called with that snapshot. All other errors of ``read``, and the error of the last attempt, are raised.
    """
    latest = snapshots.latest()

    def is_newer() -> bool:
        nonlocal latest
        seen, latest = latest, snapshots.latest()
        return latest is not None and latest != seen

    return read_again(lambda: read(latest), SNAPSHOT_TRIES, is_newer)


def latest_entries(context: TableContext, among: Collection[bytes] | None = None) -> list[ManifestEntry]:
    """Return the live entries of the latest snapshot; [] without a snapshot.

    ``among``: return only the entries of these partitions.

    Raises CorruptTable when the metadata cannot be read.
    """
    return read_latest(
        context.snapshots, lambda latest: [] if latest is None else context.manifests.entries_of(latest, among)
    )
