"""CommitMessage: the files of one bucket that a writer or a compaction passes to a commit (format 14.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from paimon_core.display import Displayed, Summary
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.data_file import DataFile, bytes_from_plain, bytes_to_plain, from_plain, to_plain
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.manifests.index_manifest import IndexFile, index_from_plain, index_to_plain
from paimon_core.metadata.member_types import checked
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.versioned_json import pack, unpacked

MESSAGE_VERSION = 5

Position = tuple[int, str]
"""A snapshot: its id and the unique name of its delta manifest list. (0, "") stands for a table without snapshots."""


def position_of(snapshot: Snapshot | None) -> Position:
    """Return the position of ``snapshot``; None stands for a table without snapshots."""
    return (0, "") if snapshot is None else (snapshot.id, snapshot.delta_manifest_list)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The state from which the keys of a message were assigned to dynamic buckets (format 11.1)."""

    assigner: str
    """The unique name of the assigner, the object that chose the buckets.

    All messages of one commit for one partition must have the same name.
    """

    base: tuple[str, ...] = ()
    """The names of the partition's hash index files that the assigner read, sorted."""
    keys_of: Position | None = None
    """For cross-partition upsert: the snapshot from which the assigner read all keys; None: no keys were read."""


@dataclass(frozen=True, slots=True, repr=False)
class CommitMessage(Displayed):
    """The files that a commit adds to and deletes from one bucket; the changes are visible only after the commit."""

    partition: bytes
    """A serialized BinaryRow of the partition columns."""
    bucket: int
    total_buckets: int
    new_files: tuple[DataFile, ...] = ()
    deleted_files: tuple[DataFile, ...] = ()
    compact_before: tuple[DataFile, ...] = ()
    compact_after: tuple[DataFile, ...] = ()
    changelog_files: tuple[DataFile, ...] = ()
    """Changelog files that belong to ``new_files`` (format 10)."""
    compact_changelog: tuple[DataFile, ...] = ()
    """Changelog files that the compaction wrote."""
    new_indexes: tuple[IndexFile, ...] = ()
    """Index files that become part of the table together with ``new_files``."""
    deleted_indexes: tuple[IndexFile, ...] = ()
    """The index files that ``new_indexes`` replace; the commit fails when such a file is no longer in the table."""
    compact_new_indexes: tuple[IndexFile, ...] = ()
    """Index files that the compaction wrote."""
    compact_deleted_indexes: tuple[IndexFile, ...] = ()
    """The index files that ``compact_new_indexes`` replace."""
    numbered_after: Position | None = None
    """A snapshot whose sequence numbers are all lower than the sequence numbers of ``new_files``; None: unknown.

    If the snapshot is known, the commit needs fewer reads.
    """

    assignment: Assignment | None = None
    """How the keys of ``new_files`` were assigned to dynamic buckets; None when no keys were assigned."""

    def _summary(self) -> Summary:
        files = tuple((name, len(getattr(self, name)) or None) for name in (*_FILE_MEMBERS, *_INDEX_MEMBERS))
        rows = sum(file.row_count for file in self.new_files)
        return Summary(f"bucket {self.bucket}", (("rows", rows), *files), (("partition", self.partition.hex()),))

    @property
    def is_empty(self) -> bool:
        """Whether the message has no files, so that its commit would change nothing."""
        return not any(getattr(self, member) for member in (*_FILE_MEMBERS, *_INDEX_MEMBERS))

    def to_bytes(self) -> bytes:
        """Return the message as versioned JSON, to send it to another process."""
        place = {
            "partition": bytes_to_plain(self.partition),
            "bucket": self.bucket,
            "total_buckets": self.total_buckets,
        }
        files = {member: [to_plain(f) for f in getattr(self, member)] for member in _FILE_MEMBERS}
        indexes = {member: [index_to_plain(f) for f in getattr(self, member)] for member in _INDEX_MEMBERS}
        assigned = None if self.assignment is None else _assignment_to_plain(self.assignment)
        rest = {"numbered_after": self.numbered_after, "assignment": assigned}
        return pack(MESSAGE_VERSION, place | files | indexes | rest)

    @staticmethod
    def from_bytes(data: bytes) -> CommitMessage:
        """Return the message that ``to_bytes`` encoded.

        Raises InvalidRequest for other bytes, UnsupportedFeature for another version.
        """
        with unpacked(data, "commit message", MESSAGE_VERSION) as value:
            files: dict[str, Any] = {k: tuple(map(from_plain, value.pop(k, ()))) for k in _FILE_MEMBERS}
            files |= {k: tuple(map(index_from_plain, value.pop(k, ()))) for k in _INDEX_MEMBERS}
            after = value.pop("numbered_after", None)
            position = None if after is None else (int(after[0]), str(after[1]))
            partition = bytes_from_plain(value.pop("partition"))
            found = value.pop("assignment", None)
            assigned = None if found is None else _assignment_from_plain(found)
            members = {"numbered_after": position, "assignment": assigned, **value, **files}
            return checked(CommitMessage(partition=partition, **members))


def _assignment_to_plain(assignment: Assignment) -> list[Any]:
    return [assignment.assigner, list(assignment.base), assignment.keys_of]


def _assignment_from_plain(value: Any) -> Assignment:
    assigner, base, position = value
    keys_of = None if position is None else (int(position[0]), str(position[1]))
    return checked(Assignment(assigner, tuple(base), keys_of))


def deletions(entries: Iterable[ManifestEntry]) -> list[CommitMessage]:
    """Return messages that delete the files of the entries, one message per bucket."""
    return [
        CommitMessage(*place, some[0].total_buckets, deleted_files=tuple(e.file for e in some))
        for place, some in by_bucket(entries).items()
    ]


_FILE_MEMBERS = (
    "new_files",
    "deleted_files",
    "compact_before",
    "compact_after",
    "changelog_files",
    "compact_changelog",
)
_INDEX_MEMBERS = ("new_indexes", "deleted_indexes", "compact_new_indexes", "compact_deleted_indexes")
