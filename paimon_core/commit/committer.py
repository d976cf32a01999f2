"""commit: the one function that makes a snapshot (format 14).

A snapshot is published by the exclusive creation of its file, so every commit is there whole or not at all, and of two
that race one goes again on top of the other. What is promised: nothing lost, nothing twice.

- Rows committed later win over rows committed before, whoever wrote them and whenever, see ``numbering``.
- A lost race is tried again from the new latest snapshot; only then are the files of the lost try deleted.
- A publish whose answer was lost is looked up, see ``publish``. What cannot be decided is CommitStateUnknown, and
  nothing is deleted.
- With an identifier, a commit happens once for its (user, identifier), in this process or another: every snapshot
  below the one we publish was looked at, and publishing proves that none came between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paimon_core.commit.assembly import Assembly
from paimon_core.commit.author import Author
from paimon_core.commit.base import Base
from paimon_core.commit.changes import Change, changes_of
from paimon_core.commit.draft import Draft
from paimon_core.commit.overwrite import Overwrite
from paimon_core.commit.publish import publish_draft
from paimon_core.commit.read_set import Reads
from paimon_core.commit.retry import tries
from paimon_core.commit.snapshot_chain import chain_break, in_chain
from paimon_core.commit.snapshot_history import describe, newest_first
from paimon_core.errors import CommitConflict, CommitStateUnknown, CorruptTable, PaimonError, SnapshotNotFound
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot


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

    ``commit_changes`` of what the messages ask for; returns and raises as it does. Raises InvalidRequest for messages
    of an overwrite that delete files.
    """
    author = Author(user, identifier, dict(properties or {}), watermark, operation, now_millis)
    return commit_changes(changes_of(messages, overwrite), context, author, overwrite)


def commit_changes(
    changes: Sequence[Change],
    context: TableContext,
    author: Author,
    overwrite: Overwrite | None = None,
    *,
    fresh: bool = False,
    reads: Reads | None = None,
    looked_at: Snapshot | None = None,
) -> tuple[Snapshot, ...]:
    """Land the changes one after the other; their snapshots, () when there is nothing to change.

    With an identifier, what already landed under (user, identifier) is returned and only what is missing is committed;
    when the user has committed a higher identifier, nothing is. A compaction never changes what the table holds: once
    the first part stands, a compaction that conflicts is left out, and the result has no COMPACT snapshot. ``fresh``
    and ``reads``: see ``Assembly``; ``looked_at``: the snapshot up to which the caller has found none of this (user,
    identifier).

    Raises CommitConflict (others changed the same files, or won every race), CommitStateUnknown, InvalidRequest,
    UnsupportedFeature (an option that a writer must obey, or an index that the changes would make stale),
    TableNotFound. When the first part of the commit stands, the error's ``facts["committed"]`` has its snapshot ids.
    """
    if not changes:
        return ()
    context.options.check_writable(context.name)
    attempt = _Commit(Assembly(context, author, overwrite, fresh, reads), looked_at)
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
    return tuple(sorted(attempt.landed.values(), key=lambda s: s.id))


@dataclass
class _Commit:
    """One call: who commits what, what landed so far, and up to which snapshot we know."""

    assembly: Assembly
    looked_at: Snapshot | None
    landed: dict[bool, Snapshot] = field(default_factory=dict)
    """Our snapshots: under True the compaction, under False the rest."""
    overtaken: bool = False
    """The user has committed a higher identifier."""

    def land(self, change: Change) -> None:
        """Bring one change onto the latest snapshot, however often another is faster."""
        try:
            self.try_to_land(change)
        except CommitStateUnknown:
            raise  # what was written may be a part of the table
        except PaimonError:
            self.assembly.numbering.discard()
            raise

    def try_to_land(self, change: Change) -> None:
        """The tries of ``land``; a lost one is followed by another."""
        context = self.assembly.context
        lost = 0
        winner: Snapshot | None = None
        for _ in tries(context.options):
            base = Base(context, context.snapshots.latest())
            winner = base.snapshot if lost else None
            self.look_for_ours(base)
            if self.is_done(change):
                self.assembly.numbering.discard()
                return
            draft = Draft(context)
            try:
                snapshot = self.assembly.assemble(change, base, draft)
                if snapshot is None:
                    return
                current = base.may_be_followed(lost)
            except BaseException as error:
                draft.discard()
                if isinstance(error, CorruptTable | SnapshotNotFound) and not base.is_latest():
                    lost += 1
                    continue  # the base expired while we read it
                raise
            if current and publish_draft(base, snapshot, draft):
                self.landed[change.kind is CommitKind.COMPACT] = snapshot
                self.assembly.numbering.published()
                return
            draft.discard()
            lost += 1
        if base.snapshot is not None and (problem := chain_break(context, base.snapshot, lost)) is not None:
            raise self.stray(change, base.snapshot, problem)
        raise self.lost(change, lost, winner)

    def is_done(self, change: Change) -> bool:
        """Whether this part of the commit stands already; the compaction is always the last to land."""
        is_compaction = change.kind is CommitKind.COMPACT
        return self.overtaken or is_compaction in self.landed or (not is_compaction and True in self.landed)

    def look_for_ours(self, base: Base) -> None:
        """Take note of the snapshots of this (user, identifier) since we last looked, newest first (format 14.5)."""
        author = self.assembly.author
        if not author.counts:
            return
        for snapshot in newest_first(base.context.snapshots, base.id, self.known_up_to(base)):
            if snapshot.commit_user != author.user or snapshot.commit_identifier == BATCH_IDENTIFIER:
                continue
            if not in_chain(base.context, snapshot):
                break
            if snapshot.commit_identifier < author.identifier:
                break
            if snapshot.commit_identifier > author.identifier:
                self.overtaken = True
            else:
                self.landed[snapshot.commit_kind is CommitKind.COMPACT] = snapshot
        self.looked_at = base.snapshot

    def known_up_to(self, base: Base) -> int:
        """The id below which nothing new can be; 0 when the snapshot that we looked at was taken back or expired."""
        seen = Base(base.context, self.looked_at)
        if seen.snapshot is None:
            return 0
        return seen.id if seen.snapshot == base.snapshot or seen.is_current() else 0

    def lost(self, change: Change, lost: int, winner: Snapshot | None) -> CommitConflict:
        """The error after the last try; it names who was faster, as far as that is known."""
        table, author = self.assembly.context.name, self.assembly.author
        who = f", the last we saw to {describe(winner)}" if winner is not None else ""
        facts = {} if winner is None else {"other_user": winner.commit_user, "other_snapshot": winner.id}
        return CommitConflict(
            f"table {table}: {change.kind} by user {author.user} lost {lost} races in a row for the next snapshot"
            f"{who}. Commit again, less often, or from fewer places (options commit.max-retries, commit.timeout)",
            table=table,
            user=author.user,
            identifier=author.identifier,
            attempts=lost,
            **facts,
        )

    def stray(self, change: Change, latest: Snapshot, problem: str) -> CommitConflict:
        """The error for a table whose latest snapshot stays one that does not continue the chain."""
        table, author = self.assembly.context.name, self.assembly.author
        return CommitConflict(
            f"table {table}: {change.kind} by user {author.user} cannot follow snapshot {latest.id}: {problem}. Its "
            f"writer died before it could take it back: roll back to snapshot {latest.id - 1}",
            table=table,
            user=author.user,
            identifier=author.identifier,
            snapshot=latest.id,
        )
