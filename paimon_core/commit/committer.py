"""commit_changes: the function that creates the snapshots of a commit (format 14).

A snapshot is published by creating its file with a conditional write, so a commit is visible completely or not at all.
Of two concurrent commits, one creates the file, and the other commit retries on this new snapshot. No committed change
is lost or applied twice:

- A row that was committed later counts as newer than a row with the same key that was committed earlier, even if its
  data file was written first (``numbering``).
- When another commit has certainly used the snapshot id, the attempt deletes its manifests and is retried on the new
  latest snapshot.
- When the response to a publish is lost, the snapshot is read back, see ``publish``. If the outcome cannot be
  determined, CommitStateUnknown is raised and nothing is deleted.
- With an identifier, each (user, identifier) is committed exactly once, even by different processes: a commit checks
  all snapshots below the id that it publishes, and a successful publish proves that no other snapshot was added since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from paimon_core.commit.assembly import Assembly
from paimon_core.commit.author import Author
from paimon_core.commit.base import Base
from paimon_core.commit.changes import Change
from paimon_core.commit.draft import Draft
from paimon_core.commit.exactly_once import NOTHING_SEARCHED, OwnSnapshots, find_own
from paimon_core.commit.overwrite import Overwrite
from paimon_core.commit.publishing.publish import publish_draft
from paimon_core.commit.read_set import Reads
from paimon_core.commit.retry import tries
from paimon_core.commit.snapshot_history import describe
from paimon_core.commit.vector_switch import VectorSwitch
from paimon_core.errors import CommitConflict, CommitStateUnknown, CorruptTable, PaimonError, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.table_identity import check_same_table, unless_dropped


def commit_changes(
    changes: Sequence[Change],
    context: TableContext,
    author: Author,
    overwrite: Overwrite | None = None,
    *,
    fresh: bool = False,
    reads: Reads | VectorSwitch | None = None,
    own: OwnSnapshots = NOTHING_SEARCHED,
) -> tuple[Snapshot, ...]:
    """Commit the changes one after the other and return their snapshots; return () when no change is needed.

    With an identifier, snapshots that were already committed under (user, identifier) are returned, and only the
    missing snapshots are created. No snapshot is created when the user has committed a higher identifier. If the APPEND
    or OVERWRITE snapshot is committed and the compaction then conflicts, the compaction is skipped, because it would
    not change the rows of the table; the result has no COMPACT snapshot. ``fresh``: this call also wrote the files.
    ``reads``: the rows from which the changes were computed. ``own``: the snapshots of this (user, identifier) that the
    caller has already found.

    Raises CommitConflict (a concurrent commit changed the same files, or in every attempt another commit used the
    snapshot id), CommitStateUnknown (a snapshot may have been created), InvalidRequest (changes that the table does not
    allow), UnsupportedFeature (an option that a writer must obey, or an index that the changes would make stale),
    TableNotFound. If a snapshot of this call was committed before the error, ``facts["committed"]`` of the error
    contains its id.
    """
    if not changes:
        return ()
    context.options.check_writable(context.name)
    upgrades = overwrite is not None and all(change.kind is not CommitKind.COMPACT for change in changes)
    assembly = Assembly(context, author, overwrite, fresh, upgrades=upgrades, reads=reads)
    call = _Commit(assembly, own)
    for change in changes:
        try:
            unless_dropped(context, partial(call.commit_change, change))
        except CommitConflict:
            if change.kind is CommitKind.COMPACT and call.committed:
                break
            raise
        except PaimonError as error:
            if call.committed:
                error.facts["committed"] = [s.id for s in call.committed.values()]
            raise
    return tuple(sorted(call.committed.values(), key=lambda s: s.id))


@dataclass
class _Commit:
    """The state of one call: the snapshots that it has created, and the snapshots found by ``exactly_once``."""

    assembly: Assembly
    own: OwnSnapshots
    created: dict[bool, Snapshot] = field(default_factory=dict)
    """The key is True for the COMPACT snapshot, False for the APPEND or OVERWRITE snapshot."""

    @property
    def committed(self) -> dict[bool, Snapshot]:
        """The found and created snapshots of this commit, with the same keys as ``created``."""
        return self.own.by_part | self.created

    def commit_change(self, change: Change) -> None:
        """Commit one change on top of the latest snapshot, with retries; raises as ``commit_changes`` does."""
        try:
            self.commit_with_retries(change)
        except CommitStateUnknown:
            raise  # the table may reference the files that were written
        except PaimonError:
            self.assembly.numbering.discard()
            raise

    def commit_with_retries(self, change: Change) -> None:
        """Run the attempts of ``commit_change``; retry when another commit has used the snapshot id."""
        context = self.assembly.context
        lost = 0
        winner: Snapshot | None = None
        problem: str | None = None  # the reason why the last attempt could not build on the latest snapshot
        for tried, _ in enumerate(tries(context.options)):
            base = Base(context, context.snapshots.latest())
            check_same_table(context)  # after the read of the base, so that it is not the base of another table
            winner = base.snapshot if lost else None
            self.find_own_snapshots(base)
            if self.is_done(change):
                self.assembly.numbering.discard()
                return
            draft = Draft(context)
            try:
                snapshot = self.assembly.assemble(change, base, draft)
                if snapshot is None:
                    return
                current = base.is_current()
                problem = base.chain_problem(tried) if current else None
            except BaseException as error:
                draft.discard()
                if isinstance(error, CorruptTable | SnapshotNotFound) and not base.is_latest():
                    lost, problem = lost + 1, None
                    continue  # the base expired while it was read
                raise
            if current and problem is None and publish_draft(base, snapshot, draft):
                self.created[change.kind is CommitKind.COMPACT] = snapshot
                self.assembly.numbering.published()
                return
            draft.discard()
            lost += problem is None
        if base.snapshot is not None and problem is not None:
            raise self.base_outside_chain(change, base.snapshot, problem)
        raise self.races_lost(change, lost, winner)

    def is_done(self, change: Change) -> bool:
        """Whether this change is already committed, or must not be committed because the user has a higher identifier.

        The compaction is always the last part of a commit. So if the compaction is committed, the rows were committed
        before.
        """
        is_compaction, committed = change.kind is CommitKind.COMPACT, self.committed
        is_superseded = self.own.higher is not None
        return is_superseded or is_compaction in committed or (not is_compaction and True in committed)

    def find_own_snapshots(self, base: Base) -> None:
        """Search the snapshots up to the base for this (user, identifier), without the snapshots already searched."""
        author = self.assembly.author
        if author.counts:
            self.own = find_own(base.context, author.user, author.identifier, base.snapshot, self.own)

    def races_lost(self, change: Change, lost: int, winner: Snapshot | None) -> CommitConflict:
        """Return the error after the last attempt; it names the snapshot that used the id, if known."""
        table, author = self.assembly.context.name, self.assembly.author
        won_by = f" (latest winner seen: {describe(winner)})" if winner is not None else ""
        facts = {} if winner is None else {"other_user": winner.commit_user, "other_snapshot": winner.id}
        return CommitConflict(
            f"table {table}: {change.kind} by user {author.user} lost {lost} races in a row for the next "
            f"snapshot id{won_by}. Commit again, commit less often, or use fewer concurrent writers (options "
            "commit.max-retries, commit.timeout)",
            table=table,
            user=author.user,
            identifier=author.identifier,
            attempts=lost,
            **facts,
        )

    def base_outside_chain(self, change: Change, latest: Snapshot, problem: str) -> CommitConflict:
        """Return the error for a table whose latest snapshot does not continue the snapshot chain."""
        table, author = self.assembly.context.name, self.assembly.author
        return CommitConflict(
            f"table {table}: {change.kind} by user {author.user} cannot build on snapshot {latest.id}: {problem}",
            table=table,
            user=author.user,
            identifier=author.identifier,
            snapshot=latest.id,
        )
