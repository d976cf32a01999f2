"""Base: the snapshot that a commit builds on, and its manifests, read only as far as the commit asks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from paimon_core.codec.binary_row import row_decoder
from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifest_file import merge_entries
from paimon_core.metadata.snapshot import Snapshot


@dataclass(frozen=True)
class Base:
    """The state that a commit changes; ``snapshot`` is None for a table without snapshots."""

    context: TableContext
    snapshot: Snapshot | None

    @property
    def id(self) -> int:
        """The snapshot's id, 0 without one."""
        return 0 if self.snapshot is None else self.snapshot.id

    @cached_property
    def manifests(self) -> list[ManifestFile]:
        """All manifests of the snapshot in the order in which they apply."""
        return [] if self.snapshot is None else self.context.manifests.manifests_of(self.snapshot)

    def read(self, manifest: ManifestFile) -> list[ManifestEntry]:
        """The entries of a manifest."""
        return self.context.manifests.read_manifest(manifest.file_name, manifest.file_size)

    def live(self, matches: Callable[[bytes], bool], among: Collection[bytes] | None = None) -> list[ManifestEntry]:
        """The live entries of the partitions that match; manifests that can hold none ``among`` these stay shut."""
        entries = (
            entry
            for manifest in self.manifests
            if among is None or self.may_hold(manifest, among)
            for entry in self.read(manifest)
            if matches(entry.partition)
        )
        return [e for e in merge_entries(entries) if e.kind is FileKind.ADD]

    def may_hold(self, manifest: ManifestFile, partitions: Collection[bytes]) -> bool:
        """Whether a manifest can have an entry of one of these partitions, by its partition ranges (format 4.2)."""
        stats = manifest.partition_stats
        types = self.context.schema.partition_fields
        if not partitions:
            return False
        if not types or not any(stats.min_values[:4]):
            return True
        decode = row_decoder(tuple(f.type for f in types))
        try:
            low, high = decode(stats.min_values), decode(stats.max_values)
        except CorruptTable as error:
            name = manifest.file_name
            raise CorruptTable(f"partition statistics of manifest {name} do not decode: {error}", path=name) from error
        return any(_within(decode(partition), low, high) for partition in partitions)

    def is_current(self) -> bool:
        """Whether the snapshot still stands as it was read: neither expired nor rolled back and made anew."""
        snapshots = self.context.snapshots
        if self.snapshot is None:
            return snapshots.latest_id() is None
        try:
            return snapshots.read(self.snapshot.id) == self.snapshot
        except SnapshotNotFound:
            return False


def _within(row: Sequence[object], low: Sequence[object], high: Sequence[object]) -> bool:
    return all(_between(value, least, most) for value, least, most in zip(row, low, high, strict=True))


def _between(value: object, low: object, high: object) -> bool:
    """Nulls are counted, not ordered, and nothing is outside of a range that ends in NaN: only a clear no is a no."""
    if value is None or low is None or high is None:
        return True
    return not (value < low or value > high)  # type: ignore[operator]
