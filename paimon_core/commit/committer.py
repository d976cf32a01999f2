"""commit: the one function that makes a snapshot (format 14).

A snapshot is published by the exclusive creation of its file, so every commit is there whole or not at all, and of two
that race one goes again on top of the other. What is promised: nothing lost, nothing twice.

- A lost race is tried again from the new latest snapshot; only then are the files of the lost try deleted.
- A publish whose answer was lost is looked up. While the id is still free, the *same* snapshot is offered again under
  the same id: whichever of the requests arrives first creates it, and the others find it there. What cannot be decided
  is CommitStateUnknown, and nothing is deleted.
- With an identifier, a commit happens once for its (user, identifier), in this process or another: every snapshot
  below the one we publish was looked at, and publishing proves that none came between.
"""

from __future__ import annotations

import importlib.metadata
import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from paimon_core.commit.base import Base
from paimon_core.commit.changes import Change, changes_of
from paimon_core.commit.conflicts import check_append, check_changes
from paimon_core.commit.draft import Draft
from paimon_core.commit.manifest_merge import ManifestMerge
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import (
    CommitConflict,
    CommitStateUnknown,
    CorruptTable,
    InvalidRequest,
    PaimonError,
    SnapshotNotFound,
    StorageError,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from paimon_core.options import TableOptions

PUBLISH_TRIES = 5
"""How often an undecided publish is offered again before it is given up as unknown."""


def commit(
    messages: Sequence[CommitMessage],
    *,
    context: TableContext,
    user: str,
    identifier: int = BATCH_IDENTIFIER,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
    operation: str | None = None,
    overwrite: Overwrite | None = None,
    now_millis: int | None = None,
) -> tuple[Snapshot, ...]:
    """Make the files of ``messages`` visible: an APPEND (or OVERWRITE) snapshot, then a COMPACT one (format 14.1).

    Returns the snapshots of this commit, () when there is nothing to change. With an ``identifier``, what already
    landed under (user, identifier) is returned and only what is missing is committed; when the user has committed a
    higher identifier, nothing is. A compaction never changes what the table holds: once the first part stands, a
    compaction that conflicts is left out, and the result has no COMPACT snapshot.

    Raises CommitConflict (others changed the same files, or won every race), CommitStateUnknown, InvalidRequest,
    UnsupportedFeature (an option that a writer must obey, or an index that the changes would make stale),
    TableNotFound. When the first part of the commit stands, the error's ``facts["committed"]`` has its snapshot ids.
    """
    if not user.strip() or not 0 <= identifier <= BATCH_IDENTIFIER:
        raise InvalidRequest(f"commit user {user!r}, identifier {identifier}: not a name and a number from 0 to 2^63-1")
    attempt = _Commit(context, user, identifier, dict(properties or {}), watermark, operation, now_millis, overwrite)
    changes = changes_of(messages, overwrite)
    if changes:
        context.options.check_writable(context.name)
    for change in changes:
        try:
            attempt.land(change)
        except CommitConflict:
            if change.kind is CommitKind.COMPACT and attempt.landed:
                break
            raise
        except PaimonError as error:
            if attempt.landed:
                error.facts["committed"] = [s.id for s in attempt.landed.values()]
            raise
    return tuple(sorted(attempt.landed.values(), key=lambda s: s.id)) if changes else ()


@dataclass
class _Commit:
    """One call of ``commit``: who commits, what landed so far, and up to which snapshot we know."""

    context: TableContext
    user: str
    identifier: int
    properties: Mapping[str, str]
    watermark: int | None
    operation: str | None
    now_millis: int | None
    overwrite: Overwrite | None
    landed: dict[bool, Snapshot] = field(default_factory=dict)
    """Our snapshots: under True the compaction, under False the rest."""
    overtaken: bool = False
    """The user has committed a higher identifier."""
    looked_at: int = 0

    def land(self, change: Change) -> None:
        """Bring one change onto the latest snapshot, however often another is faster."""
        tries = 0
        for _ in _tries(self.context.options):
            tries += 1
            base = Base(self.context, self.context.snapshots.latest())
            self.look_for_ours(base)
            if self.is_done(change):
                return
            draft = Draft(self.context)
            try:
                snapshot = self.build(change, base, draft)
                if snapshot is None:
                    return
                current = base.is_current()
            except BaseException as error:
                draft.discard()
                if isinstance(error, CorruptTable) and not base.is_current():
                    continue  # the base expired while we read it
                raise
            if current and self.publish(snapshot, draft):
                self.landed[change.kind is CommitKind.COMPACT] = snapshot
                return
            draft.discard()
        raise CommitConflict(
            f"table {self.context.name}: {change.kind} by user {self.user} lost {tries} races in a row for the next "
            "snapshot (options commit.max-retries, commit.timeout)",
            table=self.context.name,
            user=self.user,
            identifier=self.identifier,
            attempts=tries,
        )

    def is_done(self, change: Change) -> bool:
        """Whether this part of the commit stands already; the compaction is always the last to land."""
        is_compaction = change.kind is CommitKind.COMPACT
        return self.overtaken or is_compaction in self.landed or (not is_compaction and True in self.landed)

    def look_for_ours(self, base: Base) -> None:
        """Take note of the snapshots of this (user, identifier) since we last looked, newest first (format 14.5)."""
        if self.identifier == BATCH_IDENTIFIER:
            return
        for snapshot_id in range(base.id, self.looked_at, -1):
            try:
                snapshot = self.context.snapshots.read(snapshot_id)
            except SnapshotNotFound:
                break  # expired, as is all below
            if snapshot.commit_user != self.user or snapshot.commit_identifier == BATCH_IDENTIFIER:
                continue
            if snapshot.commit_identifier < self.identifier:
                break
            if snapshot.commit_identifier > self.identifier:
                self.overtaken = True
            else:
                self.landed[snapshot.commit_kind is CommitKind.COMPACT] = snapshot
        self.looked_at = base.id

    def build(self, change: Change, base: Base, draft: Draft) -> Snapshot | None:
        """Check the change against its base, write its manifests; None for an overwrite that finds nothing to do."""
        entries = self.complete(change, base)
        if not entries and not change.changelog and self.identifier == BATCH_IDENTIFIER:
            return None
        _refuse_stale_index(self.context, base.snapshot, entries)
        if change.kind is CommitKind.APPEND and all(e.file.level == 0 for e in entries):
            check_append(base, entries)
        else:
            check_changes(base, entries)
        options = self.context.options
        merge = ManifestMerge(
            read=base.read,
            write=draft.manifests,
            may_hold=base.may_hold,
            target_bytes=options["manifest.target-file-size"],
            min_count=options["manifest.merge-min-count"],
            full_bytes=options["manifest.full-compaction-threshold-size"],
        )
        base_list = draft.manifest_list(merge.merge(base.manifests))
        delta_list = draft.manifest_list(draft.manifests(entries) if entries else [])
        # Readers take the mere presence of this list for changes: without any it is not written.
        changelog_list = draft.manifest_list(draft.manifests(change.changelog)) if change.changelog else (None, None)
        return self.snapshot(change, base.snapshot, entries, (*base_list, *delta_list, *changelog_list))

    def complete(self, change: Change, base: Base) -> Sequence[ManifestEntry]:
        """The entries of the change; for an overwrite, first a DELETE of everything live that it replaces."""
        if self.overwrite is None or change.kind is CommitKind.COMPACT:
            return change.entries
        added = {e.partition for e in change.entries}
        matches = cache(self.overwrite.target(added, self.context.partition_path))
        replaced = base.live(matches, added if self.overwrite.matches is None else None)
        deletes = [
            ManifestEntry(FileKind.DELETE, e.partition, e.bucket, e.total_buckets, e.file)
            for e in replaced
            if e.bucket >= 0
        ]
        return [*deletes, *change.entries]

    def snapshot(
        self,
        change: Change,
        previous: Snapshot | None,
        entries: Sequence[ManifestEntry],
        lists: tuple[str, int, str, int, str | None, int | None],
    ) -> Snapshot:
        """The value to publish (format 3.1); time and watermark never run backwards along the chain."""
        schema = self.context.schemas.latest()
        if schema is None:
            raise TableNotFound(f"table {self.context.name} has no schema any more", table=self.context.name)
        delta = sum(e.file.row_count if e.kind is FileKind.ADD else -e.file.row_count for e in entries)
        now = time.time_ns() // 1_000_000 if self.now_millis is None else self.now_millis
        watermarks = [w for w in (self.watermark, previous.watermark if previous else None) if w is not None]
        same_schema = previous is not None and previous.schema_id == schema.id
        return Snapshot(
            id=1 if previous is None else previous.id + 1,
            schema_id=schema.id,
            base_manifest_list=lists[0],
            base_manifest_list_size=lists[1],
            delta_manifest_list=lists[2],
            delta_manifest_list_size=lists[3],
            changelog_manifest_list=lists[4],
            changelog_manifest_list_size=lists[5],
            commit_user=self.user,
            commit_identifier=self.identifier,
            commit_kind=change.kind,
            time_millis=now if previous is None else max(now, previous.time_millis),
            total_record_count=(0 if previous is None else previous.total_record_count) + delta,
            delta_record_count=delta,
            changelog_record_count=sum(e.file.row_count for e in change.changelog) if change.changelog else None,
            index_manifest=previous.index_manifest if previous else None,
            watermark=max(watermarks, default=None),
            statistics=previous.statistics if previous and same_schema else None,
            properties=self.properties,
            next_row_id=(previous.next_row_id if previous else None) or 0,
            uuid=str(uuid.uuid4()),
            writer_version=_writer_version(),
            operation=None if change.kind is CommitKind.COMPACT else self.operation,
        )

    def publish(self, snapshot: Snapshot, draft: Draft) -> bool:
        """True: the snapshot stands. False: its id is another's for good.

        Raises CommitStateUnknown when that cannot be told, StorageError when the store could not create it.
        """
        snapshots = self.context.snapshots
        unknown: PaimonError | None = None
        for pause in (None, *_pauses(self.context.options, PUBLISH_TRIES - 1)):
            if pause is not None:
                time.sleep(pause)
            refused: PaimonError | None = None
            try:
                if snapshots.publish(snapshot):
                    return True
            except CommitStateUnknown as error:
                unknown = error
            except StorageError as error:
                refused = error
            try:
                return snapshots.read(snapshot.id).uuid == snapshot.uuid
            except SnapshotNotFound:
                if unknown is None and refused is None:
                    return False  # it was another's, and is gone already
                if unknown is None and refused is not None:
                    draft.discard()
                    raise refused from None
            except StorageError as error:
                unknown = error
        raise CommitStateUnknown(
            f"table {self.context.name}: it is not known whether snapshot {snapshot.id} of user {self.user} was "
            f"committed: {unknown}. Look for uuid {snapshot.uuid}, or commit again with the same user and identifier",
            table=self.context.name,
            snapshot=snapshot.id,
            uuid=snapshot.uuid,
            user=self.user,
            identifier=self.identifier,
        ) from unknown


def _refuse_stale_index(context: TableContext, base: Snapshot | None, entries: Sequence[ManifestEntry]) -> None:
    """An index manifest is carried on as it is, which is right only while no row moves."""
    if base is None or base.index_manifest is None:
        return
    if context.is_keyed or any(e.kind is FileKind.DELETE for e in entries):
        raise UnsupportedFeature(
            f"table {context.name} has table indexes (index manifest {base.index_manifest}), which a change of its "
            "files would make stale; only appends to tables without a primary key are supported",
            table=context.name,
        )


def _pauses(options: TableOptions, count: int) -> Iterator[float]:
    """Seconds to wait before each retry: doubling, with up to a fifth more by chance (format 14.1)."""
    for retry in range(count):
        millis = min(options["commit.min-retry-wait"] * 2 ** min(retry, 40), options["commit.max-retry-wait"])
        yield millis * (1 + random.random() / 5) / 1000


def _tries(options: TableOptions) -> Iterator[None]:
    """One step a try, with the pauses between, until the retries or the time of the options are used up."""
    start = time.monotonic()
    timeout = options["commit.timeout"]
    yield
    for pause in _pauses(options, options["commit.max-retries"]):
        if timeout is not None and (time.monotonic() - start + pause) * 1000 > timeout:
            return
        time.sleep(pause)
        yield


@cache
def _writer_version() -> str:
    try:
        return f"paimon-core-{importlib.metadata.version('paimon-core')}"
    except importlib.metadata.PackageNotFoundError:
        return "paimon-core"
