"""Merging of manifests when a commit writes its base list: few large ones instead of many small (format 4.7).

Only the grouping of entries changes, never the live files. The result lists manifests in an order in which they
apply, as the input did; manifests that are taken over unchanged keep their names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from paimon_core.metadata.manifest import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifest_file import merge_entries


@dataclass(frozen=True)
class ManifestMerge:
    """How manifests are read and written, and the sizes (bytes) and count at which they merge."""

    read: Callable[[ManifestFile], Sequence[ManifestEntry]]
    write: Callable[[Sequence[ManifestEntry]], Sequence[ManifestFile]]
    may_hold: Callable[[ManifestFile, Collection[bytes]], bool]
    """Whether a manifest can have entries of one of these partitions."""
    target_bytes: int
    min_count: int
    full_bytes: int

    def merge(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        """The same live files in manifests rewritten in full, or in part, or not at all."""
        rewritten = self._full(manifests)
        return self._minor(manifests) if rewritten is None else rewritten

    def _must_change(self, manifest: ManifestFile) -> bool:
        return manifest.num_deleted_files > 0 or manifest.file_size < self.target_bytes

    def _full(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile] | None:
        """Without any DELETE entry left; None when too little would be gained."""
        if sum(m.file_size for m in manifests if self._must_change(m)) < self.full_bytes:
            return None
        deleted = [e for m in manifests if m.num_deleted_files > 0 for e in self.read(m) if e.kind is FileKind.DELETE]
        gone = {e.identity for e in deleted}
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
            left = [e for e in found if e.kind is FileKind.ADD and e.identity not in gone]
            if len(left) == len(found) and not self._must_change(manifest):
                kept.append(manifest)
            else:
                entries += left
        return [*kept, *(self.write(entries) if entries else ())]

    def _minor(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        """Neighbours that together reach the target size become one; the tail only when it is long."""
        out: list[ManifestFile] = []
        group: list[ManifestFile] = []
        size = 0
        for manifest in manifests:
            group.append(manifest)
            size += manifest.file_size
            if size >= self.target_bytes:
                out += self._merged(group)
                group, size = [], 0
        return [*out, *(self._merged(group) if len(group) >= self.min_count else group)]

    def _merged(self, group: list[ManifestFile]) -> Sequence[ManifestFile]:
        if len(group) == 1:
            return group
        entries = merge_entries(e for m in group for e in self.read(m))
        return self.write(entries) if entries else ()
