"""Garbage: the files that leave with snapshots, tags or changelogs, minus everything that what stays still uses.

One rule serves every expiry and the deletion of tags. Candidates are collected from what goes, with patience for files
that an earlier, interrupted run deleted already. What stays is read strictly: anything unreadable there stops the run.
Data files are matched by name, which is unique in a table, so a file that was upgraded to another level is recognised.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from paimon_core.commit.base import Base
from paimon_core.errors import CorruptTable
from paimon_core.maintain.planning.plan import PlannedFile
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.index_names import index_file_names
from paimon_core.metadata.manifest import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.snapshot import CommitKind, Snapshot

_T = TypeVar("_T")
Sizes = dict[str, int]
"""Bytes by path; 0 where nothing records them."""


@dataclass(frozen=True)
class Removal:
    """Files that were deleted, or would be: data files (extra files included), manifests and lists, bytes recorded."""

    paths: tuple[str, ...] = ()
    data_files: int = 0
    metadata_files: int = 0
    size_bytes: int = 0

    @staticmethod
    def of(data: Iterable[PlannedFile], metadata: Iterable[PlannedFile]) -> Removal:
        """Data files first, then the rest."""
        first, then = list(data), list(metadata)
        both = [*first, *then]
        return Removal(tuple(f.path for f in both), len(first), len(then), sum(f.size for f in both))

    def __add__(self, other: Removal) -> Removal:
        return Removal(
            self.paths + other.paths,
            self.data_files + other.data_files,
            self.metadata_files + other.metadata_files,
            self.size_bytes + other.size_bytes,
        )


@dataclass
class RemovableFiles:
    """Candidates for deletion; what is used leaves the set again by ``keep`` and ``keep_changes``."""

    context: TableContext
    data: dict[str, Sizes] = field(default_factory=dict)
    """By the name of a data file: its path and those of its extra files."""
    metadata: Sizes = field(default_factory=dict)
    partitions: set[bytes] = field(default_factory=set)
    """Those of the data files."""
    _read: dict[str, list[tuple[FileKind, Any]]] = field(default_factory=dict)
    """By manifest: the changes of candidates in it."""
    _last: tuple[str, list[ManifestFile]] | None = None

    # -- what goes

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

    def add_deleted(self, snapshot: Snapshot, only: Callable[[ManifestEntry], bool] = lambda entry: True) -> None:
        """What the snapshot's delta deletes and does not add again, as an upgrade to another level does."""
        delta: list[ManifestEntry] = []
        with contextlib.suppress(CorruptTable):
            for manifest in self._list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size):
                with contextlib.suppress(CorruptTable):
                    delta += self.context.manifests.read_manifest(manifest.file_name, manifest.file_size)
        added = {e.file.file_name for e in delta if e.kind is FileKind.ADD}
        for entry in delta:
            if entry.kind is FileKind.DELETE and entry.file.file_name not in added and only(entry):
                self.add_file(entry)

    def add_metadata(self, snapshot: Snapshot, *, lists: bool = True) -> None:
        """The lists of the snapshot's state with the manifests in them, its table indexes and its statistics.

        Lists that are missing or torn add only themselves. Without ``lists``, indexes and statistics alone.
        """
        paths = self.context.paths
        if lists:
            self.add_lists(snapshot)
        if snapshot.statistics is not None:
            self.metadata[paths.statistics(snapshot.statistics)] = 0
        if snapshot.index_manifest is not None and paths.manifest(snapshot.index_manifest) not in self.metadata:
            with contextlib.suppress(CorruptTable):
                self.metadata |= dict.fromkeys(_index_files(self.context, snapshot.index_manifest), 0)
            self.metadata[paths.manifest(snapshot.index_manifest)] = 0

    def add_changelog(self, snapshot: Snapshot) -> None:
        """The snapshot's changelog files, their manifests and list (format 10.3)."""
        if snapshot.changelog_manifest_list is None:
            return
        for entry in patient_entries(self.context, snapshot.changelog_manifest_list):
            if entry.kind is FileKind.ADD:
                self.add_file(entry)
        self._add_list(snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size)

    def add_lists(self, snapshot: Snapshot) -> None:
        """The lists of the snapshot's state and the manifests in them."""
        for name, size in reversed(list(_lists(snapshot))):
            self._add_list(name, size)

    def _add_list(self, name: str, size: int | None) -> None:
        path = self.context.paths.manifest(name)
        if path in self.metadata:
            return
        self.metadata[path] = size or 0
        with contextlib.suppress(CorruptTable):
            for manifest in self._list(name, size):
                self.metadata[self.context.paths.manifest(manifest.file_name)] = manifest.file_size

    def _list(self, name: str, size: int | None) -> list[ManifestFile]:
        """The manifests of a list; the one asked for last is remembered."""
        if self._last is None or self._last[0] != name:
            self._last = name, self.context.manifests.read_list(name, size)
        return self._last[1]

    # -- what stays

    def keep(self, snapshots: Iterable[Snapshot]) -> int:
        """Take out all that the states of these snapshots use; how many data files that were.

        Their changelogs do not count, see ``keep_changes``. Raises CorruptTable when a snapshot cannot be read whole.
        """
        kept = 0
        for snapshot in snapshots:
            base = Base(self.context, snapshot)
            for path in self._metadata_of(base):
                self.metadata.pop(path, None)
            for name in self._live_candidates(base):
                kept += self.data.pop(name, None) is not None
        return kept

    def keep_changes(self, snapshots: Iterable[Snapshot], *, by_delta: bool) -> int:
        """Take out all that tells the changes of these snapshots: their changelogs (format 10.3, 16.2).

        ``by_delta``: without a changelog, the appended files tell them (format 10.4). A list that is missing keeps
        nothing, as a branch made from a tag may have lost its changelog before; anything else must be readable.
        """
        kept = 0
        for snapshot in snapshots:
            name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
            if name is None and by_delta and snapshot.commit_kind is CommitKind.APPEND:
                name, size = snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
            if name is None:
                continue
            self.metadata.pop(self.context.paths.manifest(name), None)
            for manifest in _unless_missing(self.context.manifests.read_list, name, size):
                self.metadata.pop(self.context.paths.manifest(manifest.file_name), None)
                read = self.context.manifests.read_manifest
                for entry in _unless_missing(read, manifest.file_name, manifest.file_size):
                    if entry.kind is FileKind.ADD:
                        kept += self.data.pop(entry.file.file_name, None) is not None
        return kept

    def keep_lists(self, snapshot: Snapshot) -> None:
        """Take out the lists of a changelog's state with their manifests, as far as they are there still."""
        for name, size in _lists(snapshot):
            self.metadata.pop(self.context.paths.manifest(name), None)
            for manifest in _unless_missing(self.context.manifests.read_list, name, size):
                self.metadata.pop(self.context.paths.manifest(manifest.file_name), None)

    def files(self) -> tuple[list[PlannedFile], list[PlannedFile]]:
        """What is left: data files with their extra files, and metadata files."""
        data = [PlannedFile(path, size) for sizes in self.data.values() for path, size in sizes.items()]
        return data, [PlannedFile(path, size) for path, size in self.metadata.items()]

    def _metadata_of(self, base: Base) -> Iterator[str]:
        paths, snapshot = self.context.paths, base.snapshot
        assert snapshot is not None
        for name, _ in _lists(snapshot):
            yield paths.manifest(name)
        yield from (paths.manifest(m.file_name) for m in base.manifests)
        if snapshot.statistics is not None:
            yield paths.statistics(snapshot.statistics)
        if snapshot.index_manifest is not None:
            yield paths.manifest(snapshot.index_manifest)
            yield from _index_files(self.context, snapshot.index_manifest)

    def _live_candidates(self, base: Base) -> set[str]:
        live: dict[Any, str] = {}
        for manifest in base.manifests if self.data else ():
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


def patient_entries(context: TableContext, list_name: str) -> Iterator[ManifestEntry]:
    """The entries below a manifest list, without those of files that are missing or torn."""
    with contextlib.suppress(CorruptTable):
        for manifest in context.manifests.read_list(list_name):
            with contextlib.suppress(CorruptTable):
                yield from context.manifests.read_manifest(manifest.file_name, manifest.file_size)


def _unless_missing(read: Callable[[str, int | None], list[_T]], name: str, size: int | None) -> list[_T]:
    try:
        return read(name, size)
    except CorruptTable as error:
        if not error.facts.get("missing"):
            raise
        return []


def _index_files(context: TableContext, name: str) -> list[str]:
    """The paths of an index manifest's files; raises CorruptTable."""
    path = context.paths.manifest(name)
    try:
        data = context.storage.read(path)
    except FileNotFoundError:
        raise CorruptTable(f"{path} is missing", path=path, missing=True) from None
    return [context.paths.index(file) for file in index_file_names(data, path)]


def _lists(snapshot: Snapshot) -> Iterator[tuple[str, int | None]]:
    """The lists of the snapshot's state; the one of its changelog is none of them."""
    yield snapshot.base_manifest_list, snapshot.base_manifest_list_size
    yield snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
