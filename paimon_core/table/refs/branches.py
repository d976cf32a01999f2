"""Branches: create, list, rename, delete and fast-forward the branches of one table (format 15.2)."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from paimon_core.display import Displayed, Summary
from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.maintain.branches.fast_forward import fast_forward
from paimon_core.maintain.branches.operations import check_branch_name, create_branch, delete_branch
from paimon_core.maintain.branches.rename import rename_branch
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import changing_same_table, same_table
from paimon_core.table.summaries import place

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Branches(Displayed):
    """The branches of one table; ``create`` and ``fast_forward`` work on the branch of ``context``.

    ``Table.branch(name)`` reads and writes a branch. Every method raises TableNotFound when the table was dropped or
    re-created.
    """

    context: TableContext

    def _summary(self) -> Summary:
        return Summary(place(self.context, None))

    def create(self, name: str, *, tag: str | None = None, from_latest: bool = False) -> None:
        """Create a branch with the schemas of this branch and the rows of ``tag``, or of the latest snapshot.

        Without ``tag`` and ``from_latest`` the branch has no rows, as in Paimon; this is logged as a warning. With
        ``from_latest``, a tag ``branch-NAME`` exists on this branch during the call; the new branch keeps a copy of it.
        Raises AlreadyExists for an existing branch, TagNotFound for an unknown tag,
        SnapshotNotFound with ``from_latest`` for a table without snapshots, and InvalidRequest for an invalid name or
        when both arguments are given.
        """
        if from_latest and tag is not None:
            raise InvalidRequest(f"branch {name!r}: give either tag or from_latest", branch=name)
        with changing_same_table(self.context) as context:
            if from_latest:
                self._create_from_latest(context, name)
                return
            create_branch(context, name, tag)
            has_no_rows = tag is None and context.snapshots.latest() is not None
        if has_no_rows:
            _LOG.warning(
                "branch %s of table %s has no rows: pass tag, or from_latest=True, to start with rows",
                name,
                self.context.name,
            )

    def _create_from_latest(self, context: TableContext, name: str) -> None:
        check_branch_name(context, name)
        if (latest := context.snapshots.latest()) is None:
            raise SnapshotNotFound(f"table {context.name} has no snapshot to start branch {name!r} from", branch=name)
        tag = create_tag(context, f"branch-{name}", latest)
        try:
            create_branch(context, name, tag.name)
        finally:
            delete_tag(context, tag.name)

    def list(self) -> list[str]:
        """Return the names of all branches except main, without branches that are only partly created or deleted."""
        branches = same_table(self.context).branches
        links = branches.links()
        return [name for name in branches.names() if name in links or not branches.is_hidden(name)]

    def rename(self, name: str, new_name: str) -> None:
        """Rename a branch; no process may write to the branch at the same time.

        After a crash the branch has the old name, the new name or both. Raises BranchNotFound for an unknown ``name``,
        AlreadyExists for a ``new_name`` that exists, InvalidRequest for an invalid name, and CommitConflict when a
        concurrent writer committed to the branch.
        """
        with changing_same_table(self.context) as context:
            rename_branch(context, name, new_name)

    def delete(self, name: str) -> None:
        """Delete a branch; data files that only this branch used become orphans.

        ``maintenance.plan_branch_deletion`` shows which files would be deleted. Raises BranchNotFound for an unknown
        branch, InvalidRequest for main.
        """
        with changing_same_table(self.context) as context:
            delete_branch(context, name)

    def fast_forward(self, name: str) -> Snapshot:
        """Add the snapshots, schemas and tags of branch ``name`` to this branch; return its new latest snapshot.

        Snapshots become visible one after the other, in their order on ``name``; the next call completes an interrupted
        call. Branch ``name`` still exists afterwards. Raises CommitConflict, which names what would be lost, when this
        branch has changed since ``name`` was created; BranchNotFound for an unknown branch; InvalidRequest for a branch
        without snapshots and for this branch; CommitStateUnknown, after which the call must be repeated.
        """
        with changing_same_table(self.context) as context:
            return fast_forward(context, name)
