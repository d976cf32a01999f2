"""Care: check a table, mark its months as done, and roll it back by hand."""

from __future__ import annotations

import calendar
import time
from collections import Counter
from collections.abc import Sequence
from datetime import date

from paimon_core import col
from paimon_core.errors import CorruptTable
from paimon_core.table.table import Table
from pipelines.lake import Settings
from pipelines.protocol import PipelineError, StepResult, month_of
from pipelines.tables import open_table, result_of, rows_by, state_of


def fsck(settings: Settings, name: str, *, deep: bool = False) -> StepResult:
    """Check the invariants of a table; ``deep`` also reads all rows. Raises CorruptTable when one is violated."""
    started = time.monotonic()
    table = open_table(settings, name)
    report = table.maintenance.check(deep=deep)
    if report.errors:
        first = "; ".join(finding.sentence() for finding in report.errors[:3])
        raise CorruptTable(f"table {name} has {len(report.errors)} errors: {first}", table=name)
    warnings = [finding.sentence() for finding in report.findings if finding.level != "info"]
    details: dict[str, str | int | float] = {
        "invariants": sum(1 for count in report.checked.values() if count),
        "warnings": len(warnings),
    }
    if warnings:
        details["first_warning"] = warnings[0]
    note = f"{details['invariants']} invariants hold, {len(warnings)} warnings"
    return result_of("fsck", table, state_of(table), started, details=details, note=note)


def mark_done(settings: Settings, name: str, months: Sequence[str] | None = None) -> StepResult:
    """Mark months as done: the given ones, or all months with rows on each of their days.

    Raises PipelineError for a table that is not partitioned by month.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    chosen = list(months) if months is not None else complete_months(table)
    marked = mark_months(table, chosen)
    note = f"marked {', '.join(marked)}" if marked else "no month is complete"
    return result_of("mark-done", table, state_of(table), started, details={"months_done": len(marked)}, note=note)


def mark_months(table: Table, months: Sequence[str]) -> list[str]:
    """Mark these months of a table as done; raises PipelineError unless ``month`` is its only partition column."""
    if list(table.schema.partition_keys) != ["month"]:
        raise PipelineError(f"{table.name} is not partitioned by month: its months cannot be marked as done")
    if months:
        table.maintenance.mark_done(*({"month": month} for month in months))
    return list(months)


def is_marked(table: Table, month: str) -> bool:
    """Whether a month of a table is marked as done."""
    return table.context.storage.exists(table.context.paths.success_file(f"month={month}"))


def complete_months(table: Table, months: Sequence[str] | None = None) -> list[str]:
    """Return the months (of ``months``, None: of all) with rows on each of their days, sorted."""
    where = None if months is None else col("month").is_in(list(months))
    days = Counter(month_of(day) for day in rows_by(table, "date", where))
    return sorted(month for month, count in days.items() if count == _days_of(month))


def rollback(
    settings: Settings, name: str, *, snapshot: int | None = None, tag: str | None = None, apply: bool = False
) -> StepResult:
    """Report what a rollback to a snapshot or tag deletes, and with ``apply`` do it.

    The commits of a load that is rolled back are deleted too, so that it can be loaded again. Raises SnapshotNotFound,
    TagNotFound, InvalidRequest, and PlanOutdated after a concurrent commit.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    before = state_of(table)
    plan = table.maintenance.plan_rollback(snapshot=snapshot, tag=tag)
    if apply:
        table.maintenance.apply(plan)
    deleted = ", ".join(plan.subjects) or "nothing"
    details: dict[str, str | int | float] = {"plan": plan.sentence(), "given_up": len(plan.subjects)}
    note = f"deleted {deleted}" if apply else f"would delete {deleted} (--apply does it)"
    after = table.latest_snapshot()
    commits = [after.id] if apply and after is not None else []
    return result_of("rollback", table, before, started, commits=commits, details=details, note=note)


def _days_of(month: str) -> int:
    first = date.fromisoformat(f"{month}-01")
    return calendar.monthrange(first.year, first.month)[1]
