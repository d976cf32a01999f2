"""LiveParts: the live files of a snapshot, in two parts, so that a later snapshot of a large table is planned quickly.

The files of the older manifests are kept in memory as one table with its splits. The manifests after these change a few
buckets; only the files of these buckets are computed again. The result is the same as that of a plan from nothing,
because the ADD and the DELETE entry of a file are in the same bucket. Manifests never change, so the names of the
manifests are the key: a rollback, a branch, a tag or merged manifests give another key, never another result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from paimon_core.metadata.manifests.entries import FileKind, ManifestFile
from paimon_core.metadata.manifests.entry_columns import EntryColumns, live
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.plan.entry_table import EntryTable, Mask, Numbers

LEAST_FILES = 20_000
"""A table with fewer entries is planned from nothing, which takes about 40 ms."""
NEWER_SHARE = 16
"""The newest manifests that have together at most the 16th part of the entries are applied to the files of the others.

Merges of manifests rewrite the newest manifests, and leave the older ones.
"""
CHANGED_SHARE = 3
"""If the changed buckets have more than this part of the files, a plan from nothing is faster."""
MOST_BUCKETS = 1000
"""If the newest manifests change more buckets, the live files of all manifests are kept together."""
UNKEPT_FILES = 100_000
"""Of a table with more entries, only the live files are cached, and not the manifests as well."""


@dataclass(frozen=True)
class OlderFiles:
    """The live files of some manifests."""

    entries: EntryColumns
    table: EntryTable
    exact: bool
    """Whether each DELETE entry has an ADD entry before it, so that more entries can be applied to the live files."""

    def memory(self) -> Mapping[int, int]:
        """Return the bytes of memory of the files and of their cached splits."""
        return self.table.memory()


@dataclass(frozen=True)
class LiveParts:
    """The live files of a snapshot: those of ``older`` that are not in a changed bucket, then those of ``newer``."""

    older: EntryTable
    changed: Mask | None = None
    """Which files of ``older`` are in a bucket that the newer manifests change; None: there is no newer manifest."""
    newer: EntryTable | None = None
    places: Numbers | None = None
    """The place of each file of ``newer`` in the order of all live files, in which the first are those of ``older``."""

    def memory(self) -> Mapping[int, int]:
        """Return the bytes of memory of both parts."""
        own = sum(0 if column is None else column.nbytes for column in (self.changed, self.places))
        newer = {} if self.newer is None else self.newer.memory()
        return {**self.older.memory(), **newer, id(self): own}


def live_parts(manifests: ManifestStore, opened: Sequence[ManifestFile]) -> LiveParts:
    """Return the live files of the manifests ``opened``, from results of earlier plans where possible.

    Raises the errors of ``ManifestStore.read_each``.
    """
    names = tuple(manifests.paths.manifest(m.file_name) for m in opened)
    return manifests.cache.computed(("parts", names), lambda: _parts(manifests, opened, names))


def known_parts(manifests: ManifestStore, listed: Sequence[ManifestFile]) -> LiveParts | None:
    """Return the result of an earlier ``live_parts`` for the same manifests; None if it is not cached."""
    names = tuple(manifests.paths.manifest(m.file_name) for m in listed)
    return manifests.cache.known(("parts", names), LiveParts)


def _parts(manifests: ManifestStore, opened: Sequence[ManifestFile], names: tuple[str, ...]) -> LiveParts:
    kept = _kept_before(manifests, names)
    count = kept or _older(opened)
    if 0 < count < len(opened):
        newer = EntryColumns.concat(manifests.read_each(opened[count:]))
        if kept or _buckets_of(newer) <= MOST_BUCKETS:
            parts = _applied(_older_files(manifests, opened[:count], names[:count]), newer)
            if parts is not None:
                return parts
    return LiveParts(_older_files(manifests, opened, names).table)


def _buckets_of(entries: EntryColumns) -> int:
    partition, bucket = entries.partition_codes()[0], entries.numbers["bucket"]
    return len(np.unique(np.stack([partition, bucket]), axis=1)[0])


def _older(opened: Sequence[ManifestFile]) -> int:
    """Return how many of the first manifests are kept as ``OlderFiles``: all without the newest, small manifests."""
    counts = [m.num_added_files + m.num_deleted_files for m in opened]
    total, newer = sum(counts), 0
    if total < LEAST_FILES:
        return len(opened)
    for place in range(len(opened), 0, -1):
        newer += counts[place - 1]
        if newer * NEWER_SHARE > total:
            return place
    return len(opened)


def _kept_before(manifests: ManifestStore, names: tuple[str, ...]) -> int:
    """Return how many of the first manifests an earlier plan has kept as ``OlderFiles``; 0 if there is none."""
    found = [len(key) for key in manifests.cache.keys("older") if names[: len(key)] == key]
    return max(found, default=0)


def _older_files(manifests: ManifestStore, opened: Sequence[ManifestFile], names: tuple[str, ...]) -> OlderFiles:
    return manifests.cache.computed(("older", names), partial(_computed, manifests, opened))


def _computed(manifests: ManifestStore, opened: Sequence[ManifestFile]) -> OlderFiles:
    total = sum(m.num_added_files + m.num_deleted_files for m in opened)
    entries = EntryColumns.concat(manifests.read_each(opened, keep=total <= UNKEPT_FILES))
    mask = live(entries)
    deleted = int((entries.numbers["kind"] == FileKind.DELETE.value).sum())
    exact = len(entries) - int(mask.sum()) == 2 * deleted
    entries = entries.filter(mask)
    return OlderFiles(entries, EntryTable.of_columns(entries), exact)


def _applied(older: OlderFiles, newer: EntryColumns) -> LiveParts | None:
    """Return the parts after the entries ``newer`` were applied; None when a plan from nothing is better."""
    table = older.table
    if not older.exact or len(table) < LEAST_FILES:
        return None
    if not len(newer):
        return LiveParts(table)
    codes = {partition: code for code, partition in enumerate(table.partitions)}
    numbers, partitions = newer.partition_codes()
    code = np.array([codes.get(partition, -1) for partition in partitions], np.int64)[numbers]
    bucket = newer.numbers["bucket"]
    low = min(int(table.bucket.min()), int(bucket.min()))
    width = max(int(table.bucket.max()), int(bucket.max())) - low + 1
    touched = np.unique(code[code >= 0] * width + bucket[code >= 0] - low)
    changed = np.isin(table.partition * width + table.bucket - low, touched)
    if int(changed.sum()) * CHANGED_SHARE > len(table):
        return None
    old = np.flatnonzero(changed)
    both = EntryColumns.concat([older.entries.gathered(old), newer])
    left = live(both)
    places = np.concatenate([old, len(table) + np.arange(len(newer))])[left]
    return LiveParts(table, changed, EntryTable.of_columns(both.filter(left)), places)
