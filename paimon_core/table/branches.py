"""Branches: the branches of one table as a user makes, lists, renames, deletes and takes them over (format 15.2)."""

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
    """The branches of one table, seen from the branch of ``context``; ``Table.branch(name)`` reads and writes one.

    Every call raises TableNotFound when the table was dropped or made anew.
    """

    context: TableContext

    def create(self, name: str, *, tag: str | None = None) -> None:
        """Make a branch: with this one's schemas and no rows, or with the rows of a tag.

        Raises AlreadyExists, TagNotFound, InvalidRequest for a name that cannot be.
        """
        create_branch(table_to_change(self.context), name, tag)

    def list(self) -> list[str]:
        """The names of all branches but main; those that are half made or half deleted are left out."""
        branches = same_table(self.context).branches
        links = branches.links()
        return [name for name in branches.names() if name in links or not branches.is_hidden(name)]

    def rename(self, name: str, new_name: str) -> None:
        """Give a branch another name; nobody should be writing to it. A crash leaves one or both names, never none.

        Raises BranchNotFound, AlreadyExists, InvalidRequest, CommitConflict when it was committed to all the same.
        """
        rename_branch(table_to_change(self.context), name, new_name)

    def delete(self, name: str) -> None:
        """Delete a branch; data files that only it used become orphans. Raises BranchNotFound, InvalidRequest.

        ``maintenance.plan_branch_deletion`` looks before.
        """
        delete_branch(table_to_change(self.context), name)

    def fast_forward(self, name: str) -> Snapshot:
        """Take over the snapshots, schemas and tags that branch ``name`` has on top of ours; our latest snapshot then.

        Snapshots appear one after the other, as they were committed there; one that was cut short is finished by the
        next. The branch stands afterwards. Raises CommitConflict naming what would be lost when we have moved since
        the branch was made, BranchNotFound, InvalidRequest.
        """
        return fast_forward(table_to_change(self.context), name)
