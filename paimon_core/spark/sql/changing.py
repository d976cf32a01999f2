"""Changing: runs UPDATE, DELETE and MERGE INTO: finds their columns, checks their types, and calls ``row_changes``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, StructField, StructType
from sqlglot import exp

from paimon_core.metadata.snapshot import Snapshot
from paimon_core.spark.sql import row_changes
from paimon_core.spark.sql.assignment import assignment_problem
from paimon_core.spark.sql.expressions import SOURCE, TARGET, Expression, Scope
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.parts import quoted
from paimon_core.spark.sql.grammar.statements import Delete, Merge, MergeClause, Query, TableName, Update
from paimon_core.spark.sql.names import Names, column_of
from paimon_core.spark.sql.queries import frame, shown_error
from paimon_core.spark.sql.row_changes import Clause
from paimon_core.spark.types import spark_schema
from paimon_core.table.table import Table


def update(spark: SparkSession, names: Names, statement: Update, text: str) -> Snapshot | None:
    """Set columns of the rows that match, in one commit."""
    table = names.table(statement.table, text)
    scope = Scope(table.schema.names, _qualifiers(names, statement.table, statement.alias, text))
    where = None if statement.where is None else scope.expression(statement.where)
    values = _values(table, statement.values, scope, text)
    _check(spark, table, None, values, where)
    return row_changes.update(spark, table, values, where)


def delete(spark: SparkSession, names: Names, statement: Delete, text: str) -> Snapshot | None:
    """Delete the rows that match, in one commit."""
    table = names.table(statement.table, text)
    scope = Scope(table.schema.names, _qualifiers(names, statement.table, statement.alias, text))
    where = None if statement.where is None else scope.expression(statement.where)
    _check(spark, table, None, {}, where)
    return row_changes.delete(spark, table, where)


def merge(spark: SparkSession, names: Names, statement: Merge, text: str) -> Snapshot | None:
    """Merge a table, view or query into a table, in one commit."""
    table = names.table(statement.table, text)
    rows = frame(spark, names, statement.source, relation=True)
    targets = _qualifiers(names, statement.table, statement.alias, text)
    sources = _source_qualifiers(statement)
    pairs = _pairs(Scope(table.schema.names, targets, {c: c for c in rows.columns}, sources), statement.on)
    internal = _internal_names(rows.columns, pairs)
    both = Scope(table.schema.names, targets, internal, sources)
    only_source = Scope(
        table.schema.names, targets, internal, sources, "a row that is not matched has no columns of the target"
    )
    only_target = Scope(table.schema.names, targets)
    scopes = {"matched": both, "not matched": only_source, "not matched by source": only_target}
    source = rows.toDF(*internal.values())
    on = list(pairs)
    clauses = [_clause(table, clause, scopes[clause.kind], internal, on, text) for clause in statement.clauses]
    for clause in clauses:
        _check(spark, table, source, clause.values, clause.condition)
    return row_changes.merge(spark, table, source, on, clauses)


def _qualifiers(names: Names, name: TableName, alias: str | None, text: str) -> list[tuple[str, ...]]:
    if alias is not None:
        return [(alias.casefold(),)]
    parts = tuple(part.casefold() for part in names.full(name, text).split(".", 1))
    return [parts, parts[1:]]


def _source_qualifiers(statement: Merge) -> list[tuple[str, ...]]:
    if statement.source_alias is not None:
        return [(statement.source_alias.casefold(),)]
    written = statement.source.written
    if written.startswith("("):
        return []
    parts = tuple(part.strip("` ").casefold() for part in written.split()[0].split("."))
    return [parts, parts[-1:]] if len(parts) > 1 else [parts]


def _pairs(scope: Scope, on: Query) -> dict[str, str]:
    """Return the columns of the source by the columns of the target that ON compares."""
    found: dict[str, str] = {}
    for condition in scope.expression(on).conjuncts():
        sides = {}
        if isinstance(condition := condition.unnest(), exp.EQ):
            for part in (condition.left.unnest(), condition.right.unnest()):
                if isinstance(part, exp.Column) and len(part.parts) == 2:
                    sides[part.table] = part.name
        if len(sides) < 2 or sides[TARGET] in found:
            fail(
                on.text,
                on.start,
                "ON compares columns of the target with columns of the source, such as t.id = s.id AND t.dt = s.dt; "
                "put other conditions into the query of the source, or after WHEN MATCHED AND",
            )
        found[sides[TARGET]] = sides[SOURCE]
    return found


def _internal_names(columns: Sequence[str], pairs: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the source's columns in which the columns of ON are named as in the target."""
    renamed = {source: target for target, source in pairs.items()}
    return {
        name: renamed.get(name, f"__paimon_source_{at}" if name in pairs else name) for at, name in enumerate(columns)
    }


def _clause(
    table: Table, clause: MergeClause, scope: Scope, internal: Mapping[str, str], on: Sequence[str], text: str
) -> Clause:
    condition = None if clause.condition is None else scope.expression(clause.condition)
    if clause.action == "delete":
        return Clause(clause.kind, clause.action, condition, {})
    if clause.values is not None:
        values = _values(table, clause.values, scope, text)
        return Clause(clause.kind, clause.action, condition, values)
    known = {name.casefold(): found for name, found in internal.items()}
    star: dict[str, Expression] = {}
    for name in table.schema.names:
        if clause.action == "update" and name in on:
            continue
        found = name if name in on else known.get(name.casefold())
        if found is None:
            fail(text, clause.at, f"the source has no column {name!r} for *: name the columns to set")
        star[name] = Expression(
            f"{SOURCE}.{quoted(found)}", exp.column(found), Query(text, clause.at, clause.at), source=frozenset([found])
        )
    return Clause(clause.kind, clause.action, condition, star)


def _values(table: Table, values: Mapping[str, Query], scope: Scope, text: str) -> dict[str, Expression]:
    found: dict[str, Expression] = {}
    for column, query in values.items():
        name = column_of(table.schema, column, text, query.start, table.name)
        if name in found:
            fail(text, query.start, f"column {name!r} is set twice")
        found[name] = scope.expression(query)
    return found


def _check(
    spark: SparkSession,
    table: Table,
    source: DataFrame | None,
    values: Mapping[str, Expression],
    condition: Expression | None,
) -> None:
    """Let Spark check the expressions; raises SqlError for unknown functions and for types that do not fit."""
    fields = [StructField(TARGET, spark_schema(table.schema.fields))]
    if source is not None:
        fields.append(StructField(SOURCE, source.schema))
    empty = spark.createDataFrame([], StructType(fields))
    for column, value in values.items():
        problem = assignment_problem(spark, _type_of(empty, value), table.schema.by_name[column])
        if problem:
            fail(value.query.text, value.query.start, f"the value {problem}")
    if condition is not None and not isinstance(kind := _type_of(empty, condition), BooleanType):
        fail(condition.query.text, condition.query.start, f"a condition is a boolean, not {kind.simpleString()}")


def _type_of(empty: DataFrame, value: Expression) -> DataType:
    try:
        return empty.select(F.expr(value.text)).schema[0].dataType
    except AnalysisException as error:
        problem = shown_error(error)
    return fail(value.query.text, value.query.start, problem)
