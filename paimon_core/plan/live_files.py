"""read_live_files: the live files of a snapshot that pass the tests of partition, bucket, key, level (format 8.7)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from paimon_core.errors import UnsupportedFeature
from paimon_core.metadata.manifests.entries import ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.entry_columns import Entries, EntryColumns, live
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.metadata.times.local_time import local_millis
from paimon_core.plan.entry_table import EntryTable, Mask, Numbers
from paimon_core.plan.kept_live import LiveParts, known_parts, live_parts
from paimon_core.plan.prune import PartitionPruner, Pruners
from paimon_core.plan.stats_columns import key_matches
from paimon_core.schema import ROW_ID
from paimon_core.storage.paths import POSTPONE_BUCKET, TablePaths


@dataclass(frozen=True, slots=True)
class ScanCounts:
    """The numbers of manifests and files that a plan reads and leaves out."""

    manifests_total: int = 0
    manifests_read: int = 0
    files_total: int = 0
    """Live files of the snapshot, as counted by the manifest lists."""
    files_selected: int = 0
    pruned_by_partition: int = 0
    pruned_by_bucket: int = 0
    pruned_by_key: int = 0
    pruned_by_value: int = 0
    pruned_by_time: int = 0
    """Files that are left out because they were created too early (option scan.file-creation-time-millis)."""
    awaiting_compaction: int = 0
    """Level-0 files of a table with merge-engine first-row or deletion vectors: batch reads see their rows after a
    compaction (format 8.7)."""


@dataclass(frozen=True, slots=True)
class SelectedFiles:
    """Files of one table of entries that pass the tests."""

    table: EntryTable
    at: Numbers | None
    """The positions of the files in the table; None: all files."""
    changed: Mask | None = None
    """The files of the table that are left out because another part has all files of their buckets; None: none."""
    places: Numbers | None = None
    """The place of each file of the table in the order of all live files; None: its position in the table."""

    def __len__(self) -> int:
        return len(self.table) if self.at is None else len(self.at)

    @property
    def only_unchanged(self) -> bool:
        """Whether only the files of changed buckets are left out."""
        return self.at is not None and self.changed is not None and len(self.at) + self.changed.sum() == len(self.table)

    def taken(self) -> EntryTable:
        """Return the files as a table."""
        return self.table if self.at is None else self.table.taken(self.at)

    def place(self, position: int, *, in_table: bool) -> int:
        """Return the place of a file in the order of all live files.

        ``position``: its position in ``table``, or with ``in_table`` False in the result of ``taken``.
        """
        if not in_table and self.at is not None:
            position = int(self.at[position])
        return position if self.places is None else int(self.places[position])


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """The files that pass all tests except the test of value statistics, which is made later.

    Each bucket has all of its files in one part. A large table may have two parts (``kept_live``).
    """

    parts: tuple[SelectedFiles, ...]
    counts: ScanCounts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def table(self) -> EntryTable:
        """The files of the only part."""
        (part,) = self.parts
        return part.taken()


def read_live_files(
    manifests: ManifestStore,
    snapshot: Snapshot,
    pruners: Pruners,
    buckets: Collection[int] | None,
    *,
    level_0: bool,
    evolves: bool,
    created_from: int | None = None,
    divided: bool = False,
) -> LiveFiles:
    """Read the entries of the files that are not pruned; without ``level_0``, files of level 0 are left out.

    ``buckets``: the only buckets to read; None: all buckets. ``evolves``: a file may contain only some of the columns.
    ``created_from``: epoch milliseconds; files that were created earlier, or whose creation time is unknown, are left
    out. ``divided``: the result may have several parts.
    """
    listed = manifests.manifests_of(snapshot)
    partition = pruners.partition
    in_partitions = [m for m in listed if partition is None or partition.keeps_manifest(m)]
    opened = [m for m in in_partitions if buckets is None or _holds_bucket(m, buckets)]
    by_bucket = max(_count(in_partitions) - _count(opened), 0)
    tests = _Tests(pruners, buckets, level_0, None if created_from is None else local_millis(created_from))
    left: list[SelectedFiles] = []
    counted = _Counts(by_bucket=by_bucket)
    for part in _live(manifests, listed, opened, partition, divided=divided):
        for entry in part.table.entries(np.flatnonzero(part.table.unusual & _chosen(part))):
            refuse_unread(entry, manifests.paths, evolves=evolves)
        left.append(tests.select(part, counted))
    selected = sum(map(len, left))
    others = counted.by_bucket + counted.by_key + counted.by_time + counted.waiting
    total = max(_count(listed), selected + others)
    counts = ScanCounts(
        manifests_total=len(listed),
        manifests_read=len(opened),
        files_total=total,
        pruned_by_partition=total - selected - others,
        pruned_by_bucket=counted.by_bucket,
        pruned_by_key=counted.by_key,
        pruned_by_time=counted.by_time,
        awaiting_compaction=counted.waiting,
    )
    return LiveFiles(tuple(left), counts)


@dataclass(slots=True)
class _Counts:
    by_bucket: int = 0
    by_key: int = 0
    by_time: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _Tests:
    """The tests of files, after the test of partitions."""

    pruners: Pruners
    buckets: Collection[int] | None
    level_0: bool
    created_from: int | None
    """Milliseconds of local time."""

    def select(self, part: SelectedFiles, counted: _Counts) -> SelectedFiles:
        """Return the files of a part that pass, and count the others."""
        live, chosen = part.table, _chosen(part)
        kept = _in_buckets(live, self.pruners, self.buckets) & chosen
        left = int(kept.sum())
        counted.by_bucket += int(chosen.sum()) - left
        if self.pruners.key is not None:
            before = np.flatnonzero(kept)
            kept[before] = key_matches(self.pruners.key, live, before)
            counted.by_key += left - (left := int(kept.sum()))
        if self.created_from is not None:
            kept &= live.created(np.arange(len(live))) >= self.created_from
            counted.by_time += left - (left := int(kept.sum()))
        if not self.level_0:
            kept &= live.level != 0
            counted.waiting += left - (left := int(kept.sum()))
        return replace(part, at=None if left == len(live) else np.flatnonzero(kept))


def _chosen(part: SelectedFiles) -> Mask:
    """Return a mask of the files of the part's table that belong to the part."""
    if part.at is None:
        return np.ones(len(part.table), bool)
    out = np.zeros(len(part.table), bool)
    out[part.at] = True
    return out


