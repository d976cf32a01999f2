"""Input changes: whether the rows of a table changed after a load read the table, and in which partitions.

An empty commit, an expiry of partitions, and a compaction that makes no rows visible are no changes. ``column`` is the
column of the table whose changed values are asked for. The values of a partition column of the table are read from the
manifest entries that each snapshot added and removed. The values of another column are read from the changed rows,
before and after the change. At most ``MOST_STEPS`` snapshots are read; a table with more new snapshots counts as
changed everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.errors import SnapshotNotFound
from paimon_core.metadata.commit_message import Position, position_of
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.plan.plan_scan import hides_level_0
from paimon_core.table.view import TableView

MOST_STEPS = 1000
_EXPIRY = "partition-expiry-"
"""Prefix of the commit users of expiries of partitions. An expiry does not make tables computed from the partition
stale."""


@dataclass(frozen=True)
class InputChanges:
    """Whether rows changed, and the distinct values of a column in the changed rows, before and after the change."""

    changed: bool
    values: pa.Array | None = None
    """The values; None when no column was given, or when rows with any value may have changed, because the values are
    not known.
    """


def broken_position(table: TableView, at: Position, ids: range) -> str:
    """Return why the changes since a position are not known; "" when the snapshot of the position is in the history.

    ``ids`` are the ids of the live snapshots of the table, see ``live_ids``.
    """
    if at[0] in ids:
        try:
            if position_of(table.context.snapshots.read(at[0])) == tuple(at):
                return ""
        except SnapshotNotFound:
            return "has expired"  # the snapshot expired during this call
    return "has expired" if at[0] < ids.start else "was rolled back, or the table was re-created"


def live_ids(table: TableView) -> range:
    """Return the ids of the live snapshots of a table, up to the snapshot that the table is pinned to."""
    until = table.latest_snapshot()
    return range(table.context.snapshots.earliest_id() or 1, until.id + 1 if until is not None else 0)


def input_changes(table: TableView, after: Position, column: str = "") -> InputChanges:
    """Return how a table changed after a position, up to the snapshot that it is pinned to or the latest one.

    Raises SnapshotNotFound when a snapshot or a file expires during the call.
    """
    until = table.latest_snapshot()
    if until is None or until.id <= after[0]:
        return InputChanges(changed=False)
    if until.id - after[0] > MOST_STEPS:
        return InputChanges(changed=True)
    steps = _changed_partitions(table.context, after[0], until)
    keys = table.schema.partition_keys
    if column in keys:
        partitions = set(chain.from_iterable(steps))
        return InputChanges(bool(partitions), _values(table, partitions, column))
    if not any(steps):
        return InputChanges(changed=False)
    return InputChanges(changed=True, values=_values_of_rows(table, after[0], until.id, column) if column else None)


def _changed_partitions(context: TableContext, after: int, until: Snapshot) -> Iterator[set[bytes]]:
    """Yield the partitions that each snapshot changed, the newest snapshot first."""
    is_keyed = bool(context.schema.primary_keys)
    seen_later = context.is_postponed or hides_level_0(context.schema, context.options)
    snapshot = until
    for number in range(until.id - 1, after - 1, -1):
        before = context.snapshots.read(number)
        unseen = snapshot.commit_kind is CommitKind.COMPACT and not seen_later
        if (
            not unseen
            and snapshot.commit_kind is not CommitKind.ANALYZE
            and not snapshot.commit_user.startswith(_EXPIRY)
        ):
            partitions = _delta(context, snapshot)
            if not is_keyed and snapshot.index_manifest != before.index_manifest:
                partitions |= _changed_indexes(context, before, snapshot)
            yield partitions
        snapshot = before


def _delta(context: TableContext, snapshot: Snapshot) -> set[bytes]:
    manifests = context.manifests
    with manifests.reading(snapshot):
        listed = manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        return set(manifests.read_columns(listed).partition_codes()[1]) if listed else set()


def _changed_indexes(context: TableContext, before: Snapshot, after: Snapshot) -> set[bytes]:
    """Return the partitions whose deletion vectors differ between two snapshots."""
    found = []
    for snapshot in (before, after):
        with context.manifests.reading(snapshot):
            found.append(set(context.manifests.read_indexes(snapshot.index_manifest)))
    return {entry.partition for entry in found[0] ^ found[1]}


def _values(table: TableView, partitions: set[bytes], column: str) -> pa.Array:
    fields = table.schema.partition_fields
    at, types = table.schema.partition_keys.index(column), [field.type for field in fields]
    return pa.array([decode_row(partition, types)[at] for partition in partitions], types[at].to_arrow())


def _values_of_rows(table: TableView, after: int, until: int, column: str) -> pa.Array:
    """Return the values of the column in the changed rows.

    For a column of the primary key, only the new rows are read, because an update does not change it.
    """
    is_in_key = column in table.schema.primary_keys and table.options["merge-engine"] != "first-row"
    way = "delta" if is_in_key and not table.context.is_postponed else "auto"
    found = [pc.unique(batch[column]) for batch in table.changes(after, until, columns=[column], way=way).to_batches()]
    kind = table.schema.by_name[column].type.to_arrow()
    return pc.unique(pa.chunked_array(found, kind))
