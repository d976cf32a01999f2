"""Check a table with ``fsck``, and roll a table back to an older snapshot."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.maintain.planning.plan import Plan
from paimon_core.metadata.snapshot import CommitKind
from paimon_core.table.table import Table
from paimon_lake.declarations import Settings
from paimon_lake.protocol import StepResult
from paimon_lake.tables import open_table, result_of, state_of

_MOST_TOLD = 20


def fsck(settings: Settings, name: str, *, deep: bool = False) -> StepResult:
    """Check the invariants of a table; ``deep`` also reads all rows.

    Raises CorruptTable when an invariant is violated.
    """
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


def rollback(
    settings: Settings, name: str, *, snapshot: int | None = None, tag: str | None = None, apply: bool = False
) -> StepResult:
    """Report the snapshots and files that a rollback to a snapshot or tag deletes; with ``apply``, roll back.

    The snapshots of loads after the target are deleted as well, so that the same files or partitions can be loaded
    again. Raises SnapshotNotFound or TagNotFound for a target that does not exist, InvalidRequest for a wrong request,
    and PlanOutdated after a concurrent commit.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    before = state_of(table)
    plan = table.maintenance.plan_rollback(snapshot=snapshot, tag=tag)
    lost = _lost_text(table, plan)
    if apply:
        table.maintenance.apply(plan)
    deleted = ", ".join(plan.subjects) or "nothing"
    details: dict[str, str | int | float] = {"plan": plan.sentence(), "given_up": len(plan.subjects), "lost": lost}
    note = f"deleted {deleted}" if apply else f"would delete {deleted}"
    after = table.latest_snapshot()
    commits = [after.id] if apply and after is not None else []
    return result_of("rollback", table, before, started, commits=commits, details=details, note=note)


def _lost_text(table: Table, plan: Plan) -> str:
    """Return the commits that a rollback gives up, newest first: time, user and change of the rows in files."""
    ids = sorted((int(s.removeprefix("snapshot ")) for s in plan.subjects if s.startswith("snapshot ")), reverse=True)
    texts = []
    for number in ids[:_MOST_TOLD]:
        with contextlib.suppress(SnapshotNotFound):  # it expired meanwhile
            found = table.context.snapshots.read(number)
            at = datetime.fromtimestamp(found.time_millis / 1000, UTC)
            kind = "" if found.commit_kind is CommitKind.APPEND else f", {found.commit_kind}"
            rows = f"{found.delta_record_count:+,} rows in files"
            texts.append(f"snapshot {number} of {at:%Y-%m-%d %H:%M:%S} UTC by {found.commit_user}{kind}: {rows}")
    more = [f"{len(ids) - _MOST_TOLD} more snapshots"] if ids[_MOST_TOLD:] else []
    others = [subject for subject in plan.subjects if not subject.startswith("snapshot ")]
    return "; ".join([*texts, *more, *others]) or "nothing"
