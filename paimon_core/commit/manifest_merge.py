"""Manifest merge: combines small manifests into large manifests when a commit writes its base list (format 4.7).

Only the grouping of entries changes, never the set of live files. Like the input, the result lists manifests in an
order in which they can be applied. Manifests that need no change stay in the list.

Rewritten entries are ordered by partition and bucket. Each manifest then covers few partitions, so a reader of one
partition opens few manifests and decompresses few blocks. It is safe to change the order of the entries: after a merge,
no file occurs twice among the rewritten entries, so no ADD entry must precede a DELETE entry of the same file. The
position of the other manifests in the list does not change (format 4.6, 4.7). Within a bucket, entries stay in the
order of the commits.

The small manifests at the end of the list are merged by size, like the runs of an LSM tree: a manifest that is larger
than all later manifests together is not rewritten. So the number of times that an entry is rewritten is logarithmic.
Without this rule, an entry would be rewritten after every ``min_count`` commits until its manifest has the target size.

A full merge may rewrite the manifests of a hundred million files. Its memory is limited: manifests are read in the
order of their partitions, and entries are written as soon as there are ``MOST_ENTRIES`` of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import zip_longest
from typing import Protocol

from paimon_core.lsm.key_order import SortKey, key_order
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.manifest_file import merge_entries
from paimon_core.types import DataType

MOST_ENTRIES = 500_000
"""A full merge writes its entries when it holds this many. An entry takes up to 1.5 kB of memory (decision 0075)."""


class Write(Protocol):
    """Writes entries to manifests of the target size; see ``ManifestStore.write_manifests``."""

    def __call__(self, entries: Sequence[ManifestEntry], only_full: bool = False) -> Sequence[ManifestFile]:
        """Return the manifests, which with ``only_full`` may lack the last entries."""


@dataclass(frozen=True)
class ManifestMerge:
    """Merges manifests.

    The fields are the functions that read and write manifests, and the sizes and the count that start a merge.
    """

    read: Callable[[ManifestFile], Sequence[ManifestEntry]]
    write: Write
    may_hold: Callable[[ManifestFile, Collection[bytes]], bool]
    """Whether a manifest can contain entries of at least one of the given partitions."""
    target_bytes: int
    min_count: int
    full_bytes: int
    partition_types: Sequence[DataType] | None = None
    """The types of the partition columns, to order rewritten entries; None: the entries keep their order."""

    def merge(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        """Return manifests with the same live files, after a full merge if it is worthwhile, otherwise after a minor
        merge.
        """
        rewritten = self._full(manifests)
        return self._minor(manifests) if rewritten is None else rewritten

    def _must_change(self, manifest: ManifestFile) -> bool:
        return manifest.num_deleted_files > 0 or manifest.file_size < self.target_bytes

    def _full(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile] | None:
        """Return manifests without DELETE entries.

        Return None when fewer than two manifests, or less than ``full_bytes``, would be rewritten.
        """
        if sum(m.file_size for m in manifests if self._must_change(m)) < self.full_bytes:
            return None
        deleted = [e for m in manifests if m.num_deleted_files > 0 for e in self.read(m) if e.kind is FileKind.DELETE]
        deleted_files = {e.identity for e in deleted}
        partitions = {e.partition for e in deleted}
        kept: list[ManifestFile] = []
        opened: list[ManifestFile] = []
        for manifest in manifests:
            touched = self._must_change(manifest) or self.may_hold(manifest, partitions)
            (opened if touched else kept).append(manifest)
        if len(opened) <= 1:
            return None
        written: list[ManifestFile] = []
        entries: list[tuple[int, ManifestEntry]] = []
        most = MOST_ENTRIES
        numbers = sorted(range(len(opened)), key=lambda number: self._low(opened[number]))
        for number, follower in zip_longest(numbers, numbers[1:]):
            manifest = opened[number]
            found = self.read(manifest)
            left = [e for e in found if e.kind is FileKind.ADD and e.identity not in deleted_files]
            if len(left) == len(found) and not self._must_change(manifest):
                kept.append(manifest)
            else:
                entries += ((number, entry) for entry in left)
            if len(entries) >= most and follower is not None:
                entries.sort(key=self._numbered_place)
                ready = entries[: self._before(entries, self._low(opened[follower]))]
                full = self.write([entry for _, entry in ready], only_full=True)
                written += full
                del entries[: sum(m.num_added_files for m in full)]
                most = len(entries) + (MOST_ENTRIES if full else len(entries))
        entries.sort(key=self._numbered_place)
        return [*kept, *written, *(self.write([entry for _, entry in entries]) if entries else ())]

    def _numbered_place(self, numbered: tuple[int, ManifestEntry]) -> tuple[SortKey, int, int]:
        """Return the place of an entry: its partition, its bucket, and the number of its manifest."""
        number, entry = numbered
        return (
            (self._place(entry.partition), entry.bucket, number)
            if self.partition_types is not None
            else ((), 0, number)
        )

    def _low(self, manifest: ManifestFile) -> SortKey:
        """Return the place of the lowest partition that a manifest may contain; unknown ones come first."""
        low = manifest.partition_stats.min_values
        return self._place(low) if self.partition_types and any(low[:4]) else ()

    def _before(self, entries: Sequence[tuple[int, ManifestEntry]], low: SortKey) -> int:
        """Return how many of the ordered entries to write: those before the place ``low``, or all if these are few.

        Entries at later places stay in memory, because the manifests that follow contain more of the same partitions.
        """
        before = bisect_left(entries, low, key=lambda e: self._place(e[1].partition)) if low else len(entries)
        return before if 2 * before >= len(entries) else len(entries)

    def _minor(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        """Merge consecutive manifests that together reach the target size.

        The remaining manifests at the end are merged only if there are at least ``min_count`` of them.
        """
        out: list[ManifestFile] = []
        group: list[ManifestFile] = []
        size = 0
        for manifest in manifests:
            group.append(manifest)
            size += manifest.file_size
            if size >= self.target_bytes:
                out += self._merged(group)
                group, size = [], 0
        return [*out, *(self._tail(group) if len(group) >= self.min_count else group)]

    def _tail(self, group: list[ManifestFile]) -> Sequence[ManifestFile]:
        """Merge the last manifests: from the first manifest that is not larger than all later manifests together.

        At least the last two manifests are merged.
        """
        left = sum(m.file_size for m in group)
        for number, manifest in enumerate(group[:-2]):
            left -= manifest.file_size
            if manifest.file_size <= left:
                return [*group[:number], *self._merged(group[number:])]
        return [*group[:-2], *self._merged(group[-2:])]

    def _merged(self, group: list[ManifestFile]) -> Sequence[ManifestFile]:
        if len(group) == 1:
            return group
        entries = merge_entries(e for m in group for e in self.read(m))
        return self._written(entries)

    def _written(self, entries: Sequence[ManifestEntry]) -> Sequence[ManifestFile]:
        if not entries:
            return ()
        if self.partition_types is not None:
            place = {partition: self._place(partition) for partition in {e.partition for e in entries}}
            entries = sorted(entries, key=lambda e: (place[e.partition], e.bucket))
        return self.write(entries)

    @cached_property
    def _place(self) -> Callable[[bytes], SortKey]:
        """The place of a partition among all partitions; each is decoded once."""
        return cache(key_order(self.partition_types or ()))
