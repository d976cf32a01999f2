"""Base: the snapshot that a commit builds on. Manifests are read only when the commit needs them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paimon_core.commit.snapshot_chain import chain_break
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import SNAPSHOT_TRIES
from paimon_core.metadata.manifests.entries import ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.entry_columns import Entries, EntryColumns, live
from paimon_core.metadata.manifests.index_manifest import IndexEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.live_manifests import JOINED_FILES


@dataclass(frozen=True)
class Base:
    """The state that a commit changes; ``snapshot`` is None for a table without snapshots."""

    context: TableContext
    snapshot: Snapshot | None

    @property
    def id(self) -> int:
        """The id of the snapshot; 0 without a snapshot."""
        return 0 if self.snapshot is None else self.snapshot.id

    @cached_property
    def manifests(self) -> list[ManifestFile]:
        """All manifests of the snapshot, in the order in which their entries must be applied."""
        with self._reading():
            return [] if self.snapshot is None else self.context.manifests.manifests_of(self.snapshot)

    @cached_property
    def indexes(self) -> list[IndexEntry]:
        """All table index files of the snapshot (format 4.4)."""
        with self._reading():
            return [] if self.snapshot is None else self.context.manifests.read_indexes(self.snapshot.index_manifest)

    def read(self, manifest: ManifestFile) -> list[ManifestEntry]:
        """Return the entries of a manifest."""
        with self._reading():
            return self.context.manifests.read_manifest(manifest.file_name, manifest.file_size)

    def read_entries(self, manifest: ManifestFile) -> Entries:
        """Return the entries of a manifest, as columns when there are many; the manifest is not cached."""
        with self._reading():
            return self.context.manifests.read_entries(manifest.file_name, manifest.file_size, keep=False)

    def read_holding(self, manifest: ManifestFile, partitions: Collection[bytes]) -> list[ManifestEntry]:
        """Return the entries of a manifest that are in ``partitions``; the result may also contain entries of other
        partitions.
        """
        with self._reading():
            return self.context.manifests.read_holding(manifest, partitions)

    def read_among(self, manifest: ManifestFile, partitions: Collection[bytes], *, keep: bool = True) -> Entries:
        """Return the entries of a manifest; those of other partitions may be left out.

        ``keep``: whether the manifest is cached. Raises the errors of ``ManifestStore.read_each``, and SnapshotNotFound
        when the snapshot has expired.
        """
        with self._reading():
            return self.context.manifests.read_each([manifest], partitions, keep=keep)[0]

    def _reading(self) -> contextlib.AbstractContextManager[None]:
        """Return a context for reads of the snapshot: its errors say what is lost, or that the snapshot has expired."""
        return contextlib.nullcontext() if self.snapshot is None else self.context.manifests.reading(self.snapshot)

    def live(self, matches: Callable[[bytes], bool], among: Collection[bytes] | None = None) -> list[ManifestEntry]:
        """Return the live entries of the partitions for which ``matches`` is true.

        ``among``: the only partitions that can match; manifests that cannot contain any of them are not read.
        """
        return self.live_columns(matches, among).entries()

    def live_columns(self, matches: Callable[[bytes], bool], among: Collection[bytes] | None = None) -> EntryColumns:
        """Return the entries of ``live`` as columns; ``matches`` is called once for each partition of a manifest.

        Of more than ``JOINED_FILES`` entries no manifest is cached, so that one manifest is in memory at a time.
        """
        opened = [m for m in self.manifests if among is None or self.may_hold(m, among)]
        keep = sum(m.num_added_files + m.num_deleted_files for m in opened) <= JOINED_FILES
        parts: list[Entries] = []
        with self._reading():
            for manifest in opened:
                (found,) = self.context.manifests.read_each([manifest], among, keep=keep)
                chosen = _in_partitions(found, matches)
                if isinstance(chosen, EntryColumns) and _FEW * len(chosen) < len(found):
                    chosen = chosen.gathered(np.arange(len(chosen)))
                parts.append(chosen)
        columns = EntryColumns.concat(parts)
        return columns.filter(live(columns))

    def may_hold(self, manifest: ManifestFile, partitions: Collection[bytes]) -> bool:
        """Whether a manifest can contain an entry of the ``partitions``, by its partition ranges (format 4.2)."""
        return self.context.manifests.may_hold(manifest, partitions)

    def is_latest(self) -> bool:
        """Whether this is still the latest snapshot. Only then does a missing file mean that the table is damaged."""
        return self.context.snapshots.latest() == self.snapshot

    def is_current(self) -> bool:
        """Whether the snapshot still exists unchanged.

        False when the snapshot has expired or was rolled back, or when another snapshot has its id now.
        """
        snapshots = self.context.snapshots
        return snapshots.latest_id() is None if self.snapshot is None else snapshots.is_live(self.snapshot)

    def may_be_followed(self, tried: int) -> bool:
        """Whether a commit may build on this snapshot: it exists unchanged and continues the snapshot chain.

        ``tried``: see ``chain_problem``.
        """
        return self.is_current() and self.chain_problem(tried) is None

    def chain_problem(self, tried: int) -> str | None:
        """Return why a commit must not build on this existing snapshot, and what to do; None when the commit may build
        on it.

        ``tried``: the number of attempts of the commit that have failed. In the first attempts, a gap in the snapshot
        ids below this snapshot is a problem. Later attempts ignore a gap, so that a snapshot file that was deleted by
        hand does not block writers forever.
        """
        gaps = tried < min(SNAPSHOT_TRIES, self.context.options["commit.max-retries"])
        return None if self.snapshot is None else chain_break(self.context, self.snapshot, gaps=gaps)


_FEW = 10
"""If fewer than a tenth of the entries of a manifest are needed, they are copied, and the manifest is released."""


def _in_partitions(entries: Entries, matches: Callable[[bytes], bool]) -> Entries:
    if isinstance(entries, tuple):
        return tuple(e for e in entries if matches(e.partition))
    return entries.of_partitions(matches)
