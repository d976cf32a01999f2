"""LiveManifests: the live files of a snapshot, one manifest at a time; the manifests are not joined in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from paimon_core.codec.avro.columns import Mask
from paimon_core.metadata.manifests.entries import FileKind, ManifestFile
from paimon_core.metadata.manifests.entry_columns import Entries, EntryColumns, live
from paimon_core.metadata.stores.manifest_store import ManifestStore

JOINED_FILES = 100_000
"""Manifests with at most this many entries together are cached and joined: they are decoded once."""


class LiveManifests:
    """The live files of some manifests, which are decoded again when they are needed.

    The files are read when the object is created. Until it is released it keeps their compressed bytes, 16 bytes for
    each entry, and the decoded entries of names that occur more than once. So the live files can be read also after the
    snapshot has expired.
    """

    def __init__(
        self, store: ManifestStore, opened: Sequence[ManifestFile], among: Collection[bytes] | None = None
    ) -> None:
        """Read the manifests ``opened``, in order, and find the live files.

        ``among``: the only partitions (serialized) whose files are returned; None: all. Raises the errors of
        ``ManifestStore.read_each``, and CorruptTable for a file that is added twice.
        """
        self._among = among
        self._joined: tuple[EntryColumns, Mask] | None = None
        if sum(m.num_added_files + m.num_deleted_files for m in opened) <= JOINED_FILES:
            columns = self._of(EntryColumns.concat(store.read_each(opened, among)))
            self._joined = columns, live(columns)
            return
        self._readers = store.readers(opened, among)
        self._masks = self._live()

    def __iter__(self) -> Iterator[EntryColumns]:
        """Yield the live files of each manifest that has live files, in order."""
        return (columns.filter(alive) for columns, alive in self.each(only_live=True))

    def each(self, *, only_live: bool = False) -> Iterator[tuple[EntryColumns, Mask]]:
        """Yield all entries of each manifest that has entries, in order, and which of them are live files.

        ``only_live``: manifests without live files are left out.
        """
        if self._joined is not None:
            columns, alive = self._joined
            if alive.any() or (len(columns) and not only_live):
                yield self._joined
            return
        for read, alive in zip(self._readers, self._masks, strict=True):
            if alive.any() or (len(alive) and not only_live):
                yield self._of(read()), alive

    def _of(self, found: Entries) -> EntryColumns:
        columns = EntryColumns.concat([found])
        among = self._among
        return columns if among is None else columns.of_partitions(lambda partition: partition in among)

    def _live(self) -> list[Mask]:
        """Return for each manifest which of its entries are live.

        Only entries whose name has the same hash as another name can be cancelled. These are joined and compared.
        """
        digests, masks = [], []
        for read in self._readers:
            columns = self._of(read())
            digests.append(np.array(columns.name_digest))
            masks.append(columns.numbers["kind"] == FileKind.ADD.value)
        together = np.sort(np.concatenate(digests)) if digests else np.zeros(0, np.int64)
        repeated = np.unique(together[1:][together[1:] == together[:-1]])
        if not len(repeated):
            return masks
        at = [np.flatnonzero(np.isin(digest, repeated)) for digest in digests]
        parts = [self._of(read()).gathered(some) for read, some in zip(self._readers, at, strict=True) if len(some)]
        left = np.split(live(EntryColumns.concat(parts)), np.cumsum([len(some) for some in at])[:-1])
        for mask, some, alive in zip(masks, at, left, strict=True):
            mask[some] = alive
        return masks
