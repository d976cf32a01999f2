"""Changelog plan: finds the files that contain the changes of each snapshot, without opening the files (format 10.4).

Without a changelog producer, the changes of an APPEND snapshot are the data files that it added, with the rows as they
were written. With a changelog producer, the changes of a snapshot are only its changelog files. Compactions change no
row. No file lists the rows that an overwrite replaced: such rows are found by comparing two versions of the table
(``changed_places``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import InvalidRequest, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.plan.live_files import refuse_unread

_PRODUCER = "changelog-producer"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of changed rows, with its partition and bucket."""

    partition: bytes
    bucket: int
    file: DataFile
    total_buckets: int = -1


def changed_snapshots(context: TableContext, after: int | None, until: int | None, last: int | None) -> range:
    """Return the snapshot ids above ``after`` (None: from the first snapshot on) and up to and including ``until``.

    ``last``: the snapshot to which the handle is pinned; None: the latest id. It is the default and the maximum of
    ``until``. Raises SnapshotNotFound with the first id that has expired or was never created, InvalidRequest for
    values that are not a range of ids, UnsupportedFeature for an unknown changelog-producer.
    """
    for name, value in (("after", after), ("until", until)):
        if not _is_id(value):
            raise InvalidRequest(f"{name} must be a snapshot id, not {value!r:.60}", table=context.name)
    check_producer(context)
    existing = context.snapshots.ids()
    newest = last if last is not None else max(existing, default=0)
    start, end = after or 0, newest if until is None else until
    if last is not None and end > last:
        raise InvalidRequest(f"table {context.name} is pinned to snapshot {last}: until must not exceed it, not {end}")
    if until is not None and start > end:
        raise InvalidRequest(
            f"table {context.name}: the argument 'after' ({start}) is greater than the argument 'until' ({end})",
            table=context.name,
        )
    if max(start, end) > newest:
        raise SnapshotNotFound(
            f"table {context.name} has no snapshot {max(start, end)}: its latest snapshot is {newest or 'none'}",
            table=context.name,
            snapshot=max(start, end),
        )
    wanted = range(start + 1, end + 1)
    available = frozenset(existing)
    if any(i not in available for i in wanted):
        available |= frozenset(context.changelogs.ids())
    missing = next((i for i in wanted if i not in available), None)
    if missing is not None:
        following = min((i for i in available if i > missing), default=None)
        raise SnapshotNotFound(
            f"table {context.name}: snapshot {missing} has expired, and so have its changes"
            + (f"; changes after snapshot {following - 1} are available" if following else ""),
            table=context.name,
            snapshot=missing,
        )
    return wanted


def check_producer(context: TableContext) -> None:
    """Raise UnsupportedFeature for an unknown changelog-producer: the files with the changes cannot be determined."""
    if context.is_keyed and _PRODUCER in context.options.unwritable:
        raise UnsupportedFeature(
            f"the changes of table {context.name} cannot be read: option {_PRODUCER} = "
            f"{context.schema.options.get(_PRODUCER)!r:.80} is not supported. The difference of two versions needs no "
            "changelog (Table.diff)",
            table=context.name,
            option=_PRODUCER,
        )


def changed_snapshot(context: TableContext, snapshot_id: int) -> Snapshot:
    """Return the snapshot, or its lasting changelog if it has expired (format 16.2).

    Raises SnapshotNotFound when neither the snapshot nor its lasting changelog exists.
    """
    try:
        return context.snapshots.read(snapshot_id)
    except SnapshotNotFound:
        try:
            return context.changelogs.read(snapshot_id)
        except SnapshotNotFound:
            pass
        raise


def changed_files(
    context: TableContext, snapshot: Snapshot, *, changelog: bool | None = None, overwrites: bool = False
) -> Iterator[ChangedFile]:
    """Yield the files of the changed rows, by partition directory and bucket, then in the order of writing.

    ``changelog``: True for the changelog files of the snapshot, False for the data files that it added. With None, the
    table's options and the kind of the snapshot determine which of these files are returned. ``overwrites``: if
    ``changelog`` is None, the files that an OVERWRITE snapshot added also count as changes.

    In this order, the rows of one key are in the order of their changes. Raises UnsupportedFeature for files that this
    library cannot read, SnapshotNotFound when the snapshot expires during the call, CorruptTable for damaged
    metadata.
    """
    if changelog is None:
        name, size = _list_of(context, snapshot, overwrites)
    elif changelog:
        name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
    else:
        name, size = snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
    if name is None:
        return
    with context.manifests.reading(snapshot):
        entries = [
            entry
            for manifest in context.manifests.read_list(name, size)
            for entry in context.manifests.read_manifest(manifest.file_name, manifest.file_size)
            # Rows in the postpone bucket are not read until a compaction moves them to other buckets (format 11.3).
            if entry.kind is FileKind.ADD and entry.bucket >= 0
        ]

    def place(entry: ManifestEntry) -> tuple[str, int]:
        return context.partition_path(entry.partition), entry.bucket

    for entry in sorted(entries, key=place):
        refuse_unread(entry, context.paths)
        yield ChangedFile(entry.partition, entry.bucket, entry.file, entry.total_buckets)


def _list_of(context: TableContext, snapshot: Snapshot, overwrites: bool) -> tuple[str | None, int | None]:
    if overwrites and snapshot.commit_kind is CommitKind.OVERWRITE:
        return snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
    if context.is_keyed and context.options[_PRODUCER] != "none":
        return snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
    if snapshot.commit_kind is CommitKind.APPEND:
        return snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
    return None, None


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)
