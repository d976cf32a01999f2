"""Changes between snapshots: which files hold them, snapshot after snapshot, without looking into any (format 10.4).

Where no producer writes changelog files, the files of appending commits are the changes: what came in, as it came in.
Where one does, its changelog files are, and nothing else is. Compactions change no row, and what an overwrite replaces
is not told row by row, so neither of them shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import InvalidRequest, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifest import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.scan.plan import refuse_unread

_UNBUILT = ("streaming-read-overwrite", "streaming-read-append-overwrite")
"""Options under which the deltas of overwrites are changes too."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of changed rows and the bucket that it lies in."""

    partition: bytes
    bucket: int
    file: DataFile


def changed_snapshots(context: TableContext, after: int | None, until: int | None, last: int | None) -> range:
    """The ids from ``after`` (exclusive; None: before the first snapshot ever) to ``until`` (inclusive).

    ``last`` is the id that ``until`` must not exceed, and its default; None: the latest. Raises SnapshotNotFound naming
    the first id that expired or was never made, InvalidRequest for what is no range of ids.
    """
    for name, value in (("after", after), ("until", until)):
        if not _is_id(value):
            raise InvalidRequest(f"{name} must be a snapshot id, not {value!r:.60}", table=context.name)
    _refuse_unbuilt(context)
    held = context.snapshots.ids()
    newest = last if last is not None else max(held, default=0)
    start, end = after or 0, newest if until is None else until
    if last is not None and end > last:
        raise InvalidRequest(f"table {context.name} is pinned to snapshot {last}: it has no changes until {end}")
    if until is not None and start > end:
        raise InvalidRequest(f"after snapshot {start} and until snapshot {end} lies no snapshot", table=context.name)
    if max(start, end) > newest:
        raise SnapshotNotFound(
            f"table {context.name} has no snapshot {max(start, end)}: it ends with {newest or 'none'}",
            table=context.name,
            snapshot=max(start, end),
        )
    wanted = range(start + 1, end + 1)
    there = frozenset(held)
    if any(i not in there for i in wanted):
        there |= frozenset(context.changelogs.ids())
    missing = next((i for i in wanted if i not in there), None)
    if missing is not None:
        following = min((i for i in there if i > missing), default=None)
        raise SnapshotNotFound(
            f"table {context.name}: snapshot {missing} has expired, and its changes with it"
            + (f"; those after {following - 1} are held" if following else ""),
            table=context.name,
            snapshot=missing,
        )
    return wanted


def changed_snapshot(context: TableContext, snapshot_id: int) -> Snapshot:
    """The snapshot, or the changelog that outlived it (format 16.2); raises SnapshotNotFound."""
    try:
        return context.snapshots.read(snapshot_id)
    except SnapshotNotFound:
        try:
            return context.changelogs.read(snapshot_id)
        except SnapshotNotFound:
            pass
        raise


def changed_files(context: TableContext, snapshot: Snapshot) -> Iterator[ChangedFile]:
    """The files of the rows that the snapshot changed, by partition directory and bucket, then as they were written.

    Read in this order, the rows of a key come in the order in which they changed. Raises UnsupportedFeature for files
    that are not read here, SnapshotNotFound when the snapshot expires meanwhile, CorruptTable.
    """
    name, size = _list_of(context, snapshot)
    if name is None:
        return
    with context.manifests.reading(snapshot):
        entries = [
            entry
            for manifest in context.manifests.read_list(name, size)
            for entry in context.manifests.read_manifest(manifest.file_name, manifest.file_size)
            # Nobody reads the postpone bucket before a compaction has put its rows into others (format 11.3).
            if entry.kind is FileKind.ADD and entry.bucket >= 0
        ]

    def place(entry: ManifestEntry) -> tuple[str, int]:
        return context.partition_path(entry.partition), entry.bucket

    for entry in sorted(entries, key=place):
        refuse_unread(entry, context.paths.root)
        yield ChangedFile(entry.partition, entry.bucket, entry.file)


def _list_of(context: TableContext, snapshot: Snapshot) -> tuple[str | None, int | None]:
    if context.is_keyed and context.options["changelog-producer"] != "none":
        return snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
    if snapshot.commit_kind is CommitKind.APPEND:
        return snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
    return None, None


def _refuse_unbuilt(context: TableContext) -> None:
    for option in _UNBUILT:
        text = context.schema.options.get(option, "false")
        if text.strip().lower() != "false":
            raise UnsupportedFeature(
                f"table {context.name} counts overwrites among its changes (option {option} = {text!r}): not supported",
                table=context.name,
                option=option,
            )


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)
