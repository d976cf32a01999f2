"""Draft: the manifests and lists that one try of a commit writes, and their removal when the try is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest import ManifestEntry, ManifestFile


@dataclass(frozen=True)
class Draft:
    """Remembers what it wrote; nobody else knows these files before the snapshot that names them is published."""

    context: TableContext
    names: list[str] = field(default_factory=list)

    def manifests(self, entries: Sequence[ManifestEntry]) -> list[ManifestFile]:
        """Write entries to manifests of the table's target size."""
        written = self.context.manifests.write_manifests(entries, self.context.options["manifest.target-file-size"])
        self.names.extend(m.file_name for m in written)
        return written

    def manifest_list(self, manifests: Sequence[ManifestFile]) -> tuple[str, int]:
        """Write a manifest list; its name and its size in bytes."""
        name, size = self.context.manifests.write_list(manifests)
        self.names.append(name)
        return name, size

    def discard(self) -> None:
        """Delete what was written. Only for a try that is known to be lost; a file that will not go is left."""
        with contextlib.suppress(OSError):
            self.context.storage.delete(self.context.paths.manifest(name) for name in self.names)
        self.names.clear()
