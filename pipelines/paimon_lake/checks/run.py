"""Run: evaluate declared checks on a table, at its latest snapshot or on a prepared commit before it is published."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_core.advice import for_table
from paimon_core.errors import PaimonError, StorageError
from paimon_core.metadata.read_again import read_again
from paimon_core.query.scan_options import ALL_ROWS
from paimon_core.table.view import TableView
from paimon_lake.check_result import CheckResult
from paimon_lake.checks.context import CheckContext
from paimon_lake.checks.lag_check import lag_result
from paimon_lake.checks.load_checks import freshness, row_count, volume
from paimon_lake.checks.parts_check import parts_complete
from paimon_lake.checks.row_checks import Result, Rows, accepted_values, not_null, range_, unique
from paimon_lake.checks.sql_check import sql
from paimon_lake.declarations import SettingsError, TableSpec
from paimon_lake.declarations.tables.checks import (
    AcceptedValuesCheck,
    Check,
    FreshnessCheck,
    LagCheck,
    NotNullCheck,
    PartsCompleteCheck,
    RangeCheck,
    RowCountCheck,
    SqlCheck,
    TableCheck,
    UniqueCheck,
)
from paimon_lake.protocol import PipelineError

if TYPE_CHECKING:
    from paimon_lake.session import Spark

_REASON = 400


def run_check(
    check: Check, spec: TableSpec, table: TableView, *, context: CheckContext, spark: Spark | None = None
) -> CheckResult:
    """Evaluate one check; a check that cannot be evaluated fails, with the reason in its sentence.

    ``table`` is read at one snapshot: the snapshot that it is pinned to (which may be the draft of a prepared commit),
    or else the latest snapshot. Commits during the check have no effect. When the latest snapshot expires during the
    check, a newer snapshot is read.

    ``context.where`` restricts not_null, accepted_values and range, and unique if its columns contain the columns of
    the filter. The other types of checks, and unique with other columns, check the whole table.
    """
    return _checked((check,), spec, table, context, spark)[0]


def run_checks(
    checks: Iterable[Check],
    spec: TableSpec,
    table: TableView,
    *,
    context: CheckContext,
    spark: Spark | None = None,
    raises: bool = False,
) -> list[CheckResult]:
    """Evaluate several checks as ``run_check`` does; all read the same snapshot, unless it expires during the checks.

    With ``raises``, a failure of the storage raises StorageError and is not a failed check, because it says nothing
    about the rows; the caller may retry the load.
    """
    return _checked(tuple(checks), spec, table, context, spark, raises=raises)


def _checked(
    checks: tuple[Check, ...],
    spec: TableSpec,
    table: TableView,
    context: CheckContext,
    spark: Spark | None,
    *,
    raises: bool = False,
) -> list[CheckResult]:
    rows: Rows | None = None

    def evaluate(check: TableCheck) -> Result:
        nonlocal rows
        rows = rows or _rows(spec, table, context)
        return _evaluated(check, spec, rows, context, spark)

    def at_a_newer_snapshot() -> bool:
        nonlocal rows
        rows = None
        return table.pinned is None

    results = []
    for check in checks:
        if isinstance(check, LagCheck):
            results.append(lag_result(check, spec.name, context.lag()))
            continue
        try:
            wrong, sentence = read_again(partial(evaluate, check), may_retry=at_a_newer_snapshot)
        except (PaimonError, PipelineError, SettingsError, pa.ArrowException) as error:
            if isinstance(error, StorageError) and raises:
                raise
            wrong, sentence = 1, f"cannot be evaluated: {_reason(error)}"
            if not isinstance(check, SqlCheck):  # a query may read other tables as well
                sentence = for_table(sentence, spec.name)
        results.append(CheckResult(check.label, spec.name, wrong, sentence, check.severity))
    return results


def _rows(spec: TableSpec, table: TableView, context: CheckContext) -> Rows:
    if table.pinned is None and (latest := table.latest_snapshot()) is not None:
        table = table.at(snapshot=latest.id)
    return Rows(table.with_options(ALL_ROWS), spec.key, context.where)


def _evaluated(check: TableCheck, spec: TableSpec, rows: Rows, context: CheckContext, spark: Spark | None) -> Result:
    match check:
        case UniqueCheck():
            return unique(check, rows)
        case NotNullCheck():
            return not_null(check, rows)
        case AcceptedValuesCheck():
            return accepted_values(check, rows)
        case RangeCheck():
            return range_(check, rows)
        case FreshnessCheck():
            return freshness(check, rows, context)
        case RowCountCheck():
            return row_count(check, rows, context)
        case PartsCompleteCheck():
            return parts_complete(check, spec, rows, context)
        case SqlCheck():
            return sql(check, rows, context, spark)
    return volume(check, context)


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= _REASON else f"{text[:_REASON]}..."
