"""Row changes: calls ``update_spark``, ``delete_spark`` and ``merge_spark`` with the expressions of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from paimon_core.metadata.snapshot import Snapshot
from paimon_core.predicate import Predicate
from paimon_core.predicate.tree import Constant
from paimon_core.spark.row_changes.conditions import TARGET, Condition, is_rewritten
from paimon_core.spark.row_changes.delete_update import delete_spark, update_spark
from paimon_core.spark.row_changes.merge import merge_spark
from paimon_core.spark.sql.changes.expressions import Expression
from paimon_core.spark.sql.changes.new_values import NewValue
from paimon_core.spark.sql.pushdown import Columns, converted
from paimon_core.table.rows.merge_clauses import Delete, Insert, Update
from paimon_core.table.table import Table


@dataclass(frozen=True)
class Clause:
    """One WHEN clause: see ``statements.MergeClause``."""

    kind: str
    action: str
    condition: Expression | None
    values: tuple[NewValue, ...]
    columns: Mapping[str, Column] = field(default_factory=dict)
    """The values as columns of Spark, by column of the table."""


def update(
    spark: SparkSession, table: Table, columns: Mapping[str, Column], where: Expression | None
) -> Snapshot | None:
    """Set columns of the rows that match, as ``update_spark`` does."""
    return update_spark(spark, table, columns, _condition(table, where))


def delete(spark: SparkSession, table: Table, where: Expression | None) -> Snapshot | None:
    """Delete the rows that match, as ``delete_spark`` does."""
    return delete_spark(spark, table, _condition(table, where))


def merge(
    spark: SparkSession, table: Table, source: DataFrame, on: Sequence[str], clauses: Sequence[Clause]
) -> Snapshot | None:
    """Merge the rows of ``source`` into the table, as ``merge_spark`` does; ``on``: columns of table and source."""
    changes: dict[str, list[Update | Delete]] = {"matched": [], "not matched by source": []}
    inserts: list[Insert] = []
    for clause in clauses:
        where = None if clause.condition is None else _boolean(clause.condition)
        if clause.action == "insert":
            inserts.append(Insert(clause.columns, source_where=where))
        elif clause.action == "delete":
            changes[clause.kind].append(Delete(where=where))
        else:
            changes[clause.kind].append(Update(clause.columns, where=where))
    return merge_spark(
        spark,
        table,
        source,
        on,
        when_matched=changes["matched"] or None,
        when_not_matched=inserts or None,
        when_not_matched_by_source=changes["not matched by source"] or None,
    )


def _condition(table: Table, where: Expression | None) -> Condition:
    """Return the parts of a condition that are predicates, which also select files, and its text if others remain."""
    if where is None:
        return Condition(Constant(True))
    if is_rewritten(where.query.written):
        return Condition(None, _boolean(where))
    columns = Columns(table.schema.fields, TARGET, alone=False)
    parts = [_predicate(part, columns) for part in where.conjuncts()]
    known = [part for part in parts if part is not None]
    rest = None if len(known) == len(parts) else _boolean(where)
    return Condition(reduce(and_, known) if known else None, rest)


def _predicate(part: exp.Expr, columns: Columns) -> Predicate | None:
    if part.find(exp.Query) is not None:
        return None
    if isinstance(part, exp.Null):  # no row satisfies it
        return Constant(False)
    return Constant(bool(part.this)) if isinstance(part, exp.Boolean) else converted(part, columns)


def _boolean(where: Expression) -> Column:
    """Return a condition, whose type in Spark may be that of NULL, as a boolean."""
    return F.expr(where.text).cast("boolean")
