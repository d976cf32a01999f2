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
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from paimon_core.lsm.key_order import key_order
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.manifest_file import merge_entries
from paimon_core.types import DataType


@dataclass(frozen=True)
class ManifestMerge:
    """Merges manifests.

    The fields are the functions that read and write manifests, and the sizes and the count that start a merge.
    """

    read: Callable[[ManifestFile], Sequence[ManifestEntry]]
    write: Callable[[Sequence[ManifestEntry]], Sequence[ManifestFile]]
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
        entries: list[ManifestEntry] = []
        for manifest in opened:
            found = self.read(manifest)
            left = [e for e in found if e.kind is FileKind.ADD and e.identity not in deleted_files]
            if len(left) == len(found) and not self._must_change(manifest):
                kept.append(manifest)
            else:
                entries += left
        return [*kept, *self._written(entries)]

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
            order = key_order(self.partition_types)
            place = {partition: order(partition) for partition in {e.partition for e in entries}}
            entries = sorted(entries, key=lambda e: (place[e.partition], e.bucket))
        return self.write(entries)
