"""Reads of the latest snapshot that go on with a newer one when the latest expires meanwhile.

A snapshot that is no longer the latest may expire at any moment. Java deletes its files first, this library deletes the
snapshot first. So a file that is missing under such a snapshot is no damage of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeVar

from paimon_core.errors import CorruptTable, PaimonError, SnapshotNotFound
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore

if TYPE_CHECKING:
    from paimon_core.metadata.context import TableContext
    from paimon_core.metadata.manifest import ManifestEntry

LOOKS = 5
"""How many snapshots are tried, one after the other, before the error of the last one is raised."""
_T = TypeVar("_T")


def read_latest(snapshots: SnapshotStore, read: Callable[[Snapshot | None], _T]) -> _T:
    """The result of ``read`` for the latest snapshot (None: there is none); it may be called for several in turn.

    Raises what ``read`` raised: at once unless a snapshot or a file was missing and a newer snapshot exists, otherwise
    after the last try.
    """
    latest = snapshots.latest()
    for _ in range(LOOKS - 1):
        try:
            return read(latest)
        except (SnapshotNotFound, CorruptTable) as error:
            if not is_missing(error):
                raise
            seen, latest = latest, snapshots.latest()
            if latest is None or latest == seen:
                raise
    return read(latest)


def latest_entries(context: TableContext, among: Collection[bytes] | None = None) -> list[ManifestEntry]:
    """The live files of the latest snapshot, or those in the partitions ``among``; [] without a snapshot.

    Raises CorruptTable.
    """
    return read_latest(
        context.snapshots, lambda latest: [] if latest is None else context.manifests.entries_of(latest, among)
    )


def is_missing(error: PaimonError) -> bool:
    """Whether a snapshot or a file of one was not found, as after an expiry; other damage is no such error."""
    return isinstance(error, SnapshotNotFound) or (isinstance(error, CorruptTable) and bool(error.facts.get("missing")))
