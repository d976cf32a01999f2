"""Blocking audit: the declared checks that run before a load is published."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from paimon_core.table.view import TableView
from paimon_lake.check_result import CheckResult
from paimon_lake.checks.context import CheckContext, load_records
from paimon_lake.checks.prepared_audit import Audit
from paimon_lake.checks.run import run_checks
from paimon_lake.declarations.tables.checks import SqlCheck
from paimon_lake.loads.partitions.partition_keys import rows_of
from paimon_lake.loads.step import LoadStep
from paimon_lake.sources.table_names import named_tables
from paimon_lake.tables import open_table


def blocking_audit(step: LoadStep, inputs: Mapping[str, TableView], check_results: list[CheckResult]) -> Audit | None:
    """Return a function that runs the blocking checks and sets ``check_results``; None when no declared check blocks.

    The checks see the inputs at the snapshots that the load has read, so that a concurrent load of an input has no
    effect.
    """
    if not any(check.block for check in step.spec.checks):
        return None

    def audit(table: TableView) -> list[str]:
        where = None
        if step.partitions is not None and step.spec.partitions is not None and step.spec.partitions.column:
            where = rows_of(step.spec, table, step.partitions, step.spec.partitions)
        others = {name: inputs.get(name) or open_table(step.settings, name) for name in _named_in_checks(step)}
        context = CheckContext(where=where, now=datetime.now(UTC), history=load_records(table), tables=others)
        blocking = [check for check in step.spec.checks if check.block]
        check_results[:] = run_checks(blocking, step.spec, table, context=context, spark=step.spark, raises=True)
        return [f"{f.audit}: {f.sentence}" for f in check_results if not f.passed and f.severity == "error"]

    return audit


def _named_in_checks(step: LoadStep) -> set[str]:
    """Return the other declared tables that the SQL of blocking checks names."""
    queries = [check.query for check in step.spec.checks if isinstance(check, SqlCheck) and check.block]
    named = {one.name for query in queries for one in named_tables(query)}
    return (named & set(step.settings.tables)) - {step.spec.name}
