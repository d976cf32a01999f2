"""delete_spark and update_spark: change the rows that match a condition, in Spark tasks.

If the library can evaluate everything, each task runs the library's own delete or update for its part of the plan.
Otherwise tasks read the rows, Spark evaluates the expressions, and tasks write the result (``row_messages``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.predicate import Predicate
from paimon_core.spark.arguments import check_session_and_table
from paimon_core.spark.columns import column
from paimon_core.spark.compactor import maintenance_work
from paimon_core.spark.row_changes.conditions import TARGET, Condition
from paimon_core.spark.row_changes.expressions import (
    checked_values,
    named_targets,
    refuse_functions,
    used_columns,
    value_column,
)
from paimon_core.spark.row_changes.row_messages import DELETE, KIND, UPDATE, row_messages
from paimon_core.spark.row_changes.split_tasks import in_tasks
from paimon_core.spark.row_changes.target_rows import FILE, POS, target_rows
from paimon_core.spark.task_errors import errors_of_tasks
from paimon_core.spark.types import spark_schema
from paimon_core.table.commit_request import CommitRequest, Committed
from paimon_core.table.rows import delete_update
from paimon_core.table.rows.delete_update import check_delete, check_update, commit_change
from paimon_core.table.table import Table


def delete_spark(
    spark: SparkSession,
    table: Table,
    where: Any,
    *,
    user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot | None:
    """Delete the rows that match, as ``Table.delete`` does, in Spark tasks; None when no row matches.

    ``where``: a predicate, a text of Spark SQL, or a Column of Spark. The driver holds commit messages only. With
    ``user`` and ``identifier`` a repeated call commits exactly once. The rows are read from the snapshot before this
    commit. When a concurrent commit changes partitions that may contain matching rows, the rows are read again, up to
    ``commit.max-retries`` times; then CommitConflict is raised and nothing is deleted. A Column does not show which
    partitions match, so any concurrent change of rows counts. Raises the errors of ``Table.delete``.
    """
    check_session_and_table(spark, table, Table)
    request = CommitRequest.of(table.context, user, identifier, properties)
    if (committed := request.committed_snapshot()) is not None:
        return table.settle(committed)
    condition = _required(where, table.context, "delete")
    if condition.column is None:
        return settled(spark, table, delete_update.delete(request, condition.predicate, in_tasks(spark)))
    check_delete(table.context)

    def change(context: TableContext, plan: ScanPlan, where: Predicate | None) -> list[CommitMessage]:
        names = context.schema.names
        rows = _matching(spark, context, plan, where, condition.column, deleted_columns(context), [])
        kept = rows.columns
        filled = [column(n) if n in kept else F.lit(None).alias(n) for n in names] if context.is_keyed else [FILE, POS]
        return row_messages(rows.select(F.lit(DELETE).alias(KIND), *filled), table, context, plan)

    return settled(spark, table, commit_change(request, condition.predicate, change))


def update_spark(
    spark: SparkSession,
    table: Table,
    set: Mapping[str, Any],
    where: Any,
    *,
    user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
) -> Snapshot | None:
    """Set columns of the rows that match, as ``Table.update`` does, in Spark tasks; None when no row matches.

    ``set`` maps columns to literals (a text is a literal), to Columns of Spark over the old row, or to functions of
    Arrow tables as in ``Table.update``. A function cannot be combined with a Column of Spark, neither in ``set`` nor in
    ``where``. A Column of another type is converted by the rules of Spark's INSERT (ANSI). ``where``, concurrent
    commits, ``user`` and ``identifier``: see ``delete_spark``. Raises the errors of ``Table.update``.
    """
    check_session_and_table(spark, table, Table)
    request = CommitRequest.of(table.context, user, identifier, properties)
    if (committed := request.committed_snapshot()) is not None:
        return table.settle(committed)
    condition = _required(where, table.context, "update")
    check_update(table.context, checked_values(set) or set)
    if condition.column is None and not any(isinstance(value, Column) for value in set.values()):
        return settled(spark, table, delete_update.update(request, condition.predicate, set, in_tasks(spark)))
    refuse_functions(set, "update_spark")

    def change(context: TableContext, plan: ScanPlan, where: Predicate | None) -> list[CommitMessage]:
        check_update(context, checked_values(set) or set)
        tracked = context.tracked().schema
        kept = [n for n in tracked.names if n not in set or n in named_targets(set, with_source=False)]
        values = [value for value in set.values() if isinstance(value, Column)]
        rows = _matching(spark, context, plan, where, condition.column, kept, values)
        with errors_of_tasks(context.name):
            new = {name: value_column(value, context.schema.by_name[name], rows, "") for name, value in set.items()}
            columns = [(new[n] if n in new else column(n)).alias(n) for n in tracked.names]
            changes = rows.select(F.lit(UPDATE).alias(KIND), *columns, *([] if context.is_keyed else [FILE, POS]))
        return row_messages(changes, table, context, plan)

    return settled(spark, table, commit_change(request, condition.predicate, change))


def deleted_columns(context: TableContext) -> list[str]:
    """Return the columns that a row of kind -D must have.

    These are the key, the columns that the merge engine or a changelog reads, and the columns that are NOT NULL. An
    append table needs none.
    """
    schema, options = context.schema, context.options
    if not context.is_keyed:
        return []
    if options["merge-engine"] != "deduplicate" or options["changelog-producer"] == "input":
        return list(schema.names)
    needed = {*schema.primary_keys, *schema.partition_keys, *(options["sequence.field"] or ())}
    needed.add(options["record-level.time-field"])
    return [f.name for f in schema.fields if f.name in needed or not f.type.nullable]


def settled(spark: SparkSession, table: Table, committed: Committed | None) -> Snapshot | None:
    """Do the steps after a commit and return its snapshot; None when nothing was committed.

    Unless the table is write-only, one of the steps is a compaction in Spark tasks.
    """
    if committed is None:
        return None
    return replace(table, context=committed.context).settle(
        committed.snapshot, committed.written, maintenance_work(spark)
    )


def _required(where: Any, context: TableContext, operation: str) -> Condition:
    if where is None:
        raise InvalidRequest(f"{operation} needs a condition such as col('x') == 1, not None ('true' is all rows)")
    return Condition.of(where, context.tracked().schema.fields)


def _matching(
    spark: SparkSession,
    context: TableContext,
    plan: ScanPlan,
    where: Predicate | None,
    condition: Column | None,
    columns: list[str],
    values: list[Column],
) -> DataFrame:
    """Return the rows that satisfy both conditions, with ``columns`` and the columns that the expressions use."""
    tracked = context.tracked().schema
    with errors_of_tasks(context.name):
        empty = spark.createDataFrame([], spark_schema(tracked.fields)).alias(TARGET)
        used = used_columns(empty, [*values, *([] if condition is None else [condition])])
        chosen = [n for n in tracked.names if n in used or n in columns] or tracked.names[:1]
        rows = target_rows(spark, context, plan, where, chosen).alias(TARGET)
        return rows if condition is None else rows.where(condition)
