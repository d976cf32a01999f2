"""Held: the bytes of a table's data files by what holds them.

A file belongs to the first of these that uses it: the latest version, then the snapshots of main, then changelogs that
outlive their snapshots, then tags, the newest first, then branches. So each sum is the most that an expiry, or the
deletion of a tag or a branch, can free. Files are identified by a hash of their names, as in plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paimon_core.errors import BranchNotFound, CorruptTable, SnapshotNotFound
from paimon_core.health.known_lists import KnownLists, reading_lists_once
from paimon_core.maintain.references.protected_files import delta_may_be_changelog
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.manifests.entry_columns import EntryColumns, live
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.storage.paths import MAIN

Digests = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HeldByTag:
    """A tag with the bytes of files that neither snapshots and changelogs nor a newer tag use."""

    tag: Tag
    bytes: int


@dataclass(frozen=True, slots=True)
class HeldByBranch:
    """A branch with the bytes that neither main nor a branch before it, in the order of names, uses."""

    name: str
    bytes: int
    last_change_millis: int
    """The time of its last commit, or of its creation if this is later; epoch milliseconds."""


@dataclass(frozen=True, slots=True)
class Version:
    """A snapshot with the bytes of its new files; files that only moved to another level do not count."""

    snapshot: Snapshot
    new_bytes: int

    @property
    def compacts(self) -> bool:
        """Whether the snapshot is a compaction, whose new files only have rows that the table had before."""
        return self.snapshot.commit_kind is CommitKind.COMPACT


@dataclass(frozen=True)
class Held:
    """The bytes of data files by what holds them, and what was written in the snapshots that still exist."""

    live: int = 0
    snapshots: int = 0
    """Bytes that only snapshots before the latest use, and the bytes of the changelog files of all snapshots."""
    if_oldest: tuple[int, ...] = ()
    """For each snapshot, oldest first: the value of ``snapshots`` if all older snapshots had expired."""
    changelogs: int = 0
    """Bytes that only the changelogs of expired snapshots use."""
    changelog_count: int = 0
    tags: tuple[HeldByTag, ...] = ()
    branches: tuple[HeldByBranch, ...] = ()
    """The branches except main, by name; ``tags`` has the newest tag first."""
    versions: tuple[Version, ...] = ()
    """The snapshots that exist, the oldest first."""

    @property
    def snapshot_count(self) -> int:
        """The number of snapshots that exist."""
        return len(self.versions)

    @property
    def first_snapshot_millis(self) -> int | None:
        """The time of the first snapshot that exists."""
        return self.versions[0].snapshot.time_millis if self.versions else None

    def commit_millis(self, snapshot_id: int) -> int:
        """Return the commit time of a snapshot, epoch milliseconds; 0 when it does not exist."""
        return next((v.snapshot.time_millis for v in self.versions if v.snapshot.id == snapshot_id), 0)

    @property
    def written(self) -> int:
        """Bytes of the new files of all APPEND and OVERWRITE snapshots that exist."""
        return sum(v.new_bytes for v in self.versions if not v.compacts)

    @property
    def rewritten(self) -> int:
        """Bytes of the new files of all COMPACT snapshots that exist."""
        return sum(v.new_bytes for v in self.versions if v.compacts)

    @property
    def total(self) -> int:
        """All bytes of data files that something uses."""
        named = sum(t.bytes for t in self.tags) + sum(b.bytes for b in self.branches)
        return self.live + self.snapshots + self.changelogs + named


@dataclass
class _Known:
    """The files that have been counted."""

    digests: Digests = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, parts: Iterable[tuple[Digests, npt.NDArray[np.int64]]]) -> int:
        """Add files, given by digests and sizes; return the bytes of the files that were not counted before."""
        listed = list(parts)
        if not listed:
            return 0
        digests, sizes = (np.concatenate(column) for column in zip(*listed, strict=True))
        digests, first = np.unique(digests, return_index=True)
        new = ~np.isin(digests, self.digests, assume_unique=True)
        self.digests = np.union1d(self.digests, digests[new])
        return int(sizes[first][new].sum())


def held_by(context: TableContext, latest: Snapshot | None, lists: KnownLists) -> Held:
    """Return what holds the bytes of a table, read from all of its snapshots, tags and branches.

    ``lists`` are the manifest lists that ``context`` and the branches read once.

    Snapshots, tags and branches that are deleted during the call are left out. Raises CorruptTable for metadata that
    cannot be read.
    """
    known = _Known()
    live_bytes = 0 if latest is None else known.add([_live(context, latest)])
    latest_files = known.digests
    snapshots = list(_snapshots(context))
    deltas = [_delta(context, snapshot) for snapshot in snapshots]
    own = [_changelog(context, snapshot) for snapshot in snapshots]
    history = known.add((*_of_history(context, snapshots, deltas), *own))
    changelog_ids = context.changelogs.ids()
    changelogs = known.add(_of_changelogs(context, changelog_ids))
    newest_first = sorted(context.tags.list(), key=lambda t: (-t.snapshot.id, t.name))
    tags = [HeldByTag(tag, known.add(_if_there(context, tag.snapshot))) for tag in newest_first]
    branches = list(_of_branches(context, known, lists)) if context.branch == MAIN else []
    versions = tuple(Version(s, _new_bytes(columns)) for s, columns in zip(snapshots, deltas, strict=True))
    return Held(
        live=live_bytes,
        snapshots=history,
        if_oldest=_if_oldest(latest_files, deltas, own),
        changelogs=changelogs,
        changelog_count=len(changelog_ids),
        tags=tuple(tags),
        branches=tuple(branches),
        versions=versions,
    )


def _snapshots(context: TableContext) -> Iterator[Snapshot]:
    for snapshot_id in context.snapshots.ids():
        try:
            yield context.snapshots.read(snapshot_id)
        except SnapshotNotFound:
            continue


def _of_branches(context: TableContext, known: _Known, lists: KnownLists) -> Iterator[HeldByBranch]:
    """Yield the branches, except those that are deleted meanwhile or were created only in part."""
    for name, changed_millis in sorted(context.branches.times().items()):
        try:
            yield _of_branch(reading_lists_once(context.on_branch(name), lists), known, changed_millis)
        except BranchNotFound:
            continue
        except CorruptTable:
            if context.branches.is_there(name):
                raise


def _of_branch(branch: TableContext, known: _Known, changed_millis: int) -> HeldByBranch:
    snapshots = list(_snapshots(branch))
    deltas = [_delta(branch, snapshot) for snapshot in snapshots]
    own = [_changelog(branch, snapshot) for snapshot in snapshots]
    size = known.add((*_of_history(branch, snapshots, deltas), *own))
    size += known.add(_of_changelogs(branch, branch.changelogs.ids()))
    size += sum(known.add(_if_there(branch, tag.snapshot)) for tag in branch.tags.list())
    return HeldByBranch(branch.branch, size, max([changed_millis, *(s.time_millis for s in snapshots[-1:])]))


def _of_history(
    context: TableContext, snapshots: Sequence[Snapshot], deltas: Sequence[EntryColumns]
) -> Iterator[tuple[Digests, Digests]]:
    """Yield the files of the first snapshot, and the files that the following snapshots added."""
    for snapshot in snapshots[:1]:
        yield from _if_there(context, snapshot)
    for columns in deltas[1:]:
        yield _added(columns)


def _of_changelogs(context: TableContext, ids: Sequence[int]) -> Iterator[tuple[Digests, Digests]]:
    """Yield the files of changelogs whose snapshots have expired; without a producer, these are the appended files."""
    by_delta = bool(ids) and delta_may_be_changelog(context)
    for snapshot_id in ids:
        try:
            changelog = context.changelogs.read(snapshot_id)
        except SnapshotNotFound:
            continue
        if changelog.changelog_manifest_list is not None:
            yield _changelog(context, changelog)
        elif by_delta and changelog.commit_kind is CommitKind.APPEND:
            yield _added(_delta(context, changelog))


def _if_oldest(
    latest: Digests, deltas: Sequence[EntryColumns], changelogs: Sequence[tuple[Digests, Digests]]
) -> tuple[int, ...]:
    """Return ``Held.if_oldest``: a file that snapshot n deleted is held as long as snapshot n - 1 exists."""
    count = len(deltas)
    if count == 0:
        return ()
    # Newest first: of a file that is deleted twice, for example after a restore, the last time counts.
    parts = [(n, *changelogs[n]) for n in reversed(range(count))]
    parts += [(n - 1, *_of_kind(deltas[n], FileKind.DELETE)) for n in reversed(range(1, count))]
    parts.sort(key=lambda part: -part[0])
    holder = np.repeat([n for n, *_ in parts], [len(digests) for _, digests, _ in parts])
    digests, sizes = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    digests, first = np.unique(digests, return_index=True)
    first = first[~np.isin(digests, latest)]
    freed = np.zeros(count, np.int64)
    np.add.at(freed, holder[first], sizes[first])
    return tuple(map(int, freed[::-1].cumsum()[::-1]))


def _if_there(context: TableContext, snapshot: Snapshot) -> Iterator[tuple[Digests, Digests]]:
    """Yield the live files of a snapshot, or nothing when it has expired meanwhile."""
    try:
        yield _live(context, snapshot)
    except SnapshotNotFound:
        return


def _live(context: TableContext, snapshot: Snapshot) -> tuple[Digests, Digests]:
    with context.manifests.reading(snapshot):
        columns = context.manifests.read_columns(context.manifests.manifests_of(snapshot))
    at = np.flatnonzero(live(columns))
    return columns.name_digest[at], columns.numbers["file_size"][at]


def _added(columns: EntryColumns) -> tuple[Digests, Digests]:
    return _of_kind(columns, FileKind.ADD)


def _of_kind(columns: EntryColumns, kind: FileKind) -> tuple[Digests, Digests]:
    at = np.flatnonzero(columns.numbers["kind"] == kind.value)
    return columns.name_digest[at], columns.numbers["file_size"][at]


def _changelog(context: TableContext, snapshot: Snapshot) -> tuple[Digests, Digests]:
    """Return the changelog files of a snapshot.

    There are none when the changelog was deleted: a snapshot that was restored from a tag, or a branch that was created
    from one, may have lost its changelog.
    """
    name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
    try:
        return _added(EntryColumns.of_entries([]) if name is None else _entries(context, snapshot, name, size))
    except CorruptTable as error:
        if error.facts.get("missing"):
            return _added(EntryColumns.of_entries([]))
        raise


def _delta(context: TableContext, snapshot: Snapshot) -> EntryColumns:
    return _entries(context, snapshot, snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)


def _entries(context: TableContext, snapshot: Snapshot, list_name: str, size: int | None) -> EntryColumns:
    """Return the entries of a manifest list; none when the snapshot has expired meanwhile."""
    try:
        with context.manifests.reading(snapshot):
            return context.manifests.read_columns(context.manifests.read_list(list_name, size))
    except SnapshotNotFound:
        return EntryColumns.of_entries([])


def _new_bytes(columns: EntryColumns) -> int:
    """Return the bytes of new files; files that only moved do not count."""
    kinds, digests = columns.numbers["kind"], columns.name_digest
    added = (kinds == FileKind.ADD.value) & ~np.isin(digests, digests[kinds == FileKind.DELETE.value])
    return int(columns.numbers["file_size"][added].sum())
