"""Held: the bytes of a table's data files by what holds them.

A file belongs to the first of these that uses it: the latest version, then the snapshots of main, then changelogs that
outlive their snapshots, then tags, the newest first, then branches. So each sum is the most that an expiry, or the
deletion of a tag or a branch, can free. Files are identified by a hash of their names, as in plans.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from paimon_core.errors import BranchNotFound, CorruptTable, SnapshotNotFound, TagNotFound
from paimon_core.health.known_lists import KnownLists, reading_lists_once
from paimon_core.maintain.references.protected_files import delta_may_be_changelog
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.manifests.entry_columns import EntryColumns, live
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.storage.paths import MAIN

Digests = npt.NDArray[np.int64]
_Files = tuple[Digests, npt.NDArray[np.int64]]
"""The digests of the names of files, and their sizes in bytes."""
_T = TypeVar("_T")


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
    """The snapshots that can be read, the oldest first."""
    damages: Mapping[str, str] = field(default_factory=dict)
    """Snapshots, tags, changelogs and branches that cannot be read, such as ``snapshot 3 of branch b``, with the error.

    What they hold is not known, so the bytes above may be too small.
    """

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

    def add(self, parts: Iterable[_Files]) -> int:
        """Add files, given by digests and sizes; return the bytes of the files that were not counted before."""
        listed = list(parts)
        if not listed:
            return 0
        digests, sizes = (np.concatenate(column) for column in zip(*listed, strict=True))
        digests, first = np.unique(digests, return_index=True)
        new = ~np.isin(digests, self.digests, assume_unique=True)
        self.digests = np.union1d(self.digests, digests[new])
        return int(sizes[first][new].sum())


@dataclass
class _Damages:
    """What could not be read, by name, with the errors."""

    of: str = ""
    """The end of each name, such as `` of branch b``."""
    found: dict[str, str] = field(default_factory=dict)

    def read(self, what: str, read: Callable[[], _T], otherwise: _T) -> _T:
        """Return what ``read`` returns, and ``otherwise`` when it raises CorruptTable."""
        try:
            return read()
        except CorruptTable as error:
            self.found.setdefault(what + self.of, str(error))
            return otherwise


@dataclass(frozen=True, slots=True)
class _History:
    """The snapshots of a branch, the oldest first, with the entries that each adds and its changelog files."""

    snapshots: list[Snapshot]
    deltas: list[EntryColumns]
    changelogs: list[_Files]
    first: list[_Files]
    """The live files of the first snapshot."""

    def files(self) -> Iterator[_Files]:
        """Yield the files of the first snapshot, the files that the next snapshots added, and the changelog files."""
        yield from self.first
        yield from map(_added, self.deltas[1:])
        yield from self.changelogs


def held_by(context: TableContext, latest: Snapshot | None, lists: KnownLists) -> Held:
    """Return what holds the bytes of a table, read from all of its snapshots, tags and branches.

    ``lists`` are the manifest lists that ``context`` and the branches read once. Snapshots, tags and branches that are
    deleted during the call are left out, and so are those that cannot be read: ``Held.damages`` names them. Raises
    CorruptTable when the files of ``latest`` cannot be read.
    """
    known, damages = _Known(), _Damages()
    live_bytes = 0 if latest is None else known.add([_live(context, latest)])
    latest_files = known.digests
    history = _history(context, damages)
    snapshots = known.add(history.files())
    changelog_ids = context.changelogs.ids()
    changelogs = known.add(_of_changelogs(context, changelog_ids, damages))
    newest_first = sorted(_tags(context, damages), key=lambda t: (-t.snapshot.id, t.name))
    tags = [HeldByTag(tag, known.add(_of_tag(context, tag, damages))) for tag in newest_first]
    branches = list(_of_branches(context, known, lists, damages)) if context.branch == MAIN else []
    return Held(
        live=live_bytes,
        snapshots=snapshots,
        if_oldest=_if_oldest(latest_files, history.deltas, history.changelogs),
        changelogs=changelogs,
        changelog_count=len(changelog_ids),
        tags=tuple(tags),
        branches=tuple(branches),
        versions=tuple(Version(s, _new_bytes(d)) for s, d in zip(history.snapshots, history.deltas, strict=True)),
        damages=damages.found,
    )


def _history(context: TableContext, damages: _Damages) -> _History:
    """Read the snapshots of a branch, and their entries; entries that cannot be read are left out."""
    none = EntryColumns.of_entries([])
    snapshots: list[Snapshot] = []
    deltas: list[EntryColumns] = []
    changelogs: list[_Files] = []
    first: list[_Files] = []
    for snapshot_id in context.snapshots.ids():
        what = f"snapshot {snapshot_id}"
        try:
            snapshot = damages.read(what, partial(context.snapshots.read, snapshot_id), None)
        except SnapshotNotFound:
            continue
        if snapshot is None:
            continue
        if not snapshots:
            first = damages.read(what, partial(_if_there, context, snapshot), [])
        snapshots.append(snapshot)
        deltas.append(damages.read(what, partial(_delta, context, snapshot), none))
        changelogs.append(damages.read(what, partial(_changelog, context, snapshot), _added(none)))
    return _History(snapshots, deltas, changelogs, first)


def _tags(context: TableContext, damages: _Damages) -> Iterator[Tag]:
    for name in context.tags.names():
        try:
            tag = damages.read(f"tag {name}", partial(context.tags.read, name), None)
        except TagNotFound:
            continue
        if tag is not None:
            yield tag


def _of_tag(context: TableContext, tag: Tag, damages: _Damages) -> list[_Files]:
    return damages.read(f"tag {tag.name}", partial(_if_there, context, tag.snapshot), [])


def _of_branches(context: TableContext, known: _Known, lists: KnownLists, damages: _Damages) -> Iterator[HeldByBranch]:
    """Yield the branches, except those that are deleted meanwhile or were created only in part."""
    for name, changed_millis in sorted(context.branches.times().items()):
        own = _Damages(f" of branch {name}")
        try:
            branch = own.read("the schema", partial(context.on_branch, name), None)
        except BranchNotFound:
            continue
        if branch is not None:
            yield _of_branch(reading_lists_once(branch, lists), known, changed_millis, own)
        if own.found and context.branches.is_there(name):
            damages.found.update(own.found)


def _of_branch(branch: TableContext, known: _Known, changed_millis: int, damages: _Damages) -> HeldByBranch:
    history = _history(branch, damages)
    size = known.add(history.files())
    size += known.add(_of_changelogs(branch, branch.changelogs.ids(), damages))
    size += sum(known.add(_of_tag(branch, tag, damages)) for tag in _tags(branch, damages))
    return HeldByBranch(branch.branch, size, max([changed_millis, *(s.time_millis for s in history.snapshots[-1:])]))


def _of_changelogs(context: TableContext, ids: Sequence[int], damages: _Damages) -> Iterator[_Files]:
    """Yield the files of changelogs whose snapshots have expired; without a producer, these are the appended files."""
    by_delta = bool(ids) and delta_may_be_changelog(context)
    for snapshot_id in ids:
        what = f"changelog {snapshot_id}"
        with contextlib.suppress(SnapshotNotFound):
            changelog = damages.read(what, partial(context.changelogs.read, snapshot_id), None)
            if changelog is not None:
                none: list[_Files] = []
                yield from damages.read(what, partial(_of_one_changelog, context, changelog, by_delta), none)


def _of_one_changelog(context: TableContext, changelog: Snapshot, by_delta: bool) -> list[_Files]:
    if changelog.changelog_manifest_list is not None:
        return [_changelog(context, changelog)]
    return [_added(_delta(context, changelog))] if by_delta and changelog.commit_kind is CommitKind.APPEND else []


def _if_oldest(latest: Digests, deltas: Sequence[EntryColumns], changelogs: Sequence[_Files]) -> tuple[int, ...]:
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


def _if_there(context: TableContext, snapshot: Snapshot) -> list[_Files]:
    """Return the live files of a snapshot, or nothing when it has expired meanwhile."""
    try:
        return [_live(context, snapshot)]
    except SnapshotNotFound:
        return []


def _live(context: TableContext, snapshot: Snapshot) -> _Files:
    with context.manifests.reading(snapshot):
        columns = context.manifests.read_columns(context.manifests.manifests_of(snapshot))
    at = np.flatnonzero(live(columns))
    return columns.name_digest[at], columns.numbers["file_size"][at]


def _added(columns: EntryColumns) -> _Files:
    return _of_kind(columns, FileKind.ADD)


def _of_kind(columns: EntryColumns, kind: FileKind) -> _Files:
    at = np.flatnonzero(columns.numbers["kind"] == kind.value)
    return columns.name_digest[at], columns.numbers["file_size"][at]


def _changelog(context: TableContext, snapshot: Snapshot) -> _Files:
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
