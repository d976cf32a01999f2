"""Expire: drop what retention no longer keeps of one table, and say what holds the rest."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable
from typing import Any

from paimon_core.errors import PlanOutdated
from paimon_core.maintain.planning.plan import Plan, Protected
from paimon_core.spark import apply_spark
from paimon_core.table.table import Table
from pipelines.protocol import StepResult
from pipelines.session import Spark
from pipelines.settings import Settings
from pipelines.tables import open_table, result_of, state_of

_TRIES = 3
_HOLDERS_SHOWN = 5


def expire(spark: Spark, settings: Settings, name: str, *, dry_run: bool = False) -> StepResult:
    """Drop tags whose time is over; partitions and consumers by the table's options; snapshots by its retention.

    Then the changelogs that outlived theirs. Each is planned, then applied; a plan that somebody's tag or rollback made
    outdated is made again. Spark is started only when many files go. ``dry_run`` only says what would go.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    before = state_of(table)
    tags = () if dry_run else table.tags.expire()
    commits: list[int] = []
    plans: dict[str, Plan] = {}
    for what, make in _due(table, settings):
        plan, report = _done(make, lambda plan: _apply(spark, settings, table, plan), dry_run)
        plans[what] = plan
        if what == "partitions" and report is not None:
            commits += report.snapshots
    snapshots = plans["snapshots"]
    files = int(snapshots.arguments.get("data_files", 0))
    held = _holders(p for plan in plans.values() for p in plan.protected)
    details: dict[str, str | int | float] = {
        "expired_snapshots": len(snapshots.subjects),
        "expired_tags": len(tags),
        "deleted_data_files": files,
        "data_files_kept_by_tags": int(snapshots.arguments.get("kept_by_tags", 0)),
        "snapshots_left": table.inspect.snapshots().num_rows,
        **{f"expired_{what}": len(plan.subjects) for what, plan in plans.items() if what != "snapshots"},
        "plan": "; ".join(plan.sentence() for plan in plans.values()),
    }
    if held:
        details["held_by"] = held
    drops = "would drop" if dry_run else "dropped"
    note = f"{drops} {len(snapshots.subjects)} snapshots and {files} data files{f'; held: {held}' if held else ''}"
    return result_of("expire", table, before, started, commits=commits, details=details, note=note)


def _due(table: Table, settings: Settings) -> Iterable[tuple[str, Callable[[], Plan]]]:
    keep, care, options = settings.table(table.name).retention, table.maintenance, table.options
    if options["partition.expiration-time"] is not None:
        yield "partitions", care.plan_partition_expiry
    if options["consumer.expiration-time"] is not None:
        yield "consumers", care.plan_consumer_expiry
    older_than = datetime.timedelta(hours=keep.keep_hours)
    yield "snapshots", lambda: care.plan_snapshot_expiry(keep_last=keep.keep_snapshots, older_than=older_than)
    if table.context.changelogs.ids():
        yield "changelogs", care.plan_changelog_expiry


def _done(make: Callable[[], Plan], apply: Callable[[Plan], Any], dry_run: bool) -> tuple[Plan, Any]:
    """The plan and what applying it reported, None without."""
    for tries_left in reversed(range(_TRIES)):
        plan = make()
        if dry_run or plan.is_empty:
            return plan, None
        try:
            return plan, apply(plan)
        except PlanOutdated:
            if not tries_left:
                raise
    raise AssertionError


def _apply(spark: Spark, settings: Settings, table: Table, plan: Plan) -> Any:
    if (
        plan.operation == "expire-snapshots"
        and len(plan.files) >= settings.table(table.name).retention.spark_from_files
    ):
        return apply_spark(spark(), table, plan)
    return table.maintenance.apply(plan)


def _holders(protected: Iterable[Protected]) -> str:
    """Who keeps what that was old enough to go; what the retention itself says is nobody's fault."""
    held = [f"{p.what} by {p.by}" for p in protected if not p.by.startswith("the least number to retain")]
    more = f" and {len(held) - _HOLDERS_SHOWN} more" if len(held) > _HOLDERS_SHOWN else ""
    return "; ".join(held[:_HOLDERS_SHOWN]) + more
