"""of_latest: read the latest snapshot, and a newer one when an expiry takes it away meanwhile.

A snapshot that is not the latest any more may expire at any moment, its files before it (Java) or after it (here). So
what is missing under a snapshot says nothing of the table once there is a newer one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.snapshot_store import SnapshotStore

LOOKS = 5
"""Snapshots that are looked at in a row before what vanished is told."""
_T = TypeVar("_T")


def of_latest(snapshots: SnapshotStore, read: Callable[[Snapshot | None], _T]) -> _T:
    """What ``read`` makes of the latest snapshot (None: there is none); it may be called with several, one by one.

    Raises what ``read`` raised: at once unless a snapshot or a file was missing and a newer snapshot is there, else
    after the last look.
    """
    latest = snapshots.latest()
    for _ in range(LOOKS - 1):
        try:
            return read(latest)
        except (SnapshotNotFound, CorruptTable) as error:
            if isinstance(error, CorruptTable) and not error.facts.get("missing"):
                raise
            seen, latest = latest, snapshots.latest()
            if latest is None or latest == seen:
                raise
    return read(latest)
