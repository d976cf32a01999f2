"""RemovableFiles: the files that become unused when snapshots, tags or changelogs are deleted.

Every expiry and the deletion of tags use the same rule: first collect the files of the deleted snapshots, tags or
changelogs as candidates, then remove from the candidates every file that is still used. While candidates are collected,
missing or unreadable metadata files are ignored, because an earlier, interrupted run may have deleted them. While used
files are read, a missing or unreadable file is an error, which stops the run. Data files are compared by name, which is
unique in a table; a file that was moved to another level keeps its name.
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
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.index_names import index_file_names
from paimon_core.metadata.manifests.named_entries import FileNames
from paimon_core.metadata.snapshot import CommitKind, Snapshot

_T = TypeVar("_T")
Sizes = dict[str, int]
"""The size in bytes of each file, by path; 0 for a file whose size is not recorded."""


@dataclass(frozen=True)
class Removal:
    """Files that were deleted or would be deleted: their paths, their numbers and the sum of their recorded sizes.

    The data files, with their extra files, come first; the metadata files follow.
    """

    paths: tuple[str, ...] = ()
    data_files: int = 0
    metadata_files: int = 0
    size_bytes: int = 0

    @staticmethod
    def of(data: Iterable[PlannedFile], metadata: Iterable[PlannedFile]) -> Removal:
        """Return the removal of the files, with the data files first."""
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
    """Candidates for deletion; ``keep``, ``keep_changes`` and ``keep_lists`` remove the used files."""

    context: TableContext
    data: dict[str, Sizes] = field(default_factory=dict)
    """For each name of a data file: the sizes of the file and of its extra files, by path."""
    metadata: Sizes = field(default_factory=dict)
    partitions: set[bytes] = field(default_factory=set)
    """The partitions of the data files."""
    _read: dict[str, list[tuple[FileKind, Any]]] = field(default_factory=dict)
    """For each name of a manifest: its entries for data files that are candidates (kind, identity and name)."""
    _last: tuple[str, list[ManifestFile]] | None = None

    # -- collect candidates

    def add_file(self, entry: ManifestEntry) -> None:
        """Add a data file and its extra files; a file at an external path outside of the allowed roots is left out."""
        file = entry.file
        if file.external_path is not None and self.context.paths.external.find(file.external_path) is None:
            return
        paths = self.context.file_paths(entry.partition, entry.bucket, file)
        self.data[file.file_name] = {path: 0 if i else file.file_size for i, path in enumerate(paths)}
        self.partitions.add(entry.partition)

    def add_deleted(self, snapshot: Snapshot, only: Callable[[ManifestEntry], bool] = lambda entry: True) -> None:
        """Add the files that the snapshot's delta deletes, restricted to the entries that satisfy ``only``.

        A file that the same delta also adds is left out: it was moved to another level.
        """
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
        """Add the snapshot's base and delta manifest lists with their manifests, its index files and its statistics.

        If a list cannot be read, only the list itself is added. With ``lists`` False, only index files and statistics
        are added.
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
        """Add the snapshot's changelog files with their manifests and manifest list (format 10.3)."""
        if snapshot.changelog_manifest_list is None:
            return
        for entry in readable_entries(self.context, snapshot.changelog_manifest_list):
            if entry.kind is FileKind.ADD:
                self.add_file(entry)
        self._add_list(snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size)

    def add_lists(self, snapshot: Snapshot) -> None:
        """Add the snapshot's base and delta manifest lists and the manifests in them."""
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
        """Return the manifests of a list; the last result is cached."""
        if self._last is None or self._last[0] != name:
            self._last = name, self.context.manifests.read_list(name, size)
        return self._last[1]

    # -- remove used files from the candidates

    def keep(self, snapshots: Iterable[Snapshot]) -> int:
        """Take all files that a read of the snapshots needs out of the candidates.

        Return the number of data files taken out. The files of changelogs are not included, see ``keep_changes``.
        Raises CorruptTable when a file of a snapshot is missing or cannot be read.
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
        """Take the files with the changes of the snapshots (format 10.3, 16.2) out of the candidates.

        Return the number of data files taken out. With ``by_delta``, the changes of an APPEND snapshot without a
        changelog are its appended files (format 10.4). A missing list or manifest is ignored, because the changelog of
        a branch that was created from a tag may have been deleted before. Raises CorruptTable for a file that cannot be
        read.
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
        """Take the base and delta manifest lists of a changelog, and their manifests, out of the candidates."""
        for name, size in _lists(snapshot):
            self.metadata.pop(self.context.paths.manifest(name), None)
            for manifest in _unless_missing(self.context.manifests.read_list, name, size):
                self.metadata.pop(self.context.paths.manifest(manifest.file_name), None)

    def files(self) -> tuple[list[PlannedFile], list[PlannedFile]]:
        """Return the remaining candidates: the data files with their extra files, and the metadata files."""
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
        names = FileNames(self.data)
        for manifest in base.manifests if self.data else ():
            if not base.may_hold(manifest, self.partitions):
                continue
            for kind, (identity, name) in self._changes(base, manifest, names):
                if kind is FileKind.ADD:
                    live[identity] = name
                else:
                    live.pop(identity, None)
        return set(live.values())

    def _changes(self, base: Base, manifest: ManifestFile, names: FileNames) -> list[tuple[FileKind, Any]]:
        name = manifest.file_name
        if name not in self._read:
            found = names.entries(base.read_entries(manifest))
            self._read[name] = [(e.kind, (e.identity, e.file.file_name)) for e in found]
        return self._read[name]


def readable_entries(context: TableContext, list_name: str) -> Iterator[ManifestEntry]:
    """Yield the entries of all manifests in a list; manifests that are missing or unreadable are skipped."""
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
    """Return the paths of the files in an index manifest; raises CorruptTable when it is missing or unreadable."""
    path = context.paths.manifest(name)
    try:
        data = context.storage.read(path)
    except FileNotFoundError:
        raise CorruptTable(f"{path} is missing", path=path, missing=True) from None
    return [context.paths.index(file) for file in index_file_names(data, path)]


def _lists(snapshot: Snapshot) -> Iterator[tuple[str, int | None]]:
    """Yield name and size in bytes of the snapshot's base and delta manifest lists."""
    yield snapshot.base_manifest_list, snapshot.base_manifest_list_size
    yield snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
