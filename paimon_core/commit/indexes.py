"""Index changes: the index manifest of the next snapshot, checked against the files and the indexes of its base.

A commit that removes or replaces deletion vectors names the index files that it read. The commit conflicts when a
concurrent commit has replaced one of these index files, or has added a deletion vector for a file that this commit
removes. Otherwise rows that the concurrent commit deleted would become visible again (format 4.4, 12.2, 14.3).

A commit to dynamic buckets states the hash index files of each partition from which it assigned keys to buckets. When a
concurrent commit has changed the hash indexes of the partition since, the commit conflicts: otherwise one key could be
in two buckets (format 11.1). With cross-partition upsert, a commit states the snapshot from which the writer read all
keys. When a later commit, other than a compaction, has changed rows, the commit conflicts: otherwise one key could be
in two partitions (format 11.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from paimon_core.commit.base import Base
from paimon_core.commit.overwrite import Matches
from paimon_core.commit.snapshot_history import delta_of, describe, snapshots_since
from paimon_core.errors import CommitConflict, CorruptTable, InvalidRequest, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.commit_message import Assignment, CommitMessage, Position, position_of
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.index_manifest import HASH, IndexEntry, IndexFile
from paimon_core.metadata.snapshot import CommitKind

_READ_AGAIN = "; read the table again and repeat the change"
_WRITE_AGAIN = "; write the rows again, and let only one writer at a time add keys"


@dataclass(frozen=True, slots=True)
class IndexChange:
    """One index file that a commit adds or deletes."""

    kind: FileKind
    entry: IndexEntry

    @property
    def partition(self) -> bytes:
        """The serialized partition of the index file."""
        return self.entry.partition


@dataclass(frozen=True, slots=True)
class AssignedKeys:
    """A step that states that a commit adds rows to a bucket, and how their keys were assigned to this bucket."""

    partition: bytes
    bucket: int
    assignment: Assignment


IndexStep = IndexChange | AssignedKeys
"""A change of the indexes, or a condition that the indexes must fulfil after all earlier steps are applied."""


def index_changes(
    message: CommitMessage, deleted: Iterable[IndexFile], added: Iterable[IndexFile]
) -> Iterator[IndexChange]:
    """Yield a DELETE step for each index file in ``deleted``, and an ADD step for each index file in ``added``."""
    for kind, files in ((FileKind.DELETE, deleted), (FileKind.ADD, added)):
        for file in files:
            yield IndexChange(kind, IndexEntry(message.partition, message.bucket, file))


def next_indexes(
    base: Base,
    changes: Sequence[IndexStep],
    entries: Sequence[ManifestEntry],
    replaced: Matches | None,
) -> list[IndexEntry] | None:
    """Return the index files of the next snapshot, or None when they are the same as in ``base``.

    ``replaced``: a test of the partitions whose indexes an overwrite removes. Raises CommitConflict when a deletion
    vector of the base would be lost or would belong to no file, or when keys were assigned to dynamic buckets from
    other hash indexes than the base has; UnsupportedFeature for a table whose indexes would become stale.
    """
    there = base.indexes if changes or _makes_stale(base, entries) else []
    _check_assigned(base, changes, entries)
    if not there and not changes:
        return None
    _refuse_unsupported(base, there, entries)
    left = {_identity(e): e for e in there if replaced is None or not replaced(e.partition)}
    assignments = _Assignments(base, replaced)
    assignments.add(left.values())
    for step in changes:
        if isinstance(step, AssignedKeys):
            assignments.check(step)
            continue
        entry = step.entry
        if step.kind is FileKind.DELETE:
            if left.pop(_identity(entry), None) != entry:
                _raise_conflict(base, f"index file {entry.file.file_name} is no longer in the table")
            assignments.remove(entry)
        elif left.setdefault(_identity(entry), entry) is not entry:
            _raise_conflict(base, f"index file {entry.file.file_name} is already in the table")
        else:
            assignments.add([entry])
    added = {e.file.file_name for e in entries if e.kind is FileKind.ADD}
    removed = {e.file.file_name for e in entries if e.kind is FileKind.DELETE} - added
    _check_vectors(base, left.values(), removed)
    _check_live(base, [s.entry for s in changes if isinstance(s, IndexChange) and s.kind is FileKind.ADD], there)
    kept = list(left.values())
    return None if kept == there else kept


@dataclass
class _Assignments:
    """The hash index files of each partition while the steps of a commit are applied, one file for each bucket."""

    base: Base
    replaced: Matches | None
    files: dict[bytes, dict[int, str]] = field(default_factory=dict)
    last: dict[bytes, Assignment] = field(default_factory=dict)

    def add(self, entries: Iterable[IndexEntry]) -> None:
        """Add the hash index files among the entries; raises CommitConflict if a bucket would have two files."""
        for entry in entries:
            if entry.file.index_type != HASH:
                continue
            name = entry.file.file_name
            if self.files.setdefault(entry.partition, {}).setdefault(entry.bucket, name) != name:
                _raise_conflict(
                    self.base, f"{_place(self.base, entry)} would have two hash indexes, {name} is one", _WRITE_AGAIN
                )

    def remove(self, entry: IndexEntry) -> None:
        """Remove the index file of ``entry`` if it is a hash index file."""
        if entry.file.index_type == HASH:
            del self.files[entry.partition][entry.bucket]

    def check(self, keys: AssignedKeys) -> None:
        """Check that keys were assigned from the hash indexes that the partition has.

        All messages of one flush state the same indexes, so only the first message of a partition is compared.
        """
        assignment, table = keys.assignment, self.base.context.name
        if self.base.context.is_cross_partition:
            self._check_all_keys(assignment)
            return
        last = self.last.get(keys.partition)
        if last == assignment:
            return
        if last is not None and last.assigner != assignment.assigner:
            _raise_conflict(
                self.base,
                f"two writers of one commit assigned keys of {_place(self.base, keys)} independently",
                _WRITE_AGAIN,
            )
        if self.replaced is not None and assignment.base:
            raise InvalidRequest(
                f"table {table}: the keys of an overwrite must be assigned to buckets without the existing keys, "
                "by a writer with ignore_existing=True"
            )
        if tuple(sorted(self.files.get(keys.partition, {}).values())) != assignment.base:
            _raise_conflict(
                self.base,
                f"another commit changed the hash indexes of {_place(self.base, keys)} after this writer read them",
                _WRITE_AGAIN,
            )
        self.last[keys.partition] = assignment

    def _check_all_keys(self, assignment: Assignment) -> None:
        """Check that no commit has changed rows since the writer read all keys to choose partitions and buckets."""
        table = self.base.context.name
        last = self.last.setdefault(b"", assignment)
        if last.assigner != assignment.assigner:
            _raise_conflict(self.base, "two writers of one commit placed keys independently", _WRITE_AGAIN)
        if (self.replaced is None) != (assignment.keys_of is not None):
            raise InvalidRequest(
                f"table {table}: an overwrite, and no other commit, must place its keys without the existing keys: "
                "use a writer with ignore_existing=True for an overwrite only"
            )
        if assignment.keys_of is not None:
            if last is assignment:
                self._check_unchanged(assignment.keys_of)
        elif self.replaced is not None and last is assignment:
            replaced = self.replaced
            for entry in self.base.live(lambda partition: not replaced(partition), None):
                raise InvalidRequest(
                    f"table {table}: an overwrite must replace all partitions, because a key may be in any of them, "
                    f"but {_place(self.base, entry)} has rows: use the option dynamic-partition-overwrite = false",
                    table=table,
                )

    def _check_unchanged(self, position: Position) -> None:
        """Raise CommitConflict unless it is certain that no rows were changed after the snapshot of ``position``."""
        base = self.base
        if base.snapshot is not None and position == position_of(base.snapshot):
            return
        try:
            for snapshot in snapshots_since(base, position):
                if snapshot.commit_kind is not CommitKind.COMPACT and delta_of(base, snapshot):
                    _raise_conflict(
                        base, f"{describe(snapshot)} changed rows after this writer read the keys", _WRITE_AGAIN
                    )
        except (SnapshotNotFound, CorruptTable) as error:
            _raise_conflict(base, f"a snapshot after those keys has expired or was rolled back: {error}", _WRITE_AGAIN)


def _place(base: Base, item: IndexEntry | AssignedKeys | ManifestEntry) -> str:
    return base.context.bucket_path(item.partition, item.bucket)


def _check_assigned(base: Base, steps: Sequence[IndexStep], entries: Sequence[ManifestEntry]) -> None:
    """Raise InvalidRequest if level-0 files are added to dynamic buckets without an assignment of their keys.

    An entry that replaces the entry of the same file, for another file index, adds no keys.
    """
    if not base.context.has_dynamic_buckets:
        return
    assigned = {step.partition for step in steps if isinstance(step, AssignedKeys)}
    same = {entry.file.file_name for entry in entries if entry.kind is FileKind.DELETE}
    for entry in entries:
        if entry.kind is not FileKind.ADD or entry.file.level != 0 or entry.file.file_name in same:
            continue
        if entry.partition not in assigned:
            raise InvalidRequest(
                f"table {base.context.name} has dynamic buckets, but the message with file {entry.file.file_name} does "
                "not state how its keys were assigned to them: write with a writer of this table",
                file=entry.file.file_name,
            )


def _makes_stale(base: Base, entries: Sequence[ManifestEntry]) -> bool:
    """Whether the entries may make indexes of the base stale. New files of append tables never make indexes stale."""
    if base.snapshot is None or base.snapshot.index_manifest is None:
        return False
    no_vectors = base.context.is_keyed and not base.context.options["deletion-vectors.enabled"]
    return bool(entries) and (no_vectors or any(e.kind is FileKind.DELETE for e in entries))


def _refuse_unsupported(base: Base, there: Sequence[IndexEntry], entries: Sequence[ManifestEntry]) -> None:
    # New files make no deletion vector stale, so a handle that was opened before vectors were enabled may add files.
    enabled = base.context.options["deletion-vectors.enabled"] or all(e.kind is FileKind.ADD for e in entries)
    for entry in there:
        known = (entry.file.vectors is not None and (enabled or not entry.file.vectors)) or (
            base.context.has_dynamic_buckets and entry.file.index_type == HASH
        )
        foreign = base.context.is_keyed and not known
        if foreign or entry.file.is_global or entry.file.external_path is not None:
            raise UnsupportedFeature(
                f"table {base.context.name} has table indexes (index file {entry.file.file_name} of type "
                f"{entry.file.index_type}), which a change of its files would make stale: not supported",
                table=base.context.name,
            )


def _check_vectors(base: Base, left: Iterable[IndexEntry], removed: set[str]) -> None:
    """Check the deletion vectors after the commit.

    No vector may belong to a removed file, no file may have two vectors, and a fixed bucket may have only one index
    file of deletion vectors.
    """
    holders: dict[tuple[bytes, int], str] = {}
    seen: dict[tuple[bytes, int, str], str] = {}
    bucketed = base.context.has_buckets
    for entry in left:
        place, name = (entry.partition, entry.bucket), entry.file.file_name
        if entry.file.vectors is None:
            continue
        if bucketed and holders.setdefault(place, name) != name:
            _raise_conflict(base, f"bucket {entry.bucket} would have two files of deletion vectors, {name} is one")
        for vector in entry.file.vectors:
            if vector.data_file in removed:
                _raise_conflict(base, f"rows of file {vector.data_file} were deleted by another commit")
            if seen.setdefault((*place, vector.data_file), name) != name:
                _raise_conflict(base, f"file {vector.data_file} would have two deletion vectors")


def _check_live(base: Base, new: Sequence[IndexEntry], there: Sequence[IndexEntry]) -> None:
    """Check that each new vector belongs to a live file of the base.

    A vector of a file that is not live is allowed if the base has a vector of this file with the same number of rows:
    Java keeps the vectors of files that its full compactions have rewritten. Such vectors have no effect.
    """
    if not new:
        return
    partitions = {e.partition for e in new}
    live = {(e.partition, e.bucket, e.file.file_name) for e in base.live(partitions.__contains__, partitions)}
    known = {(e.partition, e.bucket, v.data_file): v.cardinality for e in there for v in e.file.vectors or ()}
    for entry in new:
        for vector in entry.file.vectors or ():
            place = (entry.partition, entry.bucket, vector.data_file)
            if place not in live and (vector.cardinality is None or known.get(place) != vector.cardinality):
                _raise_conflict(
                    base, f"file {vector.data_file} is no longer in the table, but the commit deletes rows of it"
                )


def _identity(entry: IndexEntry) -> tuple[bytes, int, str]:
    return entry.partition, entry.bucket, entry.file.file_name


def _raise_conflict(base: Base, problem: str, advice: str = _READ_AGAIN) -> NoReturn:
    raise CommitConflict(f"table {base.context.name}: {problem}{advice}", table=base.context.name, snapshot=base.id)
