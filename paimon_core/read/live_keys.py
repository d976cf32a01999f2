"""Live keys: the primary keys of all visible rows of a snapshot, with the places of their rows (format 11.2)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.plan_scan import plan_scan
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split


def live_keys(context: TableContext, snapshot: Snapshot) -> Iterator[tuple[bytes, int, pa.Table]]:
    """Yield tuples of a partition, a bucket and a table with the primary keys of rows in this bucket, each key once.

    Rows in level 0 are included. Memory: as much as the read of one split. Raises SnapshotNotFound when the snapshot
    has expired, CorruptTable for damaged files.
    """
    context = context.merging_level_0()
    if context.options["merge-engine"] == "first-row":  # reads with first-row leave out level 0
        context = context.with_values({"merge-engine": "deduplicate"})
    plan = plan_scan(
        snapshot=snapshot,
        schema=context.schema,
        options=context.options,
        manifests=context.manifests,
        schemas=context.schemas.read,
    )
    for split in plan.splits:
        for keys in read_split(context, split, ReadRequest(context.schema.primary_keys)):
            yield split.partition, split.bucket, keys
