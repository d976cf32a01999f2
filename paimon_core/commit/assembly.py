"""Assembly: checks a change on its base, writes its manifests and returns the snapshot to publish (format 14.1)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from paimon_core.commit.author import Author
from paimon_core.commit.base import Base
from paimon_core.commit.changes import Change
from paimon_core.commit.conflicts import check_append, check_changes
from paimon_core.commit.draft import Draft
from paimon_core.commit.duplicates import among
from paimon_core.commit.indexes import next_indexes
from paimon_core.commit.manifest_merge import ManifestMerge
from paimon_core.commit.numbering import Numbering
from paimon_core.commit.overwrite import Matches, Overwrite, upgraded
from paimon_core.commit.read_set import Reads
from paimon_core.commit.row_ids import with_row_ids
from paimon_core.commit.strict_mode import check_strict
from paimon_core.commit.vector_switch import VectorSwitch, check_mode
from paimon_core.errors import CommitConflict, TableNotFound
from paimon_core.metadata import clock
from paimon_core.metadata.column_stats import EMPTY_STATS
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.schema import TableSchema
from paimon_core.version import version


@dataclass(frozen=True)
class Assembly:
    """The state that all attempts of one commit share."""

    context: TableContext
    author: Author
    overwrite: Overwrite | None = None
    fresh: bool = False
    """Whether the same call wrote and commits the files; then no earlier commit can have added the files."""
    upgrades: bool = False
    """Whether new files of an overwrite may be added at the last level.

    False if the commit also has a compaction, because the compaction may name these files.
    """
    reads: Reads | VectorSwitch | None = None
    """The rows from which the change was computed; a concurrent change of these rows is a conflict. None: no check."""
    numbering: Numbering = field(init=False)
    """Assigns the sequence numbers of the new rows; later attempts use the rewritten files again."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbering", Numbering(self.context))

    def assemble(self, change: Change, base: Base, draft: Draft) -> Snapshot | None:
        """Check the change against its base, write its manifests and return the snapshot, which is not published yet.

        Return None when the snapshot would contain no change and need not be created. New rows get sequence numbers
        above all numbers of the base, see ``Numbering``. Raises CommitConflict (the change is not valid on its base),
        UnsupportedFeature (indexes that would become stale), InvalidRequest (rows outside of the partitions that an
        overwrite replaces), TableNotFound, and CorruptTable (for example when the base expires during the call).
        """
        entries, changelog = self._complete(change, base)
        if not (entries or changelog or change.indexes or change.records_nothing or self.author.counts):
            return None
        schema = self.context.schemas.latest()  # read after the base, for the reason in commit.vector_switch
        if schema is None:
            raise TableNotFound(f"table {self.context.name} has no schema any more", table=self.context.name)
        check_mode(self.context, schema, change.kind, change.indexes)
        if self.reads is not None:
            self.reads.check(base)
        touched = {e.partition for e in entries} | {step.partition for step in change.indexes}
        check_strict(base, self.author.user, change.kind, touched)
        if change.kind is CommitKind.APPEND and all(e.file.level == 0 for e in entries):
            check_append(base, entries, fresh=self.fresh)
        else:
            check_changes(base, change.kind, entries)
        indexes = next_indexes(base, change.indexes, entries, self._replaced_partitions(change))
        entries = self.numbering.number(entries, change.flushes, base, replaces=self.overwrite is not None)
        if self.upgrades and change.kind is CommitKind.OVERWRITE:
            entries = upgraded(self.context, entries)
        options = self.context.options
        next_row_id = (base.snapshot.next_row_id if base.snapshot else None) or 0
        if self.context.tracks_rows:
            by_partition = options["row-tracking.partition-group-on-commit"]
            entries, next_row_id = with_row_ids(entries, base.id + 1, next_row_id, by_partition=by_partition)
        if options["manifest.delete-file-drop-stats"]:
            entries = [_without_stats(e) if e.kind is FileKind.DELETE else e for e in entries]
        merge = ManifestMerge(
            read=base.read,
            write=draft.manifests,
            may_hold=base.may_hold,
            target_bytes=options["manifest.target-file-size"],
            min_count=options["manifest.merge-min-count"],
            full_bytes=options["manifest.full-compaction-threshold-size"],
            partition_types=self.context.manifests.partition_types,
        )
        base_list = draft.manifest_list(merge.merge(base.manifests))
        delta_list = draft.manifest_list(draft.manifests(entries) if entries else [])
        # For readers, this list means that the snapshot has a changelog, so it is written only when there are changelog
        # files.
        changelog_list = draft.manifest_list(draft.manifests(changelog)) if changelog else (None, None)
        index_manifest = base.snapshot.index_manifest if base.snapshot else None
        if indexes is not None:
            index_manifest = draft.index_manifest(indexes) if indexes else None
        lists = (*base_list, *delta_list, *changelog_list)
        return self._snapshot(change, schema, base.snapshot, entries, changelog, lists, index_manifest, next_row_id)

    def _complete(self, change: Change, base: Base) -> tuple[Sequence[ManifestEntry], Sequence[ManifestEntry]]:
        """Return the entries and the changelog entries of the change on this base.

        For an overwrite, the entries start with a DELETE entry for each live file that it replaces. With option
        commit.discard-duplicate-files, the result of an append has no files that the table already has, and no
        changelog files of buckets to which the result adds no file.
        """
        if self.overwrite is not None and change.kind is not CommitKind.COMPACT:
            return [*self._replaced(self.overwrite, change, base), *change.entries], change.changelog
        if change.kind is not CommitKind.APPEND or not self.context.options["commit.discard-duplicate-files"]:
            return change.entries, change.changelog
        partitions = {e.partition for e in change.entries}
        there = {e.identity for e in among(change.entries, base.live(partitions.__contains__, partitions))}
        new = [e for e in change.entries if e.identity not in there]
        if len(new) == len(change.entries):
            return new, change.changelog
        places = {(e.partition, e.bucket) for e in new}
        return new, [e for e in change.changelog if (e.partition, e.bucket) in places]

    def _replaced_partitions(self, change: Change) -> Matches | None:
        """Return a function that decides whether the change replaces a partition; None when the change replaces no
        partition.
        """
        if self.overwrite is None or change.kind is CommitKind.COMPACT:
            return None
        added = {e.partition for e in change.entries}
        return cache(self.overwrite.target(added, self.context.partition_path))

    def _replaced(self, overwrite: Overwrite, change: Change, base: Base) -> list[ManifestEntry]:
        matches = self._replaced_partitions(change)
        assert matches is not None
        added = {e.partition for e in change.entries}
        return [
            ManifestEntry(FileKind.DELETE, e.partition, e.bucket, e.total_buckets, e.file)
            for e in base.live(matches, added if overwrite.matches is None else None)
            if e.bucket >= 0 or (overwrite.waiting and self.context.is_postponed)
        ]

    def _snapshot(
        self,
        change: Change,
        schema: TableSchema,
        previous: Snapshot | None,
        entries: Sequence[ManifestEntry],
        changelog: Sequence[ManifestEntry],
        lists: tuple[str, int, str, int, str | None, int | None],
        index_manifest: str | None,
        next_row_id: int,
    ) -> Snapshot:
        """Return the snapshot to publish (format 3.1).

        Its time and watermark are never lower than the time and watermark of ``previous``.
        """
        author = self.author
        delta = sum(e.file.row_count if e.kind is FileKind.ADD else -e.file.row_count for e in entries)
        watermarks = [w for w in (author.watermark, previous.watermark if previous else None) if w is not None]
        return Snapshot(
            id=1 if previous is None else previous.id + 1,
            schema_id=schema.id,
            base_manifest_list=lists[0],
            base_manifest_list_size=lists[1],
            delta_manifest_list=lists[2],
            delta_manifest_list_size=lists[3],
            changelog_manifest_list=lists[4],
            changelog_manifest_list_size=lists[5],
            commit_user=author.user,
            commit_identifier=author.identifier,
            commit_kind=change.kind,
            time_millis=time_after(previous, author.now_millis),
            total_record_count=(0 if previous is None else previous.total_record_count) + delta,
            delta_record_count=delta,
            changelog_record_count=sum(e.file.row_count for e in changelog) if changelog else None,
            index_manifest=index_manifest,
            watermark=max(watermarks, default=None),
            statistics=_statistics(self.context.name, change, previous, schema.id),
            properties=author.properties,
            next_row_id=next_row_id,
            uuid=str(uuid.uuid4()),
            writer_version=writer_version(),
            operation=None if change.kind is CommitKind.COMPACT else author.operation,
            base=None if previous is None else previous.link(),
        )


def time_after(previous: Snapshot | None, now_millis: int | None = None) -> int:
    """Return the time (epoch milliseconds) of the snapshot after ``previous``.

    The time is ``now_millis`` (None: the clock's time), but at least the time of ``previous``.
    """
    now = clock.now_millis(now_millis)
    return now if previous is None else max(now, previous.time_millis)


def _statistics(table: str, change: Change, previous: Snapshot | None, schema_id: int) -> str | None:
    """Return the statistics file of the next snapshot: the new file, or the previous file if its schema is current."""
    if change.statistics is not None:
        if change.statistics_schema != schema_id:
            raise CommitConflict(
                f"table {table}: the statistics were computed for schema {change.statistics_schema}, but the table now "
                f"has schema {schema_id}: analyze the table again",
                table=table,
                schema=schema_id,
            )
        return change.statistics
    return previous.statistics if previous is not None and previous.schema_id == schema_id else None


def writer_version() -> str:
    """Return the library name and version that snapshots record as their writer."""
    return f"paimon-core-{version()}"


def _without_stats(entry: ManifestEntry) -> ManifestEntry:
    return replace(entry, file=replace(entry.file, value_stats=EMPTY_STATS, value_stats_cols=()))
