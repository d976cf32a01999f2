"""Maintenance: what keeps a table healthy; destructive work is planned, looked at, then applied."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from paimon_core.commit.manifest_compaction import compact_manifests
from paimon_core.errors import InvalidRequest
from paimon_core.fsck.check import check
from paimon_core.fsck.finding import Report
from paimon_core.maintain.branches import operations as branches
from paimon_core.maintain.orphans import quarantine
from paimon_core.maintain.orphans import removal as orphans
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.repair import hints, missing_files
from paimon_core.maintain.rollback import rollback
from paimon_core.maintain.tags import operations as tags
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_not_another
from paimon_core.table import expiry
from paimon_core.table.argument_checks import as_millis
from paimon_core.table.tags import rollback_target

APPLY: Mapping[str, Callable[[TableContext, Plan], Any]] = MappingProxyType(
    {
        orphans.OPERATION: orphans.apply_orphan_removal,
        quarantine.OPERATION: quarantine.apply_purge,
        missing_files.OPERATION: missing_files.apply_missing_removal,
        rollback.OPERATION: rollback.apply_rollback,
        tags.OPERATION: tags.apply_tag_deletion,
        branches.OPERATION: branches.apply_branch_deletion,
        **expiry.APPLY,
    }
)
"""What applies a plan, by its operation."""
_DAY = datetime.timedelta(days=1)
_WEEK = datetime.timedelta(days=7)


@dataclass(frozen=True)
class Maintenance(expiry.Expiry):
    """The maintenance of one table on one branch."""

    def apply(self, plan: Plan) -> Any:
        """Do what a plan says, and report it; the report's type is that of the operation.

        Raises InvalidRequest for a plan of another table or of an unknown operation, PlanOutdated when the table moved:
        nothing was done then. TableNotFound, as all of these, when it was dropped or made anew.
        """
        if not isinstance(plan, Plan) or plan.operation not in APPLY:
            known = ", ".join(sorted(APPLY))
            raise InvalidRequest(f"apply takes a plan to {known}, not {plan!r:.80}")
        return APPLY[plan.operation](self._checked_context(), plan)

    # -- files that nobody uses, entries that have no file

    def plan_orphan_removal(
        self, *, older_than: datetime.timedelta = _DAY, mode: str = "quarantine", without_snapshots: bool = False
    ) -> Plan:
        """Find the files, older than this, that no snapshot, tag or changelog of any branch uses (format 16.6).

        ``older_than`` must exceed the longest time from the writing of a file to its commit. ``mode``: "quarantine" or
        "delete"; ``without_snapshots``: also take the files of a table that never had one. Raises InvalidRequest,
        CorruptTable when it cannot be known what is used.
        """
        return orphans.plan_orphan_removal(
            self._checked_context(),
            older_than_millis=as_millis("older_than", older_than),
            mode=mode,
            without_snapshots=without_snapshots,
        )

    def quarantines(self) -> list[quarantine.Quarantine]:
        """What orphan removals have put aside, oldest first."""
        return quarantine.quarantines(self._checked_context())

    def undo(self, quarantine_id: str) -> quarantine.UndoReport:
        """Bring back what one orphan removal put aside, bit for bit; raises NotFound."""
        return quarantine.undo(self._checked_context(), quarantine_id)

    def plan_quarantine_purge(self, *, older_than: datetime.timedelta = _WEEK) -> Plan:
        """Plan to delete for good what was put aside longer ago than this, unless the table uses it after all."""
        now = clock.now_millis()
        return quarantine.plan_purge(self._checked_context(), as_millis("older_than", older_than), now)

    def plan_missing_removal(self) -> Plan:
        """Find live files that are gone, to take their entries out of the table; their rows are lost then."""
        return missing_files.plan_missing_removal(self._checked_context())

    # -- what names and holds snapshots

    def plan_rollback(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        time: datetime.datetime | int | None = None,
        watermark: int | None = None,
    ) -> Plan:
        """Name the snapshots, changelogs and tags that a rollback gives up; targets as in ``Table.rollback``.

        Commits that come after the plan make it outdated. Raises SnapshotNotFound, TagNotFound.
        """
        return rollback.plan_rollback(
            self._checked_context(), rollback_target(self.context, snapshot, tag, time, watermark)
        )

    def plan_tag_deletion(self, name: str) -> Plan:
        """Find the files that only this tag still uses, on whatever branch; raises TagNotFound, CorruptTable."""
        return tags.plan_tag_deletion(self._checked_context(), name)

    def plan_branch_deletion(self, name: str) -> Plan:
        """List the metadata files of a branch; data files that only it used become orphans.

        Raises BranchNotFound, also for one that is half made or half deleted, which ``Table.branches.delete`` ends;
        InvalidRequest for main.
        """
        return branches.plan_branch_deletion(self._checked_context(), name)

    # -- nothing is lost by these

    def compact_manifests(self) -> Snapshot | None:
        """Rewrite the manifests of the latest snapshot as few full ones; None when that would gain nothing."""
        return compact_manifests(self._checked_context())

    def check(self, *, deep: bool = False) -> Report:
        """Check the invariants of the table on all of its branches, quickly or (``deep``) with all of its rows.

        Raises TableNotFound when it was dropped or made anew; anything less is a finding.
        """
        check_not_another(self.context)
        return check(self.context, deep=deep)

    def repair_hints(self) -> hints.HintReport:
        """Make LATEST and EARLIEST right in all branches (format 3.4)."""
        return hints.repair_hints(self._checked_context())
