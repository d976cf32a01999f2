"""reading_lists_once: a context that reads each manifest list and index manifest once.

The layout, the costs and what holds old files need the same lists, and the cache of manifests contains no lists.
"""

from __future__ import annotations

from dataclasses import replace

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import ManifestFile
from paimon_core.metadata.manifests.index_manifest import IndexEntry
from paimon_core.metadata.stores.manifest_store import ManifestStore


class KnownLists:
    """The manifest lists and index manifests that were read, by name; their files never change.

    Memory: the records of these lists.
    """

    def __init__(self) -> None:
        self.lists: dict[str, list[ManifestFile]] = {}
        self.indexes: dict[str | None, list[IndexEntry]] = {}


class _Reading(ManifestStore):
    """A manifest store that reads a list only if it is not known."""

    known: KnownLists

    def read_list(self, name: str, size: int | None = None) -> list[ManifestFile]:
        """Return the records of a manifest list; raises as ``ManifestStore.read_list`` does."""
        if name not in self.known.lists:
            self.known.lists[name] = super().read_list(name, size)
        return self.known.lists[name]

    def read_indexes(self, name: str | None) -> list[IndexEntry]:
        """Return the entries of an index manifest; raises as ``ManifestStore.read_indexes`` does."""
        if name not in self.known.indexes:
            self.known.indexes[name] = super().read_indexes(name)
        return self.known.indexes[name]


def reading_lists_once(context: TableContext, known: KnownLists) -> TableContext:
    """Return the context of the same table and branch with a manifest store that uses ``known`` and adds to it."""
    old = context.manifests
    store = _Reading(old.storage, old.paths, old.partition_types, old.compression, old.cache, old.form)
    store.known = known
    return replace(context, manifests=store)
