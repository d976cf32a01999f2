"""Changing: runs UPDATE, DELETE and MERGE INTO.

It finds the columns that the expressions name, checks the types, and calls ``row_changes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import BooleanType, NullType, StructField, StructType
from sqlglot import exp

from paimon_core.errors import CommitConflict
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.spark.columns import quoted
from paimon_core.spark.row_changes.conditions import TARGET
from paimon_core.spark.row_changes.expressions import SOURCE
from paimon_core.spark.sql.changes import row_changes
from paimon_core.spark.sql.changes.expressions import Expression, Scope
from paimon_core.spark.sql.changes.new_values import NewValue, columns_of, new_values, type_of, typed_nulls
from paimon_core.spark.sql.changes.read_once import read_once
from paimon_core.spark.sql.changes.row_changes import Clause
from paimon_core.spark.sql.changes.subqueries import subqueries
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.parts import refuse_doubled
from paimon_core.spark.sql.grammar.statements import Delete, Merge, MergeClause, Query, TableName, Update
from paimon_core.spark.sql.names import Names
from paimon_core.spark.sql.queries import frame
from paimon_core.spark.sql.writing import errors_of_writes
from paimon_core.spark.types import spark_schema
from paimon_core.table.table import Table


def update(spark: SparkSession, names: Names, statement: Update, text: str) -> Snapshot | None:
    """Set columns of the rows that match, in one commit; subqueries: see ``delete``."""
    table = names.table(statement.table, text)
    scope = Scope(table.schema.names, _qualifiers(names, statement.table, statement.alias, text))
    with _reading(spark, names) as read:
        where = None if statement.where is None else read(scope, statement.where)
        values = new_values(table, statement.values, scope, text, partial(read, scope))
        columns = _checked(spark, table, None, values, where)
        return _run(
            names, table, text, statement.table.start, lambda table: row_changes.update(spark, table, columns, where)
        )


def delete(spark: SparkSession, names: Names, statement: Delete, text: str) -> Snapshot | None:
    """Delete the rows that match, in one commit.

    Subqueries read the snapshots that are the latest at the time of the call. If one reads the target table
    too, the deletion is not repeated after a conflict, as with ``merge``.
    """
    table = names.table(statement.table, text)
    scope = Scope(table.schema.names, _qualifiers(names, statement.table, statement.alias, text))
    with _reading(spark, names) as read:
        where = None if statement.where is None else read(scope, statement.where)
        _checked(spark, table, None, (), where)
        return _run(names, table, text, statement.table.start, lambda table: row_changes.delete(spark, table, where))


@contextmanager
def _reading(spark: SparkSession, names: Names) -> Iterator[Callable[[Scope, Query], Expression]]:
    """Yield a function that reads an expression; the tables of its subqueries are views in the block."""
    with ExitStack() as views:
        yield lambda scope, query: scope.expression(query, views.enter_context(subqueries(spark, names, query)))


def _run(names: Names, table: Table, text: str, at: int, change: Callable[[Table], Snapshot | None]) -> Snapshot | None:
    """Run a change; if the statement has also read the table, do not repeat the change after a conflict."""
    view = names.seen(table.name)
    with errors_of_writes(table, text, at):
        if view is None:
            return change(table)
        try:
            return change(read_once(table, view.pinned))
        except CommitConflict as error:
            problem = f"table {table.name}, which a query of the statement reads, was changed in the meantime"
            raise CommitConflict(f"{problem}: run the statement again ({error.message})", **error.facts) from error


def merge(spark: SparkSession, names: Names, statement: Merge, text: str) -> Snapshot | None:
    """Merge a table, view or query into a table, in one commit.

    If the source or a subquery also reads the target table, all are read at the snapshot that is the latest at the time
    of the call. In this case the merge is not repeated after a conflict: CommitConflict is raised, and the statement
    must run again.
    """
    table = names.table(statement.table, text)
    rows = frame(spark, names, statement.source, relation=True)
    refuse_doubled(rows.columns, text, statement.source.start, "the source")
    targets = _qualifiers(names, statement.table, statement.alias, text)
    sources = _source_qualifiers(statement)
    pairs = _pairs(Scope(table.schema.names, targets, {c: c for c in rows.columns}, sources), statement.on)
    internal = internal_names(rows.columns, pairs)
    both = Scope(table.schema.names, targets, internal, sources)
    only_source = Scope(
        table.schema.names, targets, internal, sources, "a row that is not matched has no columns of the target"
    )
    only_target = Scope(table.schema.names, targets)
    scopes = {"matched": both, "not matched": only_source, "not matched by source": only_target}
    source = rows.toDF(*internal.values())
    on = list(pairs)
    with _reading(spark, names) as read:
        clauses = [
            _clause(table, c, scopes[c.kind], partial(read, scopes[c.kind]), internal, on, text)
            for c in statement.clauses
        ]
        clauses = [replace(c, columns=_checked(spark, table, source, c.values, c.condition)) for c in clauses]
        source = typed_nulls(source, table)
        used = _source_columns(clauses)
        source = source.select(*(quoted(name) for name in source.columns if name in pairs or name in used))
        return _run(
            names,
            table,
            text,
            statement.table.start,
            lambda table: row_changes.merge(spark, table, source, on, clauses),
        )


def _source_columns(clauses: Sequence[Clause]) -> frozenset[str]:
    """Return the columns of the source that expressions read."""
    read = [e.source for c in clauses for e in (*(v.value for v in c.values), c.condition) if e is not None]
    return frozenset[str]().union(*read)


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


def internal_names(columns: Sequence[str], pairs: Mapping[str, str]) -> dict[str, str]:
    """Return a new name for each column of the source: a column of ON gets the name of the target's column.

    ``pairs``: the columns of the source by the columns of the target that ON compares. A column that is not in ON but
    has the name of a column of ON, in any case of letters, gets another name. All others keep their names.
    """
    renamed = {source: target for target, source in pairs.items()}
    taken = {name.casefold() for name in pairs}
    return {
        name: renamed.get(name, f"__paimon_source_{at}" if name.casefold() in taken else name)
        for at, name in enumerate(columns)
    }


def _clause(
    table: Table,
    clause: MergeClause,
    scope: Scope,
    read: Callable[[Query], Expression],
    internal: Mapping[str, str],
    on: Sequence[str],
    text: str,
) -> Clause:
    condition = None if clause.condition is None else read(clause.condition)
    if clause.action == "delete":
        return Clause(clause.kind, clause.action, condition, ())
    if clause.values is not None:
        values = new_values(table, clause.values, scope, text, read, with_fields=clause.action == "update")
        return Clause(clause.kind, clause.action, condition, values)
    known = {name.casefold(): found for name, found in internal.items()}
    star: list[NewValue] = []
    for name in table.schema.names:
        found = known.get(name.casefold())
        if found is None:
            fail(text, clause.at, f"the source has no column {name!r} for *: name the columns to set")
        if clause.action == "update" and name in on and found == name:  # ON compares the columns, so they are equal
            continue
        query = Query(text, clause.at, clause.at)
        value = Expression(f"{SOURCE}.{quoted(found)}", exp.column(found), query, source=frozenset([found]))
        star.append(NewValue(name, (), value))
    return Clause(clause.kind, clause.action, condition, tuple(star))


def _checked(
    spark: SparkSession,
    table: Table,
    source: DataFrame | None,
    values: Sequence[NewValue],
    condition: Expression | None,
) -> dict[str, Column]:
    """Return the new values by column; raises SqlError for unknown functions and for types that do not fit."""
    own = spark_schema(table.schema.fields)
    if source is None:  # as the rows of an update or a deletion, for columns in subqueries
        empty = spark.createDataFrame([], own).alias(TARGET)
    else:
        empty = spark.createDataFrame([], StructType([StructField(TARGET, own), StructField(SOURCE, source.schema)]))
    columns = columns_of(table, values, empty)
    if condition is not None and not isinstance(kind := type_of(empty, condition), BooleanType | NullType):
        fail(condition.query.text, condition.query.start, f"a condition is a boolean, not {kind.simpleString()}")
    return columns
