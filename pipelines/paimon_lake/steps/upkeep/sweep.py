"""Sweep: move the unreferenced files of a table to quarantine, and delete old quarantines."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from typing import Any

from paimon_core.maintain.orphans.removal import OrphanReport
from paimon_core.maintain.planning.plan import Plan
from paimon_core.spark import apply_spark, plan_orphan_removal_spark
from paimon_lake.declarations import Settings
from paimon_lake.protocol import StepResult
from paimon_lake.session import Spark
from paimon_lake.tables import open_table, result_of, state_of


def sweep(spark: Spark, settings: Settings, name: str, *, dry_run: bool = False) -> StepResult:
    """Move orphans to quarantine, from which ``Maintenance.undo`` restores them; purge quarantines that are too old.

    A table with many files is processed by Spark tasks. ``dry_run`` only reports which files would be moved and purged.
    Raises PlanOutdated when tags or branches changed during the call; then the caller can call it again.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    before = state_of(table)
    keep, maintenance = settings.table(name).retention, table.maintenance
    older_than = datetime.timedelta(hours=keep.orphans_older_than_hours)
    by_spark = before.files >= keep.spark_from_files
    plan = (
        plan_orphan_removal_spark(spark(), table, older_than=older_than)
        if by_spark
        else maintenance.plan_orphan_removal(older_than=older_than)
    )

    def apply(plan: Plan) -> Any:
        return apply_spark(spark(), table, plan) if by_spark else maintenance.apply(plan)

    report = OrphanReport(table.name) if dry_run or plan.is_empty else apply(plan)
    purge = maintenance.plan_quarantine_purge(older_than=datetime.timedelta(days=keep.keep_quarantine_days))
    purged = () if dry_run or purge.is_empty else apply(purge)
    details: dict[str, str | int | float] = {
        "plan": f"{plan.sentence()}; {purge.sentence()}",
        "quarantined_files": len(report.removed),
        "quarantined_bytes": report.size_bytes,
        "purged_quarantines": len(purged),
    }
    if report.quarantine is not None and report.removed:
        details["quarantine"] = report.quarantine
    if protected := Counter(p.by for p in (*plan.protected, *purge.protected)):
        details["held_by"] = "; ".join(f"{count} protected by {by}" for by, count in protected.most_common(5))
    if dry_run:
        note = f"would move {len(plan.files)} files to quarantine and purge {len(purge.subjects)} quarantines"
    else:
        note = f"moved {len(report.removed)} files to quarantine, purged {len(purged)} quarantines"
    return result_of("sweep", table, before, started, details=details, note=note)
