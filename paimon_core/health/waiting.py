"""Waiting: the rows of the postpone bucket, which no read sees until a compaction moves them (format 11.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paimon_core.health.layout import UNKNOWN_TIME
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entry_columns import live
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.entry_table import EntryTable
from paimon_core.storage.paths import POSTPONE_BUCKET


@dataclass(frozen=True, slots=True)
class Waiting:
    """The files of the postpone bucket of one version."""

    files: int = 0
    rows: int = 0
    bytes: int = 0
    oldest_millis: int | None = None
    """The creation time of the oldest file (local, milliseconds); None if it is not known."""


def waiting_of(context: TableContext, snapshot: Snapshot | None) -> Waiting:
    """Return the waiting rows of a snapshot.

    Raises SnapshotNotFound when it has expired, CorruptTable for metadata that cannot be read.
    """
    if snapshot is None or not context.is_postponed:
        return Waiting()
    with context.manifests.reading(snapshot):
        columns = context.manifests.read_columns(context.manifests.manifests_of(snapshot))
    waits = EntryTable.of_columns(columns.filter(live(columns) & (columns.numbers["bucket"] == POSTPONE_BUCKET)))
    created = waits.created(np.arange(len(waits)))
    known = created[created != UNKNOWN_TIME]
    oldest = int(known.min()) if len(known) else None
    return Waiting(len(waits), int(waits.row_count.sum()), int(waits.file_size.sum()), oldest)
