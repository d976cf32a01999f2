"""Draft: writes the manifests, lists and index manifest of one attempt of a commit; deletes them after a failure."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.index_manifest import IndexEntry


@dataclass(frozen=True)
class Draft:
    """Writes metadata files and records their names.

    No other process knows these files before the snapshot is published.
    """

    context: TableContext
    names: list[str] = field(default_factory=list)

    def manifests(self, entries: Sequence[ManifestEntry], spread: bool = False) -> list[ManifestFile]:
        """Write entries to manifests of the table's target size and return these manifests.

        With ``spread``, the last manifest is not smaller than the others.
        """
        target = self.context.options["manifest.target-file-size"]
        written = self.context.manifests.write_manifests(entries, target, spread=spread)
        self.names.extend(m.file_name for m in written)
        return written

    def manifest_list(self, manifests: Sequence[ManifestFile]) -> tuple[str, int]:
        """Write a manifest list; return its name and its size in bytes."""
        name, size = self.context.manifests.write_list(manifests)
        self.names.append(name)
        return name, size

    def index_manifest(self, entries: Sequence[IndexEntry]) -> str:
        """Write an index manifest and return its name."""
        name = self.context.manifests.write_indexes(entries)
        self.names.append(name)
        return name

    def discard(self) -> None:
        """Delete the written files; storage errors are suppressed, and a file that cannot be deleted is kept.

        Call it only for an attempt that has certainly failed.
        """
        with contextlib.suppress(OSError):
            self.context.storage.delete(self.context.paths.manifest(name) for name in self.names)
        self.names.clear()
