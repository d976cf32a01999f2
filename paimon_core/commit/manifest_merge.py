"""Manifest merge: combine many small manifests into few large ones when a commit writes its base list (format 4.7).

Only the grouping of entries changes, never the set of live files. Like the input, the result lists manifests in an
order in which they can be applied. Manifests that need no change are reused under their names.

Rewritten entries are ordered by partition and bucket, so that each manifest covers few partitions, and a reader of one
partition opens few manifests and unpacks few blocks of them. The order may change: after a merge no file occurs twice
among the rewritten entries, so that no ADD is followed by its DELETE, and the manifests before and after keep their
places (format 4.6, 4.7). Within a bucket, entries stay in the order of the commits.

The tail of small manifests is merged by size, as the runs of an LSM tree: a manifest that is larger than all later ones
together is not rewritten. So an entry is rewritten a logarithmic number of times, and not by every ``min_count``
commits until its manifest has the target size.
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
    """The functions that read and write manifests, and the sizes (bytes) and count that trigger a merge."""

    read: Callable[[ManifestFile], Sequence[ManifestEntry]]
    write: Callable[[Sequence[ManifestEntry]], Sequence[ManifestFile]]
    may_hold: Callable[[ManifestFile, Collection[bytes]], bool]
    """Whether a manifest can contain entries of at least one of the given partitions."""
    target_bytes: int
    min_count: int
    full_bytes: int
    partition_types: Sequence[DataType] | None = None
    """The types of the partition columns, by which rewritten entries are ordered; None: they keep their order."""

    def merge(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        """Return manifests with the same live files: after a full merge if it is worthwhile, else after a minor one."""
        rewritten = self._full(manifests)
        return self._minor(manifests) if rewritten is None else rewritten

    def _must_change(self, manifest: ManifestFile) -> bool:
        return manifest.num_deleted_files > 0 or manifest.file_size < self.target_bytes

    def _full(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile] | None:
        """Remove all DELETE entries; None when under two manifests or ``full_bytes`` would be rewritten."""
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
        """Merge neighbours that together reach the target size; the rest only from ``min_count`` manifests on."""
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
        """Merge the manifests from the first on that is not larger than all later ones together, at least two."""
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
