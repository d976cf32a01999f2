"""Load result: the result of a step for the loads of one table in a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.table import Table
from paimon_lake.check_result import CheckResult
from paimon_lake.loads.lookup.lookup_loads import counted_lookups
from paimon_lake.loads.step import NothingToLoad, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult
from paimon_lake.protocol import StepResult, some
from paimon_lake.tables import TableState, result_of, state_of

ADDED = frozenset(
    {"rows_read", "rows_rejected", "rows_merged", "rows_began_to_wait", "rows_waited", "changes", "transactions"}
)
"""The names of the details whose values are added up over the loads of a run."""


@dataclass(frozen=True)
class LoadedOnce:
    """One load that was committed."""

    plan: PlannedLoad
    snapshot: Snapshot
    written: WriteResult
    check_results: tuple[CheckResult, ...]


def loaded_once(
    plan: PlannedLoad, snapshot: Snapshot, written: WriteResult, check_results: tuple[CheckResult, ...]
) -> LoadedOnce:
    """Return the members of a load that the result of the run needs; the rows that the plan holds are freed."""
    plan, written = replace(plan, write=_is_written, lookups=None), replace(written, reports=())
    return LoadedOnce(plan, snapshot, written, check_results)


def _is_written() -> WriteResult:
    raise AssertionError("the load is committed")


def result_of_loads(
    table: Table, before: TableState, started: float, loads: Sequence[LoadedOnce], rest: NothingToLoad, *, counts: bool
) -> StepResult:
    """Return the result of the loads of a run.

    ``rest``: why the source had no further load; ``counts``: whether the visible rows are counted.
    """
    told: dict[str, str | int | float] = {}
    for load in loads:
        for name, value in {**load.plan.details, **_counts(load.written)}.items():
            told[name] = told[name] + value if name in ADDED and name in told else value  # type: ignore[operator]
    if changed := dict.fromkeys(text for load in loads for text in load.plan.schema_changes):
        told["schema_changes"] = "; ".join(changed)
    result = result_of(
        "load",
        table,
        before,
        started,
        commits=[load.snapshot.id for load in loads],
        details={**told, **rest.details},
        rows_written=sum(load.written.rows_written for load in loads),
        counts=counts,
    )
    last = loads[-1]
    left_out = dict.fromkeys(
        [*(text for load in loads for text in (*load.plan.left_out, *load.written.skipped)), *rest.reasons]
    )
    return replace(
        result,
        check_results=worst_results(load.check_results for load in loads),
        column_lineage=last.written.lineage,
        skipped=tuple(left_out),
        stale=last.plan.stale,
    )


def worst_results(found: Iterable[Sequence[CheckResult]]) -> tuple[CheckResult, ...]:
    """Return one result for each check: its last failed result, or its last result if it never failed."""
    worst: dict[str, CheckResult] = {}
    for results in found:
        for one in results:
            if not one.passed or one.audit not in worst or worst[one.audit].passed:
                worst[one.audit] = one
    return tuple(worst.values())


def nothing_loaded(table: Table, plan: NothingToLoad, started: float, *, counts: bool) -> StepResult:
    """Return the result of a run without loads; ``plan`` says why nothing was loaded."""
    now = state_of(table)  # read again, because a concurrent load may have committed everything during this load
    commits = [] if plan.snapshot is None else [plan.snapshot]
    return result_of(
        "load",
        table,
        now,
        started,
        commits=commits,
        skipped=plan.reasons,
        details=plan.details,
        note=plan.note,
        counts=counts,
    )


def _counts(written: WriteResult) -> dict[str, str | int | float]:
    counts: dict[str, str | int | float] = {
        "rows_read": written.rows_read,
        "rows_rejected": written.rows_rejected,
        "rows_merged": written.rows_merged,
    }
    counts |= counted_lookups(written.lookup)
    for name in ("ignored_columns", "source_tables"):
        counts |= {name: some(names)} if (names := getattr(written, name)) else {}
    return counts
