"""Branches: create, list, rename, delete and fast-forward the branches of one table (format 15.2)."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.maintain.branches.fast_forward import fast_forward
from paimon_core.maintain.branches.operations import create_branch, delete_branch
from paimon_core.maintain.branches.rename import rename_branch
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import same_table, table_to_change


@dataclass(frozen=True)
class Branches:
    """The branches of one table; ``create`` and ``fast_forward`` work on the branch of ``context``.

    ``Table.branch(name)`` reads and writes a branch. Every method raises TableNotFound when the table was dropped or
    re-created.
    """

    context: TableContext

    def create(self, name: str, *, tag: str | None = None) -> None:
        """Create a branch with the schemas of this branch and the rows of ``tag`` (without ``tag``: no rows).

        Raises AlreadyExists for an existing branch, TagNotFound for an unknown tag, InvalidRequest for an invalid name.
        """
        create_branch(table_to_change(self.context), name, tag)

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
        rename_branch(table_to_change(self.context), name, new_name)

    def delete(self, name: str) -> None:
        """Delete a branch; data files that only this branch used become orphans.

        ``maintenance.plan_branch_deletion`` shows which files would be deleted. Raises BranchNotFound for an unknown
        branch, InvalidRequest for main.
        """
        delete_branch(table_to_change(self.context), name)

    def fast_forward(self, name: str) -> Snapshot:
        """Add the snapshots, schemas and tags of branch ``name`` to this branch; return its new latest snapshot.

        Snapshots become visible one after the other, in their order on ``name``; the next call completes an interrupted
        call. Branch ``name`` still exists afterwards. Raises CommitConflict, which names what would be lost, when this
        branch has changed since ``name`` was created; BranchNotFound for an unknown branch; InvalidRequest for a branch
        without snapshots and for this branch; CommitStateUnknown, after which the call must be repeated.
        """
        return fast_forward(table_to_change(self.context), name)
