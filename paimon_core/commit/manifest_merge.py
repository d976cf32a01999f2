"""Manifest merge: combine many small manifests into few large ones when a commit writes its base list (format 4.7).

Only the grouping of entries changes, never the set of live files. Like the input, the result lists manifests in an
order in which they can be applied. Manifests that need no change are reused under their names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from paimon_core.metadata.manifest import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifest_file import merge_entries


@dataclass(frozen=True)
class ManifestMerge:
    """The functions that read and write manifests, and the sizes (bytes) and count that trigger a merge."""

    read: Callable[[ManifestFile], Sequence[ManifestEntry]]
    write: Callable[[Sequence[ManifestEntry]], Sequence[ManifestFile]]
    may_hold: Callable[[ManifestFile, Collection[bytes]], bool]
    """Whether a manifest can contain entries of one of these partitions."""
    target_bytes: int
    min_count: int
    full_bytes: int

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
        return [*kept, *(self.write(entries) if entries else ())]

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
        return [*out, *(self._merged(group) if len(group) >= self.min_count else group)]

    def _merged(self, group: list[ManifestFile]) -> Sequence[ManifestFile]:
        if len(group) == 1:
            return group
        entries = merge_entries(e for m in group for e in self.read(m))
        return self.write(entries) if entries else ()
