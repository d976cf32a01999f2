"""Manifest compaction: creates a snapshot with the content of the latest snapshot in fewer manifests (format 16.7).

The new snapshot is a COMPACT snapshot without changes: its delta is empty, and the manifests of its base list contain
no DELETE entry. The snapshot has the same files, counts, watermark, properties, statistics and indexes as the snapshot
before it. A table with many files gets several such snapshots, one for each portion of a full merge: each portion takes
less time than the commits of others leave between them.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from paimon_core.commit.assembly import time_after, writer_version
from paimon_core.commit.base import Base
from paimon_core.commit.draft import Draft
from paimon_core.commit.manifest_merge import ManifestMerge
from paimon_core.commit.publishing.publish import publish_draft
from paimon_core.commit.retry import tries
from paimon_core.errors import CommitConflict, CorruptTable, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from paimon_core.metadata.table_identity import check_same_table


def compact_manifests(
    context: TableContext, *, user: str | None = None, now_millis: int | None = None
) -> Snapshot | None:
    """Rewrite the manifests of the latest snapshot and return the new snapshot, the last one if there are several.

    Return None when there is no snapshot or the manifests need no rewriting. When another commit wins every race
    against a later portion, the portions before it stay.

    Raises CommitConflict when all attempts lost the race for the next snapshot id, CommitStateUnknown when the snapshot
    may have been created, UnsupportedFeature for a table that this library does not write, CorruptTable for damaged
    metadata, StorageError when the store fails.
    """
    context.options.check_writable(context.name)
    commit_user = user or str(uuid.uuid4())
    done = _portion(context, commit_user, now_millis)
    if done is None:
        return None
    made, left = done
    for _ in range(left):
        done = _portion(context, commit_user, now_millis)
        if done is None:
            break
        made, left = done
        if not left:
            break
    return made


def _portion(context: TableContext, user: str, now_millis: int | None) -> tuple[Snapshot, int] | None:
    """Create one snapshot; return it and the largest number of snapshots that are still needed, None for no change."""
    for tried, _ in enumerate(tries(context.options)):
        latest = context.snapshots.latest()
        check_same_table(context)  # after the read of the base, so that it is not the base of another table
        if latest is None:
            return None
        base = Base(context, latest)
        draft = Draft(context)
        try:
            compacted = _compacted(base, latest, draft, user, now_millis)
            current = base.may_be_followed(tried)
        except BaseException as error:
            draft.discard()
            if isinstance(error, CorruptTable | SnapshotNotFound) and not base.is_latest():
                continue  # the base expired while it was read
            raise
        if compacted is None:
            draft.discard()
            return None
        if current and publish_draft(base, compacted[0], draft):
            return compacted
        draft.discard()
    raise CommitConflict(
        f"table {context.name}: the compaction of its manifests lost every race for the next snapshot id "
        "(options commit.max-retries, commit.timeout): retry",
        table=context.name,
        user=user,
    )


def _compacted(
    base: Base, latest: Snapshot, draft: Draft, user: str, now_millis: int | None
) -> tuple[Snapshot, int] | None:
    merge = ManifestMerge(
        read=base.read,
        write=draft.manifests,
        may_hold=base.may_hold,
        target_bytes=base.context.options["manifest.target-file-size"],
        min_count=1,
        full_bytes=1,
        partition_types=base.context.manifests.partition_types,
    )
    merged = merge.merge(base.manifests)
    if {m.file_name for m in merged} == {m.file_name for m in base.manifests}:
        return None
    base_list, base_size = draft.manifest_list(merged)
    delta_list, delta_size = draft.manifest_list([])
    snapshot = replace(
        latest,
        id=latest.id + 1,
        base_manifest_list=base_list,
        base_manifest_list_size=base_size,
        delta_manifest_list=delta_list,
        delta_manifest_list_size=delta_size,
        changelog_manifest_list=None,
        changelog_manifest_list_size=None,
        changelog_record_count=None,
        delta_record_count=0,
        commit_user=user,
        commit_identifier=BATCH_IDENTIFIER,
        commit_kind=CommitKind.COMPACT,
        time_millis=time_after(latest, now_millis),
        uuid=str(uuid.uuid4()),
        writer_version=writer_version(),
        operation=None,
        base=latest.link(),
    )
    return snapshot, merge.portions_left(merged)
