"""Merge changes: joins the target with the source, and computes the kind and the new values of each row that changes.

The rows of the join have the columns of the target, the struct ``source``, and the results of the conditions that the
library evaluates. If the source has one row per key, each row of the target is joined at most once. Otherwise the rows
of the join are grouped by their place, and an error is raised when several rows of the source change one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from paimon_core.metadata.context import TableContext
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.predicate import Predicate
from paimon_core.schema import DataField
from paimon_core.spark.columns import column, quoted
from paimon_core.spark.row_changes.conditions import TARGET
from paimon_core.spark.row_changes.delete_update import deleted_columns
from paimon_core.spark.row_changes.expressions import SOURCE, named_targets, used_columns, value_column
from paimon_core.spark.row_changes.merge_clauses import SparkClause, SparkClauses
from paimon_core.spark.row_changes.merge_source import KeyStatistics
from paimon_core.spark.row_changes.row_messages import DELETE, INSERT, KIND, UPDATE
from paimon_core.spark.row_changes.target_rows import FILE, POS, target_rows
from paimon_core.spark.types import spark_schema
from paimon_core.table.rows.merge_clauses import Delete, Insert, Update

_CLAUSE, _ON, _ROWS, _ALL_DELETE, _ROW = (f"__paimon_{name}" for name in ("clause", "on", "rows", "all_delete", "row"))
_KINDS = {Update: UPDATE, Delete: DELETE, Insert: INSERT}


def merge_changes(
    spark: SparkSession,
    context: TableContext,
    plan: ScanPlan,
    where: Predicate | None,
    clauses: SparkClauses,
    source: DataFrame,
    keys: KeyStatistics,
) -> DataFrame:
    """Return the changes of a merge, in the form that ``row_messages`` takes.

    ``source``: the rows of the source with the types of the table and the flags of the clauses; ``keys``: the
    statistics of its keys. Raises AnalysisException for an expression that does not fit the columns.
    """
    matched, by_source, inserts = _groups(clauses)
    _check_inserts(source, clauses, inserts)
    columns = _target_columns(spark, context, clauses, source)
    target = target_rows(spark, context, plan, where, columns, clauses.flags, None if by_source else keys.key_filter)
    target = target.alias(TARGET)
    rows = _joined(target, _packed(source, clauses), clauses, outer=bool(by_source), inserts=bool(inserts))
    here = F.col(f"{TARGET}.{_marker(context)}").isNotNull()
    there = F.col(clauses.struct).isNotNull()
    number: Column | None = None
    for clause in clauses.clauses:
        if clause.kind is Insert:
            sides = [there, ~here]
        else:
            sides = [here, there if clause.number < len(matched) else ~there]
        applies = reduce(and_, [*sides, *_conditions(clause)])
        number = F.when(applies, clause.number) if number is None else number.when(applies, clause.number)
    numbered = F.lit(None).cast("int") if number is None else number
    rows = rows.withColumn(_CLAUSE, numbered).where(F.col(_CLAUSE).isNotNull()).alias(TARGET)
    if keys.most_rows_of_a_key > 1:
        rows = _once(rows, context, clauses, here).alias(TARGET)
    return _changes(rows, context, clauses)


def _groups(clauses: SparkClauses) -> tuple[Sequence[SparkClause], Sequence[SparkClause], Sequence[SparkClause]]:
    """Return the clauses of rows that match, of rows without a source row, and of source rows without a match."""
    first = len(clauses.checked.matched)
    second = first + len(clauses.checked.not_matched_by_source)
    return clauses.clauses[:first], clauses.clauses[first:second], clauses.clauses[second:]


def _marker(context: TableContext) -> str:
    """Return a column that is null only where the join has no row of the target."""
    return quoted(context.schema.primary_keys[0]) if context.is_keyed else FILE


def _conditions(clause: SparkClause) -> list[Column]:
    found = [F.col(clause.flag)] if clause.where.predicate is not None else []
    if clause.source_where.predicate is not None or clause.source_where.column is not None:
        found.append(F.col(clause.source_flag))
    return found if clause.where.column is None else [*found, clause.where.column]


def _packed(source: DataFrame, clauses: SparkClauses) -> DataFrame:
    """Return the struct ``source`` of each row, its key, and the results of the conditions on the source."""
    named = source.alias(SOURCE)
    keys = [column(name).alias(f"{_ON}_{at}") for at, name in enumerate(clauses.on)]
    flags = []
    for clause in clauses.clauses:
        tests = [] if clause.source_where.predicate is None else [F.col(clause.source_flag)]
        tests += [] if clause.source_where.column is None else [clause.source_where.column]
        if tests:
            flags.append(F.coalesce(reduce(and_, tests), F.lit(False)).alias(clause.source_flag))
    return named.select(F.struct(*[column(f.name) for f in clauses.fields]).alias(clauses.struct), *keys, *flags)


def _joined(target: DataFrame, source: DataFrame, clauses: SparkClauses, *, outer: bool, inserts: bool) -> DataFrame:
    kind = "full_outer" if outer and inserts else "left" if outer else "right" if inserts else "inner"
    names = map(quoted, clauses.on)
    equal = [F.col(f"{TARGET}.{name}") == F.col(f"{_ON}_{at}") for at, name in enumerate(names)]
    return target.join(source, reduce(and_, equal), kind)


def _target_columns(spark: SparkSession, context: TableContext, clauses: SparkClauses, source: DataFrame) -> list[str]:
    """Return the columns of the target that the join needs."""
    schema = context.tracked().schema
    empty = spark.createDataFrame([], spark_schema(schema.fields)).crossJoin(
        source.limit(0).select(F.struct(*[column(f.name) for f in clauses.fields]).alias(clauses.struct))
    )
    expressions = [c.where.column for c in clauses.clauses if c.where.column is not None]
    needed = {*clauses.on, *context.schema.primary_keys}
    for clause in clauses.clauses:
        if clause.kind is Delete:
            needed |= set(deleted_columns(context))
        elif clause.kind is Update:
            needed |= {name for name in schema.names if name not in clause.values}
            needed |= named_targets(clause.values, with_source=True)
            expressions += [value for value in clause.values.values() if isinstance(value, Column)]
    needed |= set(used_columns(empty.alias(TARGET), expressions))
    return [name for name in schema.names if name in needed]


def _check_inserts(source: DataFrame, clauses: SparkClauses, inserts: Sequence[SparkClause]) -> None:
    """Raise AnalysisException when a value of an Insert uses a column that is not a column of the source."""
    values = [v for clause in inserts for v in clause.values.values() if isinstance(v, Column)]
    if values:
        source.select(F.struct(*[column(f.name) for f in clauses.fields]).alias(clauses.struct)).select(*values).schema  # noqa: B018


def _once(rows: DataFrame, context: TableContext, clauses: SparkClauses, here: Column) -> DataFrame:
    """Return one change for each row of the target that changes, and the inserted rows.

    Raises InvalidRequest in a task when several source rows would change the same row of the target, unless all of
    them delete the row; and, in a table with a primary key, when several source rows would insert the same key.
    """
    deletes = [clause.number for clause in clauses.clauses if clause.kind is Delete]
    place = [column(name) for name in context.schema.primary_keys] if context.is_keyed else [F.col(FILE), F.col(POS)]
    by_place = Window.partitionBy(*place)
    numbered = (
        rows.where(here)
        .withColumn(_ROWS, F.count(F.lit(1)).over(by_place))
        .withColumn(_ALL_DELETE, F.min(F.col(_CLAUSE).isin(deletes) if deletes else F.lit(False)).over(by_place))
        .withColumn(_ROW, F.row_number().over(by_place.orderBy(_CLAUSE)))
    )
    keys = [f"{_ON}_{at}" for at in range(len(clauses.on))]
    several = (F.col(_ROWS) > 1) & ~F.col(_ALL_DELETE)
    changed = numbered.where(_checked(several, context, clauses, "change") & (F.col(_ROW) == 1))
    added = rows.where(~here)
    if context.is_keyed:
        whole = reduce(and_, [F.col(k).isNotNull() for k in [*keys, clauses.struct]])
        count = F.when(whole, F.count(F.lit(1)).over(Window.partitionBy(*keys))).otherwise(1)
        counted = added.withColumn(_ROWS, count)
        added = counted.where(_checked(F.col(_ROWS) > 1, context, clauses, "insert"))
    kept = [*map(column, rows.columns)]
    both = changed.select(*kept).unionByName(added.select(*kept))
    # Spark 4.3 fails when it pushes values with correlated subqueries into a union; it pushes nothing through this test
    return both.where(F.spark_partition_id() >= 0)


def _checked(error: Column, context: TableContext, clauses: SparkClauses, verb: str) -> Column:
    """Return a column that is true, and raises InvalidRequest where ``error`` is true."""
    parts: list[Column] = []
    for at, name in enumerate(clauses.on):
        key = F.col(f"{_ON}_{at}")
        quote = "'" if clauses.context.schema.by_name[name].arrow.type == "string" else ""
        parts += [F.lit(f"{', ' if at else ''}{name} = {quote}"), F.coalesce(key.cast("string"), F.lit("None"))]
        parts.append(F.lit(quote))
    text = f"paimon_core.errors.InvalidRequest: table {context.name}: several rows of the source {verb} the row with "
    message = F.concat(F.lit(text), *parts, F.lit(": only one row may do so"))
    return F.when(error, F.raise_error(message).cast("boolean")).otherwise(True)


def _changes(rows: DataFrame, context: TableContext, clauses: SparkClauses) -> DataFrame:
    """Return the kind, the new values and the place of each row."""
    kind: Column | None = None
    for clause in clauses.clauses:
        test = F.col(_CLAUSE) == clause.number
        kind = F.when(test, _KINDS[clause.kind]) if kind is None else kind.when(test, _KINDS[clause.kind])
    columns = [_new_value(field, rows, clauses).alias(field.name) for field in context.tracked().schema.fields]
    place = [] if context.is_keyed else [F.col(FILE), F.col(POS)]
    return rows.select((F.lit(None).cast("string") if kind is None else kind).alias(KIND), *columns, *place)


def _new_value(field: DataField, rows: DataFrame, clauses: SparkClauses) -> Column:
    """Return the new value of a column; a row of kind -D has the old value of the column, if the column was read."""
    kind = spark_schema([field]).fields[0].dataType
    old = F.col(f"{TARGET}.{quoted(field.name)}") if field.name in rows.columns else None
    found = F.lit(None).cast(kind) if old is None else old
    for clause in reversed(clauses.clauses):
        if field.name in clause.values:
            value = value_column(clause.values[field.name], field, rows, clauses.struct)
        elif clause.kind is Insert or old is None:
            value = F.lit(None).cast(kind)
        else:
            value = old
        found = F.when(F.col(_CLAUSE) == clause.number, value).otherwise(found)
    return found
