"""maintain: one round of maintenance of the whole lake, within its budget, the best first."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_core.errors import PaimonError
from paimon_core.health.plan.candidates import Budget
from paimon_core.health.plan.outcome import CONFLICT, DONE, FAILED, Outcome
from paimon_core.health.plan.policy import OffPeak, Policy, TagLimit
from paimon_core.spark.compactor import maintenance_work
from paimon_core.table.table import Table
from paimon_core.table.upkeep.maintenance_plan import MaintenancePlan, plan_tables
from paimon_lake.declarations import Settings
from paimon_lake.overview import existing
from paimon_lake.protocol import StepResult, plain
from paimon_lake.session import Spark
from paimon_lake.tables import TableState, open_lake, open_table, result_of, state_of


@dataclass(frozen=True)
class Maintained:
    """One round: its plan as text, a result for each table that was worked on, and what went wrong."""

    text: str
    results: tuple[StepResult, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    """By table: why it could not be examined, or what failed; the key "log" stands for the log of maintenance."""


def policy_of(settings: Settings) -> Policy:
    """Return the rules that the lake declares."""
    declared = settings.maintenance
    tags = {name: spec.compaction.tags for name, spec in settings.tables.items() if spec.compaction.tags}
    used = {tag for found in tags.values() for tag in found}  # settings may have a part of the tables
    limits = {
        tag: TagLimit(limit.tasks, Budget(limit.bytes, limit.seconds))
        for tag, limit in declared.limits.items()
        if tag in used
    }
    hours = declared.off_peak
    return Policy(
        start_mark=declared.start_mark,
        stop_mark=declared.stop_mark,
        patience=declared.patience,
        off_peak=None if hours is None else OffPeak(hours.start, hours.end, hours.peak_share),
        scans={name: spec.compaction.scans for name, spec in settings.tables.items() if spec.compaction.scans != 1},
        tags=tags,
        limits=limits,
    )


def budget_of(settings: Settings) -> Budget:
    """Return the budget of one round that the lake declares."""
    declared = settings.maintenance
    return Budget(declared.bytes, declared.seconds, declared.memory)


def plan_lake(
    settings: Settings, budget: Budget | None = None, host: str = "", *, sample_keys: bool = True
) -> MaintenancePlan:
    """Plan one round of the declared tables that exist; nothing is changed.

    ``budget`` replaces the declared budget; ``host`` names the place where compactions will run, if not in this
    process; without ``sample_keys`` only metadata is read (``plan_tables``). Tables that cannot be examined are listed
    in ``unreadable``.
    """
    tables: list[Table] = []
    unreadable: dict[str, str] = {}
    for name in existing(settings):
        try:
            table = open_table(settings, name)
            table.latest_snapshot()
            tables.append(table)
        except PaimonError as error:
            unreadable[name] = f"{error.kind}: {error}"
    log = open_lake(settings).maintenance_log()
    return plan_tables(
        tables,
        budget or budget_of(settings),
        policy=policy_of(settings),
        log=log,
        unreadable=unreadable,
        host=host,
        sample_keys=sample_keys,
    )


def maintain(
    settings: Settings,
    *,
    spark: Spark | None = None,
    budget: Budget | None = None,
    dry_run: bool = False,
    properties: Mapping[str, str] | None = None,
) -> Maintained:
    """Do one round and add its outcomes to ``sys.maintenance``; ``dry_run`` only plans.

    A round of many bytes (``spark_from_bytes`` of the declaration) runs its compactions in tasks of ``spark``; without
    ``spark``, and for all other work, it runs in this process. Buckets that concurrent commits changed are left to a
    later round. Errors of some tables do not stop the others.
    """
    started = time.monotonic()
    plan = plan_lake(settings, budget)
    size = sum(c.bytes_read for c in plan.chosen if plan.works[c].task is not None)
    in_spark = spark is not None and size > 0 and size >= settings.maintenance.spark_from_bytes
    if in_spark:  # speeds are others there
        plan = plan_lake(settings, budget, f"spark {settings.spark.master}")
    if dry_run:
        return Maintained(plan.text(), problems={**plan.failing, **plan.unreadable})
    before = {name: state_of(plan.tables[name, "main"]) for name in dict.fromkeys(c.table for c in plan.chosen)}
    work = maintenance_work(spark()) if spark is not None and in_spark else None
    report = plan.run(properties={"pipeline.step": "maintain", **plain(properties)}, work=work)
    by_table: dict[str, list[Outcome]] = {}
    for outcome in report.outcomes:
        by_table.setdefault(outcome.candidate.table, []).append(outcome)
    problems = {**plan.failing, **plan.unreadable}
    for failed in report.failed:
        problems.setdefault(failed.candidate.table, failed.error or "")
    if report.log_error:
        problems["log"] = report.log_error
    results = [
        _result(plan.tables[name, "main"].refresh(), outcomes, before[name], started, in_spark=in_spark)
        for name, outcomes in by_table.items()
    ]
    return Maintained("\n".join([plan.text(), report.text()]), tuple(results), problems)


def _result(table: Table, outcomes: list[Outcome], before: TableState, started: float, *, in_spark: bool) -> StepResult:
    done = [one for one in outcomes if one.status == DONE]
    conflicts, failed = (sum(one.status == status for one in outcomes) for status in (CONFLICT, FAILED))
    details: dict[str, str | int | float] = {
        "works": len(done),
        "conflicts": conflicts,
        "failed": failed,
        "bytes_read": sum(one.bytes_read for one in done),
        "predicted_bytes_read": sum(one.candidate.bytes_read for one in done),
        "bytes_written": sum(one.bytes_written for one in done),
        "predicted_bytes_written": sum(one.candidate.bytes_written for one in done),
        "seconds": round(sum(one.seconds for one in done), 3),
        "predicted_seconds": round(sum(one.candidate.seconds for one in done), 3),
        "saved": round(sum(one.saved for one in done)),
    }
    commits = sorted({one.snapshot for one in done if one.snapshot is not None})
    note = f"{len(done)} works done"
    note += ", the compactions in Spark" if in_spark else ""
    note += f", {conflicts} left because other commits came first" if conflicts else ""
    note += f", {failed} failed" if failed else ""
    return result_of("maintain", table, before, started, commits=commits, details=details, note=note)
