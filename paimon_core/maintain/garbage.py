"""Garbage: the files that leave with snapshots or tags, minus everything that what stays still uses.

One rule serves expiry and the deletion of tags. Candidates are collected from what goes, with patience for files that
an earlier, interrupted run deleted already. What stays is read strictly: anything unreadable there stops the run. Data
files are matched by name, which is unique in a table, so a file that was upgraded to another level is recognised.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from paimon_core.commit.base import Base
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.snapshot import Snapshot

Sizes = dict[str, int]
"""Bytes by path; 0 where nothing records them."""


@dataclass(frozen=True)
class Removal:
    """Files that were deleted, or would be: data files (extra files included), manifests and lists, bytes recorded."""

    paths: tuple[str, ...] = ()
    data_files: int = 0
    metadata_files: int = 0
    size_bytes: int = 0


@dataclass
class Garbage:
    """Candidates for deletion; what is used leaves the set again by ``keep``."""

    context: TableContext
    data: dict[str, Sizes] = field(default_factory=dict)
    """By the name of a data file: its path and those of its extra files."""
    metadata: Sizes = field(default_factory=dict)
    partitions: set[bytes] = field(default_factory=set)
    """Those of the data files."""
    _read: dict[str, list[tuple[FileKind, Any]]] = field(default_factory=dict)
    """By manifest: the changes of candidates in it."""

    def add_file(self, entry: ManifestEntry) -> None:
        """A data file and its extra files; one at an external path is never deleted here."""
        file = entry.file
        if file.external_path is not None:
            return
        partition = self.context.partition_path(entry.partition)
        names = (file.file_name, *file.extra_files)
        paths = [self.context.paths.data_file(partition, entry.bucket, name) for name in names]
        self.data[file.file_name] = {path: 0 if i else file.file_size for i, path in enumerate(paths)}
        self.partitions.add(entry.partition)

    def add_metadata(self, snapshot: Snapshot) -> None:
        """The lists of the snapshot's state, their manifests as far as the lists are there, and its statistics."""
        for name, size in _lists(snapshot):
            self._add_list(name, size)
        if snapshot.statistics is not None:
            self.metadata[self.context.paths.statistics(snapshot.statistics)] = 0

    def add_changelog(self, snapshot: Snapshot) -> None:
        """The snapshot's changelog files, their manifests and list: nothing else uses them (format 10.3)."""
        if snapshot.changelog_manifest_list is None:
            return
        for entry in patient_entries(self.context, snapshot.changelog_manifest_list):
            if entry.kind is FileKind.ADD:
                self.add_file(entry)
        self._add_list(snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size)

    def _add_list(self, name: str, size: int | None) -> None:
        self.metadata[self.context.paths.manifest(name)] = size or 0
        with contextlib.suppress(CorruptTable):
            for manifest in self.context.manifests.read_list(name, size):
                self.metadata[self.context.paths.manifest(manifest.file_name)] = manifest.file_size

    def keep(self, snapshots: Iterable[Snapshot]) -> int:
        """Take out all that these snapshots use; how many data files that were.

        Their changelogs do not count: each belongs to one snapshot, and goes with it whatever a tag holds. Raises
        CorruptTable when a snapshot cannot be read whole.
        """
        kept = 0
        for snapshot in snapshots:
            base = Base(self.context, snapshot)
            for path in self._metadata_of(base):
                self.metadata.pop(path, None)
            for name in self._live_candidates(base):
                kept += self.data.pop(name, None) is not None
        return kept

    def removal(self) -> Removal:
        """What is left, as a value."""
        data = [item for sizes in self.data.values() for item in sizes.items()]
        both = [*data, *self.metadata.items()]
        return Removal(tuple(p for p, _ in both), len(data), len(self.metadata), sum(size for _, size in both))

    def _metadata_of(self, base: Base) -> Iterator[str]:
        paths, snapshot = self.context.paths, base.snapshot
        assert snapshot is not None
        for name, _ in _lists(snapshot):
            yield paths.manifest(name)
        yield from (paths.manifest(m.file_name) for m in base.manifests)
        if snapshot.statistics is not None:
            yield paths.statistics(snapshot.statistics)

    def _live_candidates(self, base: Base) -> set[str]:
        live: dict[Any, str] = {}
        for manifest in base.manifests:
            if not base.may_hold(manifest, self.partitions):
                continue
            for kind, (identity, name) in self._changes(base, manifest):
                if kind is FileKind.ADD:
                    live[identity] = name
                else:
                    live.pop(identity, None)
        return set(live.values())

    def _changes(self, base: Base, manifest: ManifestFile) -> list[tuple[FileKind, Any]]:
        name = manifest.file_name
        if name not in self._read:
            self._read[name] = [
                (e.kind, (e.identity, e.file.file_name)) for e in base.read(manifest) if e.file.file_name in self.data
            ]
        return self._read[name]


def refuse_unbuilt(context: TableContext) -> None:
    """Raises UnsupportedFeature when branches or changelogs of their own life may use files that we would delete."""
    for directory, what in (
        (context.paths.branch_directory, "branches"),
        (context.paths.changelog_directory, "changelogs that outlive their snapshots"),
    ):
        if context.storage.list(directory):
            raise UnsupportedFeature(
                f"table {context.name} has {what} ({directory}), whose files are not known here: nothing is deleted",
                table=context.name,
                path=directory,
            )
    for option in context.options.foreign:
        if option.startswith("changelog."):
            raise UnsupportedFeature(
                f"table {context.name}: changelogs that outlive their snapshots (option {option!r}) are not supported",
                table=context.name,
                option=option,
            )


def patient_entries(context: TableContext, list_name: str) -> Iterator[ManifestEntry]:
    """The entries below a manifest list, without those of files that are missing or torn."""
    with contextlib.suppress(CorruptTable):
        for manifest in context.manifests.read_list(list_name):
            with contextlib.suppress(CorruptTable):
                yield from context.manifests.read_manifest(manifest.file_name, manifest.file_size)


def _lists(snapshot: Snapshot) -> Iterator[tuple[str, int | None]]:
    """The lists of the snapshot's state; the one of its changelog is none of them."""
    yield snapshot.base_manifest_list, snapshot.base_manifest_list_size
    yield snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
