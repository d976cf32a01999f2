"""Maintenance: expiry, removal of orphans, repair and checks of one table.

Methods ``plan_*`` return a plan of the deletions; the caller checks the plan, and ``apply`` applies it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from paimon_core.argument_checks import as_millis
from paimon_core.commit.manifest_compaction import compact_manifests
from paimon_core.display import Displayed, Summary
from paimon_core.errors import InvalidRequest
from paimon_core.fsck.check import check
from paimon_core.fsck.finding import Report
from paimon_core.maintain.branches import operations as branches
from paimon_core.maintain.expiry import consumers, partitions
from paimon_core.maintain.orphans import quarantine
from paimon_core.maintain.orphans import removal as orphans
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.repair import hints, missing_files, repair
from paimon_core.maintain.rollback import rollback
from paimon_core.maintain.tags import expiry as tag_expiry
from paimon_core.maintain.tags import operations as tags
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import changing_same_table, check_not_another
from paimon_core.table.refs.tags import rollback_target
from paimon_core.table.upkeep import expiry

APPLY: Mapping[str, Callable[[TableContext, Plan], Any]] = MappingProxyType(
    {
        orphans.OPERATION: orphans.apply_orphan_removal,
        quarantine.OPERATION: quarantine.apply_purge,
        missing_files.OPERATION: missing_files.apply_missing_removal,
        repair.OPERATION: repair.apply_repair,
        rollback.OPERATION: rollback.apply_rollback,
        tags.OPERATION: tags.apply_tag_deletion,
        branches.OPERATION: branches.apply_branch_deletion,
        **expiry.APPLY,
    }
)
"""The functions that apply a plan, by the plan's operation."""
_NAMES_ARE_SHARED = frozenset(
    {repair.OPERATION, rollback.OPERATION, tags.OPERATION, branches.OPERATION}
    | {consumers.OPERATION, tag_expiry.OPERATION}
)
"""The operations on few files whose names another table may have too; other plans delete files with unique names."""
_DAY = datetime.timedelta(days=1)
_WEEK = datetime.timedelta(days=7)


@dataclass(frozen=True, repr=False)
class Maintenance(Displayed, expiry.Expiry):
    """The maintenance of one table on one branch."""

    settle: Callable[[Snapshot], object] = lambda snapshot: snapshot
    """Runs the callbacks of the table's handle after a commit."""

    def _summary(self) -> Summary:
        return Summary(self.context.name)

    def apply(self, plan: Plan) -> Any:
        """Apply a plan and return the report of its operation.

        Raises InvalidRequest for a plan of another table or of an unknown operation, and PlanOutdated when the table
        has changed since the plan was made; nothing was changed then. Like all methods of this class, raises
        TableNotFound when the table was dropped or re-created.
        """
        if not isinstance(plan, Plan) or plan.operation not in APPLY:
            known = ", ".join(sorted(APPLY))
            raise InvalidRequest(f"apply takes a plan to {known}, not {plan!r:.80}")
        with changing_same_table(self.context, guarded=plan.operation in _NAMES_ARE_SHARED) as context:
            report = APPLY[plan.operation](context, plan)
        committed = report.missing if isinstance(report, repair.RepairReport) else report
        if isinstance(committed, missing_files.MissingReport | partitions.PartitionReport) and committed.snapshot:
            self.settle(committed.snapshot)
        return report

    # -- files that are not referenced, manifest entries whose file is missing

    def plan_orphan_removal(
        self, *, older_than: datetime.timedelta = _DAY, mode: str = "quarantine", without_snapshots: bool = False
    ) -> Plan:
        """Plan to remove the files that no snapshot, tag or changelog of any branch references (format 16.6).

        Only files older than ``older_than`` are removed; ``older_than`` must exceed the longest time from the writing
        of a file to its commit. ``mode``: "quarantine" or "delete"; ``without_snapshots``: also remove the files of a
        table without snapshots. Raises InvalidRequest, and CorruptTable when the references cannot be determined.
        """
        with self._reading() as context:
            return orphans.plan_orphan_removal(
                context,
                older_than_millis=as_millis("older_than", older_than),
                mode=mode,
                without_snapshots=without_snapshots,
            )

    def quarantines(self) -> list[quarantine.Quarantine]:
        """Return the quarantines of earlier orphan removals, oldest first."""
        with self._reading() as context:
            return quarantine.quarantines(context)

    def undo(self, quarantine_id: str) -> quarantine.UndoReport:
        """Move the files of one quarantine back, unchanged; raises NotFound for an unknown quarantine."""
        with self._reading() as context:
            return quarantine.undo(context, quarantine_id)

    def plan_quarantine_purge(self, *, older_than: datetime.timedelta = _WEEK) -> Plan:
        """Plan to delete quarantines older than ``older_than``, except quarantines with a file that the table uses."""
        now = clock.now_millis()
        with self._reading() as context:
            return quarantine.plan_purge(context, as_millis("older_than", older_than), now)

    def plan_missing_removal(self) -> Plan:
        """Plan to remove the entries of live data files that do not exist; the rows of these files are lost."""
        with self._reading() as context:
            return missing_files.plan_missing_removal(context)

    def plan_repair(self) -> Plan:
        """Plan to make a branch with unreadable files usable again; see ``maintain.repair.repair``."""
        with self._reading() as context:
            return repair.plan_repair(context)

    # -- rollback, tags and branches

    def plan_rollback(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        time: datetime.datetime | int | None = None,
        watermark: int | None = None,
    ) -> Plan:
        """Plan a rollback: the snapshots, changelogs and tags that it deletes.

        The arguments are the same as for ``Table.rollback``.

        A later commit makes the plan outdated. Raises SnapshotNotFound or TagNotFound for a target that does not exist.
        """
        with self._reading() as context:
            return rollback.plan_rollback(context, rollback_target(context, snapshot, tag, time, watermark))

    def plan_tag_deletion(self, name: str) -> Plan:
        """Plan to delete a tag and the files that nothing else on any branch uses.

        Raises TagNotFound for an unknown tag, CorruptTable when a tag or snapshot cannot be read completely.
        """
        with self._reading() as context:
            return tags.plan_tag_deletion(context, name)

    def plan_branch_deletion(self, name: str) -> Plan:
        """Plan to delete the metadata files of a branch; data files that only this branch used become orphans.

        Raises InvalidRequest for main. Raises BranchNotFound for a branch that does not exist, or that is only partly
        created or deleted: delete such a branch with ``Table.branches.delete``.
        """
        with self._reading() as context:
            return branches.plan_branch_deletion(context, name)

    # -- operations that lose no rows and need no plan

    def compact_manifests(self) -> Snapshot | None:
        """Rewrite the manifests of the latest snapshot into fewer, larger manifests; None if nothing would change."""
        with self._reading() as context:
            snapshot = compact_manifests(context)
        if snapshot is not None:
            self.settle(snapshot)
        return snapshot

    def check(self, *, deep: bool = False) -> Report:
        """Check the invariants of the table on all of its branches; ``deep`` also reads all rows.

        Raises TableNotFound when the table was dropped or re-created; every other problem is a finding.
        """
        check_not_another(self.context)
        report = check(self.context, deep=deep)
        check_not_another(self.context)  # what was found may be the state of a table that was dropped meanwhile
        return report

    def repair_hints(self) -> hints.HintReport:
        """Rewrite the LATEST and EARLIEST hints that are wrong or missing, in all branches (format 3.4)."""
        with changing_same_table(self.context) as context:
            return hints.repair_hints(context)
