"""Held: the bytes of a table's data files by what holds them.

A file belongs to the first of these that uses it: the latest version, then the snapshots of main, then tags, then
branches. So the sums add up to the bytes that an expiry, a deleted tag or a deleted branch would free at most. Files
are told apart by a hash of their names, as in plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paimon_core.errors import BranchNotFound, CorruptTable, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.manifests.entry_columns import EntryColumns, live
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.tag_store import Tag

Digests = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HeldByTag:
    """A tag with the bytes of files that neither the snapshots nor an earlier tag of the list use."""

    tag: Tag
    bytes: int


@dataclass(frozen=True, slots=True)
class HeldByBranch:
    """A branch with the bytes that only it uses, and the time of its last commit (epoch milliseconds, or None)."""

    name: str
    bytes: int
    last_commit_millis: int | None


@dataclass(frozen=True, slots=True)
class Version:
    """A snapshot with the bytes of its new files; files that only moved to another level do not count."""

    snapshot: Snapshot
    new_bytes: int

    @property
    def compacts(self) -> bool:
        """Whether the new files have rows that the table had before."""
        return self.snapshot.commit_kind is CommitKind.COMPACT


@dataclass(frozen=True)
class Held:
    """The bytes of data files by what holds them, and what was written in the snapshots that still exist."""

    live: int = 0
    snapshots: int = 0
    """Bytes that only snapshots before the latest use, with the changelog files of all snapshots."""
    tags: tuple[HeldByTag, ...] = ()
    branches: tuple[HeldByBranch, ...] = ()
    unreadable_branches: tuple[str, ...] = ()
    """Branches that were deleted during the call, or have no schema."""
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

    @property
    def written(self) -> int:
        """Bytes of new files of APPEND and OVERWRITE snapshots since the first snapshot."""
        return sum(v.new_bytes for v in self.versions if not v.compacts)

    @property
    def rewritten(self) -> int:
        """Bytes of new files of COMPACT snapshots since the first snapshot."""
        return sum(v.new_bytes for v in self.versions if v.compacts)

    @property
    def total(self) -> int:
        """All bytes of data files that something uses."""
        return self.live + self.snapshots + sum(t.bytes for t in self.tags) + sum(b.bytes for b in self.branches)


@dataclass
class _Known:
    """The files that have been counted."""

    digests: Digests = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, parts: Iterable[tuple[Digests, npt.NDArray[np.int64]]]) -> int:
        """Add files, given by digests and sizes, and return the bytes of those that were not counted before."""
        listed = list(parts)
        if not listed:
            return 0
        digests, sizes = (np.concatenate(column) for column in zip(*listed, strict=True))
        digests, first = np.unique(digests, return_index=True)
        new = ~np.isin(digests, self.digests, assume_unique=True)
        self.digests = np.union1d(self.digests, digests[new])
        return int(sizes[first][new].sum())


def held_by(context: TableContext, latest: Snapshot | None) -> Held:
    """Return what holds the bytes of a table, read from all of its snapshots, tags and branches.

    Snapshots, tags and branches that are deleted during the call are left out. Raises CorruptTable for metadata that
    cannot be read.
    """
    known = _Known()
    live_bytes = 0 if latest is None else known.add([_live(context, latest)])
    snapshots = list(_snapshots(context))
    deltas = [_delta(context, snapshot) for snapshot in snapshots]
    history = known.add(_of_history(context, snapshots, deltas))
    oldest_first = sorted(context.tags.list(), key=lambda t: t.snapshot.id)
    tags = [HeldByTag(tag, known.add(_if_there(context, tag.snapshot))) for tag in oldest_first]
    branches, unreadable = [], []
    for name in context.branches.names() if context.branch == "main" else ():
        try:
            branches.append(_of_branch(context.on_branch(name), known))
        except (BranchNotFound, CorruptTable):
            unreadable.append(name)
    versions = (Version(s, _new_bytes(columns)) for s, columns in zip(snapshots, deltas, strict=True))
    return Held(
        live=live_bytes,
        snapshots=history,
        tags=tuple(tags),
        branches=tuple(branches),
        unreadable_branches=tuple(unreadable),
        versions=tuple(versions),
    )


def _snapshots(context: TableContext) -> Iterator[Snapshot]:
    for snapshot_id in context.snapshots.ids():
        try:
            yield context.snapshots.read(snapshot_id)
        except SnapshotNotFound:
            continue


def _of_branch(branch: TableContext, known: _Known) -> HeldByBranch:
    snapshots = list(_snapshots(branch))
    size = known.add(_of_history(branch, snapshots, [_delta(branch, snapshot) for snapshot in snapshots]))
    size += sum(known.add(_if_there(branch, tag.snapshot)) for tag in branch.tags.list())
    return HeldByBranch(branch.branch, size, snapshots[-1].time_millis if snapshots else None)


def _of_history(
    context: TableContext, snapshots: Sequence[Snapshot], deltas: Sequence[EntryColumns]
) -> Iterator[tuple[Digests, Digests]]:
    """Yield the files of the first snapshot, and those that the following snapshots added, with their changelogs."""
    for snapshot in snapshots[:1]:
        yield from _if_there(context, snapshot)
    for columns in deltas[1:]:
        yield _added(columns)
    for snapshot in snapshots:
        if snapshot.changelog_manifest_list is not None:
            name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
            yield _added(_entries(context, snapshot, name, size))


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
    at = np.flatnonzero(columns.numbers["kind"] == FileKind.ADD.value)
    return columns.name_digest[at], columns.numbers["file_size"][at]


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
