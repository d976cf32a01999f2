"""Expire: delete the tags, partitions, consumers, snapshots and changelogs of a table that retention does not keep."""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from paimon_core.errors import PlanOutdated
from paimon_core.maintain.planning.plan import Plan, Protected
from paimon_core.spark import apply_spark
from paimon_core.table.table import Table
from paimon_lake.declarations import Settings
from paimon_lake.declarations.part_spec import part_names
from paimon_lake.loads.inputs.comparisons import keep_comparisons
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.loads.ledger.part_ledgers import carry_all_on
from paimon_lake.loads.lookup.waiting_rollback import restore_before_copy
from paimon_lake.loads.rejected.rejects import publish_before_expiry
from paimon_lake.protocol import StepResult
from paimon_lake.session import Spark
from paimon_lake.tables import open_table, result_of, state_of

_LOG = logging.getLogger(__name__)
_TRIES = 3
_PROTECTED_SHOWN = 5


def expire(
    spark: Spark, settings: Settings, name: str, *, dry_run: bool = False, keep_loads_of: str = ""
) -> StepResult:
    """Delete tags whose retention has ended, then expire partitions, consumers, snapshots and lasting changelogs.

    Partitions and consumers expire by the table's options, snapshots by the retention in the settings. Each expiry is
    planned, then applied; a plan that is outdated because of a concurrent tag or rollback is created again. Before
    snapshots expire, the rejects of interrupted loads are published, and the ledger entries in these snapshots are
    copied into a new empty snapshot. Spark is started only when many files are deleted. ``dry_run`` only reports which
    snapshots and files would be deleted. When ``name`` is a table of rejects, ``keep_loads_of`` names the table to
    which the rejects belong: the newest snapshot that the loads of that table committed is kept.
    """
    started = time.monotonic()
    table = open_table(settings, name)
    before = state_of(table)
    tags = table.maintenance.plan_tag_expiry().subjects if dry_run else table.tags.expire()
    commits: list[int] = []
    plans: dict[str, Plan] = {}
    for what, create in _plans(table, settings, keep_loads_of):
        plan, report = _plan_and_apply(
            create, lambda plan: _apply(spark, settings, table, plan, keep_loads_of), dry_run
        )
        plans[what] = plan
        if what == "partitions" and report is not None:
            commits += report.snapshots
    snapshots = plans["snapshots"]
    files = int(snapshots.arguments.get("data_files", 0))
    protected = _protected_text(p for plan in plans.values() for p in plan.protected)
    details: dict[str, str | int | float] = {
        "expired_snapshots": len(snapshots.subjects),
        "expired_tags": len(tags),
        "deleted_data_files": files,
        "data_files_kept_by_tags": int(snapshots.arguments.get("kept_by_tags", 0)),
        "snapshots_left": table.inspect.snapshots().num_rows,
        **{f"expired_{what}": len(plan.subjects) for what, plan in plans.items() if what != "snapshots"},
        "plan": "; ".join(plan.sentence() for plan in plans.values()),
    }
    if protected:
        details["held_by"] = protected
    verb = "would delete" if dry_run else "deleted"
    note = f"{verb} {len(snapshots.subjects)} snapshots and {files} data files"
    note += f"; protected: {protected}" if protected else ""
    return result_of("expire", table, before, started, commits=commits, details=details, note=note)


def _plans(table: Table, settings: Settings, keep_loads_of: str) -> Iterable[tuple[str, Callable[[], Plan]]]:
    keep, maintenance, options = settings.table(table.name).retention, table.maintenance, table.options
    if options["partition.expiration-time"] is not None:
        yield "partitions", maintenance.plan_partition_expiry
    if options["consumer.expiration-time"] is not None:
        yield "consumers", maintenance.plan_consumer_expiry
    older_than = datetime.timedelta(hours=keep.keep_hours)
    yield (
        "snapshots",
        lambda: maintenance.plan_snapshot_expiry(
            keep_last=max(keep.keep_snapshots, _since_load(table, keep_loads_of)), older_than=older_than
        ),
    )
    if table.context.changelogs.ids():
        yield "changelogs", maintenance.plan_changelog_expiry


def _plan_and_apply(create: Callable[[], Plan], apply: Callable[[Plan], Any], dry_run: bool) -> tuple[Plan, Any]:
    """Return the plan and the report of applying it; the report is None when the plan was not applied."""
    for tries_left in reversed(range(_TRIES)):
        plan = create()
        if dry_run or plan.is_empty:
            return plan, None
        try:
            return plan, apply(plan)
        except PlanOutdated:
            if not tries_left:
                raise
    raise AssertionError


def _since_load(table: Table, loaded: str) -> int:
    """Return the number of snapshots from the newest commit by loads of ``loaded`` to the latest; 0 if none."""
    loads, latest = loads_of(table, loaded) if loaded else [], table.latest_snapshot()
    return latest.id - loads[-1].id + 1 if loads and latest is not None else 0


def _apply(spark: Spark, settings: Settings, table: Table, plan: Plan, keep_loads_of: str) -> Any:
    if plan.operation == "expire-snapshots":
        spec = settings.table(table.name)
        publish_before_expiry(settings, spec, table)
        restore_before_copy(settings, spec, table)
        expiring = {int(subject.removeprefix("snapshot ")) for subject in plan.subjects}
        loads = {load.id for load in loads_of(table, keep_loads_of)} if keep_loads_of else set()
        if loads and loads <= expiring:
            raise PlanOutdated(f"{table.name}: other commits came after the plan was made")
        carry_all_on(table, part_names(spec), expiring, begin=spec.has_loads)
        for derived, why in keep_comparisons(settings, table.name, expiring).items():
            _LOG.warning("%s counts as stale, because snapshots of %s expire: %s", derived, table.name, why)
        if len(plan.files) >= settings.table(table.name).retention.spark_from_files:
            return apply_spark(spark(), table, plan)
    return table.maintenance.apply(plan)


def _protected_text(protected: Iterable[Protected]) -> str:
    """Return a text that names the snapshots that are old enough to expire but protected, with the reasons; the
    retention is not mentioned.
    """
    texts = [f"{p.what} by {p.by}" for p in protected if not p.by.startswith("the least number to retain")]
    more = f" and {len(texts) - _PROTECTED_SHOWN} more" if len(texts) > _PROTECTED_SHOWN else ""
    return "; ".join(texts[:_PROTECTED_SHOWN]) + more
