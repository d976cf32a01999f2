"""Row changes: the functions that UPDATE, DELETE and MERGE call, on the driver; this module is the only place to know.

Values are computed by Spark on the rows that change, part by part. Conditions on columns of the table must be
comparisons with literals, which files can be chosen by. ``Table.update``, ``delete`` and ``merge`` state what is
promised when others commit in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate, col
from paimon_core.predicate.tree import Constant
from paimon_core.spark.sql.expressions import SOURCE, TARGET, Expression
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.parts import quoted
from paimon_core.spark.sql.pushdown import Columns, converted
from paimon_core.spark.types import arrow_schema, spark_schema, to_spark
from paimon_core.table.rows.merge_clauses import Delete, Insert, Update
from paimon_core.table.table import Table

_VALUE, _CONDITION = "__paimon_value_", "__paimon_condition_"
Values = Mapping[str, Expression]


@dataclass(frozen=True)
class Clause:
    """One WHEN clause: see ``statements.MergeClause``."""

    kind: str
    action: str
    condition: Expression | None
    values: Values


def update(spark: SparkSession, table: Table, values: Values, where: Expression | None) -> Snapshot | None:
    """Set columns of the rows that match, as ``Table.update`` does."""
    return table.update(_predicate(table, where), {c: _computed(spark, table, c, e) for c, e in values.items()})


def delete(spark: SparkSession, table: Table, where: Expression | None) -> Snapshot | None:
    """Delete the rows that match, as ``Table.delete`` does."""
    return table.delete(_predicate(table, where))


def merge(
    spark: SparkSession, table: Table, source: DataFrame, on: Sequence[str], clauses: Sequence[Clause]
) -> Snapshot | None:
    """Merge the rows of ``source`` into the table, as ``Table.merge`` does; the source is held in memory.

    ``on``: columns that the table and the source have. Expressions that read only the source are computed by Spark as
    further columns of the source.
    """
    added: dict[str, Any] = {}
    found: dict[str, list[Any]] = {"matched": [], "not matched": [], "not matched by source": []}
    for clause in clauses:
        conditions = _conditions(table, clause, added)
        values = {c: _value(spark, table, c, e, added) for c, e in clause.values.items()}
        if clause.action == "insert":
            found[clause.kind].append(Insert(values, conditions["source_where"]))
        elif clause.action == "delete":
            found[clause.kind].append(Delete(**conditions))
        else:
            read = {name for e in clause.values.values() if e.target for name in e.source} - set(table.schema.names)
            conditions["source_where"] = _reading(conditions["source_where"], read)
            found[clause.kind].append(Update(values, **conditions))
    whole = source.select(F.struct(*[F.col(quoted(c)) for c in source.columns]).alias(SOURCE))
    needed = {*on, *(name for clause in clauses for e in clause.values.values() if e.target for name in e.source)}
    kept = [F.col(f"{SOURCE}.{quoted(c)}").alias(c) for c in source.columns if c in needed]
    data = whole.select(*kept, *(value.alias(name) for name, value in added.items())).toArrow()
    return table.merge(
        data,
        on,
        when_matched=found["matched"] or None,
        when_not_matched=found["not matched"] or None,
        when_not_matched_by_source=found["not matched by source"] or None,
    )


def _predicate(table: Table, where: Expression | None) -> Predicate:
    """Return a condition on columns of the table as a predicate; raises SqlError if it is not one."""
    if where is None:
        return Constant(True)
    columns = Columns(table.schema.fields, TARGET, alone=False)
    parts = []
    for condition in where.conjuncts():
        is_constant = isinstance(condition, exp.Boolean)
        part = Constant(bool(condition.this)) if is_constant else converted(condition, columns)
        if part is None:
            fail(
                where.query.text,
                where.query.start,
                f"the condition {condition.sql('spark')} is not supported here: compare columns of the table with "
                "literals of their types, or select the rows in the source of a MERGE INTO",
            )
        parts.append(part)
    return reduce(and_, parts)


def _conditions(table: Table, clause: Clause, added: dict[str, Any]) -> dict[str, Predicate | None]:
    """Return the arguments ``where`` and ``source_where`` for the condition of a clause."""
    condition = clause.condition
    if condition is None:
        return {"where": None, "source_where": None} if clause.action != "insert" else {"source_where": None}
    if not condition.target:
        name = f"{_CONDITION}{len(added)}"
        added[name] = F.coalesce(F.expr(condition.text), F.lit(False))
        test = col(name) == True  # noqa: E712
        return {"source_where": test} if clause.action == "insert" else {"where": None, "source_where": test}
    if condition.source:
        fail(
            condition.query.text,
            condition.query.start,
            "a condition that compares the target with the source is not supported: use one of both in each WHEN, or "
            "compute it in the source with a join",
        )
    return {"where": _predicate(table, condition), "source_where": None}


def _reading(where: Predicate | None, columns: set[str]) -> Predicate | None:
    """Return a condition that also reads ``columns``: a merge refuses columns of the source that no clause names."""
    tests = [col(name).is_null() | col(name).is_not_null() for name in sorted(columns)]
    return reduce(and_, tests if where is None else [where, *tests]) if tests else where


def _value(spark: SparkSession, table: Table, column: str, value: Expression, added: dict[str, Any]) -> Any:
    """Return the value of a clause: a column that is added to the source, or a function of the rows."""
    if value.target:
        return _computed(spark, table, column, value)
    name = f"{_VALUE}{len(added)}"
    added[name] = F.expr(value.text).cast(spark_schema([table.schema.by_name[column]])[0].dataType)
    return col(name)


def _computed(spark: SparkSession, table: Table, column: str, value: Expression) -> Callable[..., pa.ChunkedArray]:
    """Return a function of old rows (and source rows) that computes the new values of a column in Spark."""
    kind = spark_schema([table.schema.by_name[column]])[0].dataType

    def compute(rows: pa.Table, source: pa.Table | None = None) -> pa.ChunkedArray:
        fields = table.schema.select(sorted(value.target))
        columns = {"row": pa.array(range(len(rows)), pa.int64())}
        if fields:
            columns[TARGET] = _struct(to_spark(rows.select([f.name for f in fields]), arrow_schema(fields)))
        if source is not None and value.source:
            columns[SOURCE] = _struct(_decoded(source.select(sorted(value.source))))
        frame = spark.createDataFrame(pa.table(columns))
        found = frame.select("row", F.expr(value.text).cast(kind).alias("value")).toArrow()
        return found.sort_by("row")["value"]

    return compute


def _struct(rows: pa.Table) -> pa.StructArray:
    rows = rows.combine_chunks()
    arrays = [c.chunk(0) if c.num_chunks else pa.array([], c.type) for c in rows.columns]
    return pa.StructArray.from_arrays(arrays, fields=list(rows.schema))


def _decoded(rows: pa.Table) -> pa.Table:
    """Return the rows with texts instead of dictionaries."""
    fields = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in rows.schema]
    return rows.cast(pa.schema(fields))
