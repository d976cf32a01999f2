"""Index changes: the index manifest of the next snapshot, checked against the files and the indexes of its base.

A commit that removes or replaces deletion vectors names the index files that it read. When a concurrent commit has
replaced one of them, or has given a vector to a file that this commit removes, the commit conflicts: otherwise rows
that the other commit deleted would become visible again (format 4.4, 12.2, 14.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from paimon_core.commit.base import Base
from paimon_core.commit.overwrite import Matches
from paimon_core.errors import CommitConflict, UnsupportedFeature
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.index_manifest import IndexEntry, IndexFile
from paimon_core.metadata.manifest import FileKind, ManifestEntry

_READ_AGAIN = "; read the table again and repeat the change"


@dataclass(frozen=True, slots=True)
class IndexChange:
    """One index file that a commit adds or deletes."""

    kind: FileKind
    entry: IndexEntry


def index_changes(
    message: CommitMessage, deleted: Iterable[IndexFile], added: Iterable[IndexFile]
) -> Iterator[IndexChange]:
    """Yield the changes of the index files of a message's bucket."""
    for kind, files in ((FileKind.DELETE, deleted), (FileKind.ADD, added)):
        for file in files:
            yield IndexChange(kind, IndexEntry(message.partition, message.bucket, file))


def next_indexes(
    base: Base,
    changes: Sequence[IndexChange],
    entries: Sequence[ManifestEntry],
    replaced: Matches | None,
) -> list[IndexEntry] | None:
    """Return the index files of the next snapshot, or None when they are those of ``base``.

    ``replaced``: the partitions whose indexes an overwrite drops. Raises CommitConflict when a deletion vector of the
    base would be lost or would belong to no file, UnsupportedFeature for a table whose indexes would become stale.
    """
    there = base.indexes if changes or _makes_stale(base, entries) else []
    if not there and not changes:
        return None
    _refuse_unsupported(base, there)
    left = {_identity(e): e for e in there if replaced is None or not replaced(e.partition)}
    for change in changes:
        if change.kind is FileKind.DELETE and left.pop(_identity(change.entry), None) != change.entry:
            _raise_conflict(base, f"index file {change.entry.file.file_name} is no longer in the table")
    added = {e.file.file_name for e in entries if e.kind is FileKind.ADD}
    removed = {e.file.file_name for e in entries if e.kind is FileKind.DELETE} - added
    new = [change.entry for change in changes if change.kind is FileKind.ADD]
    for entry in new:
        if left.setdefault(_identity(entry), entry) is not entry:
            _raise_conflict(base, f"index file {entry.file.file_name} is already in the table")
    _check_vectors(base, left.values(), removed)
    _check_live(base, new)
    return list(left.values())


def _makes_stale(base: Base, entries: Sequence[ManifestEntry]) -> bool:
    """Whether the entries may make indexes of the base stale, which new files of append tables never do."""
    if base.snapshot is None or base.snapshot.index_manifest is None:
        return False
    no_vectors = base.context.is_keyed and not base.context.options["deletion-vectors.enabled"]
    return bool(entries) and (no_vectors or any(e.kind is FileKind.DELETE for e in entries))


def _refuse_unsupported(base: Base, there: Sequence[IndexEntry]) -> None:
    enabled = base.context.options["deletion-vectors.enabled"]
    for entry in there:
        foreign = base.context.is_keyed and not (enabled and entry.file.vectors is not None)
        if foreign or entry.file.is_global or entry.file.external_path is not None:
            raise UnsupportedFeature(
                f"table {base.context.name} has table indexes (index file {entry.file.file_name} of type "
                f"{entry.file.index_type}), which a change of its files would make stale: not supported",
                table=base.context.name,
            )


def _check_vectors(base: Base, left: Iterable[IndexEntry], removed: set[str]) -> None:
    """Check that no vector is of a removed file, no file has two, and a fixed bucket has one index file."""
    holders: dict[tuple[bytes, int], str] = {}
    seen: dict[tuple[bytes, int, str], str] = {}
    bucketed = base.context.options["bucket"] > 0
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


def _check_live(base: Base, new: Sequence[IndexEntry]) -> None:
    """Check that each new vector belongs to a file of the base."""
    if not new:
        return
    partitions = {e.partition for e in new}
    live = {(e.partition, e.bucket, e.file.file_name) for e in base.live(partitions.__contains__, partitions)}
    for entry in new:
        for name in _data_files(entry):
            if (entry.partition, entry.bucket, name) not in live:
                _raise_conflict(base, f"file {name} is no longer in the table, but the commit deletes rows of it")


def _identity(entry: IndexEntry) -> tuple[bytes, int, str]:
    return entry.partition, entry.bucket, entry.file.file_name


def _data_files(entry: IndexEntry) -> list[str]:
    return [vector.data_file for vector in entry.file.vectors or ()]


def _raise_conflict(base: Base, problem: str) -> NoReturn:
    raise CommitConflict(
        f"table {base.context.name}: {problem}{_READ_AGAIN}", table=base.context.name, snapshot=base.id
    )