def _in_buckets(live: EntryTable, pruners: Pruners, buckets: Collection[int] | None) -> Mask:
    """Return a mask of the files that are in buckets to read."""
    # Rows in the postpone bucket are not read until a compaction moves them to other buckets (format 11.3).
    kept: Mask = live.bucket != POSTPONE_BUCKET
    if buckets is not None:
        kept &= np.isin(live.bucket, list(buckets))
    hashed = pruners.bucket
    if hashed is not None and len(live):
        places, each = np.unique(
            np.stack([live.bucket, live.total_buckets, live.schema_id]), axis=1, return_inverse=True
        )
        kept &= np.array([hashed.keeps(*place) for place in places.T.tolist()])[each.reshape(-1)]
    return kept


def _count(manifests: Iterable[ManifestFile]) -> int:
    return sum(m.num_added_files - m.num_deleted_files for m in manifests)


def _holds_bucket(manifest: ManifestFile, buckets: Collection[int]) -> bool:
    low, high = manifest.min_bucket, manifest.max_bucket
    return low is None or high is None or any(low <= b <= high for b in buckets)


def _live(
    manifests: ManifestStore,
    listed: Sequence[ManifestFile],
    opened: Sequence[ManifestFile],
    partition: PartitionPruner | None,
    *,
    divided: bool,
) -> list[SelectedFiles]:
    """Return the files of the selected partitions that a manifest added and no manifest deleted, the oldest first.

    The ADD entry and the DELETE entry of a file have the same partition and bucket, so either both entries are read or
    neither. ``listed``: all manifests of the snapshot; if their files are cached, no manifest is read.
    """
    if not divided:
        if partition is not None:
            return [_in_partitions(manifests, opened, partition)]
        names = tuple(manifests.paths.manifest(m.file_name) for m in opened)
        table = manifests.cache.computed(("table", names), lambda: _live_of(manifests.read_each(opened)))
        return [SelectedFiles(table, None)]
    if partition is None:
        return _selected(live_parts(manifests, opened), None)
    known = known_parts(manifests, listed)
    if known is not None:
        path = manifests.paths.manifest(listed[0].file_name) if listed else ""
        return _selected(known, lambda row: partition.keeps(row, path))
    return [_in_partitions(manifests, opened, partition)]


def _selected(parts: LiveParts, keeps: Callable[[bytes], bool] | None) -> list[SelectedFiles]:
    def chosen(table: EntryTable, changed: Mask | None) -> Numbers | None:
        if keeps is None:
            return None if changed is None else np.flatnonzero(~changed)
        mask = np.array([keeps(row) for row in table.partitions], bool)[table.partition]
        return np.flatnonzero(mask if changed is None else mask & ~changed)

    out = [SelectedFiles(parts.older, chosen(parts.older, parts.changed), parts.changed)]
    if parts.newer is not None:
        out.append(SelectedFiles(parts.newer, chosen(parts.newer, None), places=parts.places))
    return out


def _in_partitions(
    manifests: ManifestStore, opened: Sequence[ManifestFile], partition: PartitionPruner
) -> SelectedFiles:
    texts = partition.texts(manifests.partition_types)
    read = zip(opened, manifests.read_each(opened, texts), strict=True)
    chosen = [partition.select(found, manifests.paths.manifest(m.file_name)) for m, found in read]
    return SelectedFiles(_live_of(chosen), None)


def _live_of(read: Sequence[Entries]) -> EntryTable:
    entries = EntryColumns.concat(read)
    return EntryTable.of_columns(entries.filter(live(entries)))


def refuse_unread(entry: ManifestEntry, paths: TablePaths, *, evolves: bool = False) -> None:
    """Raise UnsupportedFeature for a file of an unsupported kind, InvalidRequest for a file outside the allowed roots.

    ``evolves``: the caller reads each column from the file that contains it (``row_ranges``).
    """
    if entry.file.file_name.endswith(".blob") or ".vector." in entry.file.file_name:
        what = "large objects" if entry.file.file_name.endswith(".blob") else "vectors"
        raise UnsupportedFeature(
            f"file {entry.file.file_name} of {paths.root} contains {what}: not supported", file=entry.file.file_name
        )
    if entry.file.external_path is not None:
        paths.external.resolve(entry.file.external_path, entry.file.file_name)
    if not evolves and entry.file.write_cols is not None and ROW_ID not in entry.file.write_cols:
        raise UnsupportedFeature(
            f"file {entry.file.file_name} of {paths.root} holds only some columns: not supported",
            file=entry.file.file_name,
        )
