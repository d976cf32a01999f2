"""Declared checks: evaluate the checks that a table declares on its rows, now and as they were after earlier loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from paimon_lake.checks import CheckContext, CheckResult, load_records, run_checks
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.tables.checks import Check, LagCheck, SqlCheck
from paimon_lake.loads.lag import lag
from paimon_lake.overview import existing
from paimon_lake.session import Spark
from paimon_lake.tables import open_table


@dataclass(frozen=True)
class PastResults:
    """The results of checks on the rows that a table had after a load."""

    snapshot_id: int
    committed_at: datetime
    results: tuple[CheckResult, ...]


def declared_results(settings: Settings, spec: TableSpec, checks: Sequence[Check], spark: Spark) -> list[CheckResult]:
    """Evaluate declared checks of a table on all of its rows."""
    if not checks:
        return []
    table = open_table(settings, spec.name)
    needs_tables = any(isinstance(check, SqlCheck) for check in checks)
    tables = {name: open_table(settings, name) for name in existing(settings)} if needs_tables else {}
    context = CheckContext(
        datetime.now(UTC), history=load_records(table), tables=tables, lag=lambda: lag(settings, spec.name)
    )
    return run_checks(checks, spec, table, context=context, spark=spark)


def has_past(check: Check) -> bool:
    """Whether a check can be evaluated on earlier rows: not when it asks a server or may read other tables."""
    return not isinstance(check, LagCheck | SqlCheck)


def past_results(settings: Settings, spec: TableSpec, loads: int) -> list[PastResults]:
    """Evaluate the declared checks that ``has_past`` after each of the last ``loads`` loads, newest first.

    The rows are read by time travel, and the time of the check is the time of the load, so nothing is stored, and a
    changed declaration applies to earlier rows too. Loads whose snapshots have expired are left out.
    """
    table, checks = open_table(settings, spec.name), [check for check in spec.checks if has_past(check)]
    found = []
    for load in reversed(load_records(table)[-loads:] if checks and loads else []):
        view = table.at(snapshot=load.snapshot_id)
        context = CheckContext(load.committed_at, history=load_records(view))
        results = run_checks(checks, spec, view, context=context)
        found.append(PastResults(load.snapshot_id, load.committed_at, tuple(results)))
    return found
