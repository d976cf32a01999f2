"""read_live_files: the live files of a snapshot that pass the tests of partition, bucket, key, level (format 8.7)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from paimon_core.errors import UnsupportedFeature
from paimon_core.metadata.manifests.entries import ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.entry_columns import Entries, EntryColumns, live
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.metadata.times.local_time import local_millis
from paimon_core.plan.entry_table import EntryTable, Mask
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
class LiveFiles:
    """The files that pass all tests except the test of value statistics, which is made later."""

    table: EntryTable
    counts: ScanCounts


def read_live_files(
    manifests: ManifestStore,
    snapshot: Snapshot,
    pruners: Pruners,
    buckets: Collection[int] | None,
    *,
    level_0: bool,
    evolves: bool,
    created_from: int | None = None,
) -> LiveFiles:
    """Read the entries of the files that are not pruned; without ``level_0``, files of level 0 are left out.

    ``buckets``: the only buckets to read; None: all buckets. ``evolves``: a file may contain only some of the columns.
    ``created_from``: epoch milliseconds; files that were created earlier, or whose creation time is unknown, are left
    out.
    """
    listed = manifests.manifests_of(snapshot)
    partition = pruners.partition
    in_partitions = [m for m in listed if partition is None or partition.keeps_manifest(m)]
    opened = [m for m in in_partitions if buckets is None or _holds_bucket(m, buckets)]
    by_bucket = max(_count(in_partitions) - _count(opened), 0)
    live = _live(manifests, opened, partition)
    for entry in live.entries(np.flatnonzero(live.unusual)):
        refuse_unread(entry, manifests.paths, evolves=evolves)
    kept = _in_buckets(live, pruners, buckets)
    by_bucket += len(live) - int(kept.sum())
    by_key = waiting = 0
    if pruners.key is not None:
        before = np.flatnonzero(kept)
        kept[before] = key_matches(pruners.key, live, before)
        by_key = len(before) - int(kept.sum())
    by_time = int(kept.sum())
    if created_from is not None:
        kept &= live.created(np.arange(len(live))) >= local_millis(created_from)
    by_time -= int(kept.sum())
    if not level_0:
        waiting = int((kept & (live.level == 0)).sum())
        kept &= live.level != 0
    selected = int(kept.sum())
    left = live if selected == len(live) else live.taken(np.flatnonzero(kept))
    others = by_bucket + by_key + by_time + waiting
    total = max(_count(listed), selected + others)
    counts = ScanCounts(
        manifests_total=len(listed),
        manifests_read=len(opened),
        files_total=total,
        pruned_by_partition=total - selected - others,
        pruned_by_bucket=by_bucket,
        pruned_by_key=by_key,
        pruned_by_time=by_time,
        awaiting_compaction=waiting,
    )
    return LiveFiles(left, counts)


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


def _live(manifests: ManifestStore, opened: Sequence[ManifestFile], partition: PartitionPruner | None) -> EntryTable:
    """Return the files of the selected partitions that a manifest added and no manifest deleted, the oldest first.

    The ADD entry and the DELETE entry of a file have the same partition and bucket, so either both entries are read or
    neither.
    """
    if partition is None:
        names = tuple(manifests.paths.manifest(m.file_name) for m in opened)
        return manifests.cache.computed(names, lambda: _live_of(manifests.read_each(opened)))
    texts = partition.texts(manifests.partition_types)
    read = zip(opened, manifests.read_each(opened, texts), strict=True)
    return _live_of([partition.select(found, manifests.paths.manifest(m.file_name)) for m, found in read])


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
