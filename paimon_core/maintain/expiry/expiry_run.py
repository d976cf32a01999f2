"""ExpiryRun: the files that one expiry of snapshots or of lasting changelogs will delete, and their deletion."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_core.maintain.empty_directories import remove_empty_directories
from paimon_core.maintain.executor import WorkExecutor, delete_files
from paimon_core.maintain.expiry.still_due import only_planned
from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.references.protected_files import Seen, used_since
from paimon_core.maintain.references.removable_files import Removal
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot


@dataclass(frozen=True)
class ExpiryRun:
    """The snapshots or changelogs that expire, and the files that only they use."""

    expired: tuple[Snapshot, ...]
    first_kept: Snapshot
    data: tuple[PlannedFile, ...]
    metadata: tuple[PlannedFile, ...]
    protected: tuple[Protected, ...]
    kept_by_tags: int = 0
    """The number of data files that are kept because a tag uses them."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the snapshots or changelogs that expire, ascending."""
        return tuple(s.id for s in self.expired)

    def as_planned(self, plan: Plan) -> ExpiryRun:
        """Return this run with only the files that the plan names."""
        data, metadata = only_planned(plan, self.data), only_planned(plan, self.metadata)
        return replace(self, data=data, metadata=metadata, protected=plan.protected)

    def without_used(self, context: TableContext, seen: Seen) -> ExpiryRun:
        """Return this run without the files used by tags or branches that were created after ``seen`` was read."""
        used = used_since(context, seen, (*self.data, *self.metadata))
        data = tuple(f for f in self.data if f.path not in used)
        metadata = tuple(f for f in self.metadata if f.path not in used)
        return replace(self, data=data, metadata=metadata, kept_by_tags=self.kept_by_tags + len(self.data) - len(data))

    def removal(self, context: TableContext) -> Removal:
        """Return the files of this run that exist."""
        return Removal.of(existing_files(context.storage, self.data), existing_files(context.storage, self.metadata))

    def delete_files(self, context: TableContext, executor: WorkExecutor | None = None) -> Removal:
        """Delete the files and, if an option says so, directories that become empty; return the files that existed."""
        removed = self.removal(context)
        delete_files(executor, context, removed.paths)
        if context.options["snapshot.clean-empty-directories"]:
            remove_empty_directories(context, [f.path for f in self.data])
        return removed
