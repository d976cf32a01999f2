"""Changes: converts commit messages to planned snapshots: an APPEND or OVERWRITE, then a COMPACT (format 14.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.commit.indexes import AssignedKeys, IndexStep, index_changes
from paimon_core.commit.numbering import Flush
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind


@dataclass(frozen=True)
class Change:
    """The content of one planned snapshot.

    The DELETE entries of an overwrite are added when the base is known.
    """

    kind: CommitKind
    entries: Sequence[ManifestEntry]
    changelog: Sequence[ManifestEntry] = ()
    """ADD entries of changelog files, in the order in which their rows were changed (format 10)."""
    statistics: str | None = None
    """The statistics file of an ANALYZE snapshot, which changes no file."""
    statistics_schema: int = 0
    """The id of the schema for which the statistics were computed."""
    may_be_empty: bool = False
    """Whether to create the snapshot even when it changes nothing."""
    indexes: Sequence[IndexStep] = ()
    """The index files to add and delete, and conditions on the indexes, in the order in which they must be applied."""
    flushes: Sequence[Flush] = ()
    """The new files, grouped by writer and bucket; the rows of a later group are newer."""

    @property
    def records_nothing(self) -> bool:
        """Whether the snapshot is created even if it changes no files."""
        return self.may_be_empty or self.statistics is not None


def changes_of(
    messages: Sequence[CommitMessage], overwrite: Overwrite | None = None, *, keep_empty: bool = False
) -> list[Change]:
    """Return the planned snapshots for the messages, in order; [] when nothing changes.

    With ``keep_empty``, the result is one empty APPEND snapshot instead of [], except for an overwrite. An overwrite
    ignores changelog files, because the changelog does not describe replaced rows (format 14.2). Raises InvalidRequest
    when messages of an overwrite delete files.
    """
    appended: list[ManifestEntry] = []
    compacted: list[ManifestEntry] = []
    changelog: list[ManifestEntry] = []
    compact_changelog: list[ManifestEntry] = []
    indexed: list[IndexStep] = []
    compact_indexed: list[IndexStep] = []
    flushes: list[Flush] = []
    compact_flushes: list[Flush] = []
    deletes = False
    for message in messages:
        place = (message.partition, message.bucket, message.total_buckets)
        appended += [ManifestEntry(FileKind.DELETE, *place, f) for f in message.deleted_files]
        appended += [ManifestEntry(FileKind.ADD, *place, f) for f in message.new_files]
        compacted += [ManifestEntry(FileKind.DELETE, *place, f) for f in message.compact_before]
        compacted += [ManifestEntry(FileKind.ADD, *place, f) for f in message.compact_after]
        if message.new_files:
            flushes.append(Flush(*place, tuple(f.file_name for f in message.new_files), message.numbered_after))
        elif message.numbered_after is not None:  # a compaction of the postpone bucket, which numbers the rows
            names = tuple(f.file_name for f in message.compact_after)
            compact_flushes.append(Flush(*place, names, message.numbered_after))
        if message.assignment is not None:
            indexed.append(AssignedKeys(message.partition, message.bucket, message.assignment))
        indexed += index_changes(message, message.deleted_indexes, message.new_indexes)
        compact_indexed += index_changes(message, message.compact_deleted_indexes, message.compact_new_indexes)
        vectors = any(f.vectors is not None for f in (*message.deleted_indexes, *message.new_indexes))
        deletes = deletes or bool(message.deleted_files) or vectors
        if overwrite is None:
            changelog += [ManifestEntry(FileKind.ADD, *place, f) for f in message.changelog_files]
            compact_changelog += [ManifestEntry(FileKind.ADD, *place, f) for f in message.compact_changelog]
    if overwrite is not None and deletes:
        raise InvalidRequest(
            "an overwrite determines the files that it replaces: its messages must not delete files or change indexes"
        )
    out: list[Change] = []
    if appended or changelog or indexed or (overwrite is not None and overwrite.matches is not None):
        kind = CommitKind.OVERWRITE if deletes or overwrite is not None else CommitKind.APPEND
        out.append(Change(kind, appended, changelog, indexes=indexed, flushes=flushes))
    if compacted or compact_changelog or compact_indexed:
        indexes, moved = compact_indexed, compact_flushes
        out.append(Change(CommitKind.COMPACT, compacted, compact_changelog, indexes=indexes, flushes=moved))
    if not out and keep_empty and overwrite is None:
        out.append(Change(CommitKind.APPEND, (), may_be_empty=True))
    return out
