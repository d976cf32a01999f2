"""Merge clauses for Spark: the clauses of a merge, checked by the rules of ``Table.merge``, with parts for Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.predicate import Predicate
from paimon_core.schema import DataField
from paimon_core.spark.row_changes.conditions import Condition
from paimon_core.spark.row_changes.expressions import SOURCE, checked_values, refuse_functions
from paimon_core.spark.row_changes.merge_source import check_names, fields_of
from paimon_core.table.rows.merge import check_by_key
from paimon_core.table.rows.merge_clauses import Clauses, Delete, Insert, Update, clauses_of, set_of, values_of
from paimon_core.table.rows.merge_source import columns_on

Given = Update | Delete | Insert


@dataclass(frozen=True)
class SparkClause:
    """One clause; the number of a clause is its position among all clauses of the merge."""

    number: int
    kind: type[Given]
    where: Condition
    source_where: Condition
    values: Mapping[str, Any]
    """The new values by column; empty for a Delete."""

    @property
    def flag(self) -> str:
        """The name of the column with the result of the predicate on the target."""
        return f"__paimon_if_{self.number}"

    @property
    def source_flag(self) -> str:
        """The name of the column with the result of the predicate on the source."""
        return f"__paimon_source_if_{self.number}"


@dataclass(frozen=True)
class SparkClauses:
    """The clauses of one merge into a table of one schema."""

    given: tuple[Any, Any, Any]
    source: DataFrame
    context: TableContext
    on: tuple[str, ...]
    fields: tuple[DataField, ...]
    """The columns of the source."""
    checked: Clauses
    clauses: tuple[SparkClause, ...]
    """All clauses: matched, not matched by source, not matched."""

    @staticmethod
    def of(
        context: TableContext, source: DataFrame, on: Any, matched: Any, not_matched: Any, by_source: Any
    ) -> SparkClauses:
        """Check the clauses; raises InvalidRequest and SchemaMismatch as ``Table.merge`` does."""
        on = columns_on(context, on)
        check_names(source, on)
        fields = fields_of(source, context)
        groups = [_listed(group) for group in (matched, by_source, not_matched)]
        plain = [[_plain(clause) for clause in group] if isinstance(group, list) else group for group in groups]
        checked = clauses_of(context, plain[0], plain[2], plain[1])
        if context.is_keyed:
            check_by_key(context, checked, on)
        own = [c for group in groups for c in group]
        used = {*context.schema.names, *checked.source_columns, *_in_columns(own, fields)}
        for name in source.columns:
            if name not in used:
                raise InvalidRequest(
                    f"table {context.name} has no column {name!r}, which the source has and no clause names: leave it "
                    "out of the source",
                    column=name,
                )
        checked.check(context, source.columns, fields, on)
        if has_column_source(context):
            _refuse_ambiguous(context, own)
        clauses = tuple(_clause(n, one, context, source.columns, fields, on) for n, one in enumerate(own))
        given = (matched, not_matched, by_source)
        return SparkClauses(given, source, context, tuple(on), fields, checked, clauses)

    def again(self, context: TableContext) -> SparkClauses:
        """Return the clauses for a table that was altered; raises the errors of ``of``."""
        return SparkClauses.of(context, self.source, self.on, *self.given)

    @property
    def struct(self) -> str:
        """The name of the column with the row of the source, in the rows of the join."""
        return f"__paimon_{SOURCE}" if has_column_source(self.context) else SOURCE

    @property
    def known(self) -> list[str]:
        """The columns of the source that the table has as well."""
        return [f.name for f in self.fields if f.name in self.context.schema.by_name]

    @property
    def flags(self) -> dict[str, Predicate]:
        """The predicates on the target that this library evaluates."""
        return {c.flag: c.where.predicate for c in self.clauses if c.where.predicate is not None}

    @property
    def source_flags(self) -> dict[str, Predicate]:
        """The predicates on the source that this library evaluates."""
        return {c.source_flag: c.source_where.predicate for c in self.clauses if c.source_where.predicate is not None}


def _listed(group: Any) -> Any:
    """Return one clause or several as a list, and any other value unchanged, so that the library's check refuses it."""
    if group is None or isinstance(group, Given):
        return [] if group is None else [group]
    return list(group) if isinstance(group, list | tuple) else group


def _plain(clause: Any) -> Any:
    """Return a clause without the members that only Spark can evaluate."""
    if isinstance(clause, Delete):
        return Delete(_predicate(clause.where), _predicate(clause.source_where))
    if isinstance(clause, Insert):
        return Insert(checked_values(clause.values), _predicate(clause.source_where))
    if isinstance(clause, Update):
        return Update(checked_values(clause.set), _predicate(clause.where), _predicate(clause.source_where))
    return clause


def _predicate(where: Any) -> Any:
    return None if isinstance(where, str | Column) else where


def _in_columns(clauses: Sequence[Any], fields: Sequence[DataField]) -> frozenset[str]:
    """Return all columns of the source if a clause has an expression of Spark: only Spark knows which it uses."""
    spark = any(
        isinstance(value, Column | str) for c in clauses for value in (getattr(c, "where", None), c.source_where)
    ) or any(isinstance(v, Column) for c in clauses for v in (values_of(c) or {}).values())
    return frozenset(f.name for f in fields) if spark else frozenset()


def has_column_source(context: TableContext) -> bool:
    """Whether the table has a column of the name by which expressions of Spark name the source."""
    return any(name.lower() == SOURCE for name in context.schema.names)


def _refuse_ambiguous(context: TableContext, clauses: Sequence[Any]) -> None:
    """Raise InvalidRequest for expressions of Spark on a table that has a column with the name of the source."""
    if _in_columns(clauses, context.schema.fields):
        raise InvalidRequest(
            f"table {context.name} has a column {SOURCE!r}, so that {SOURCE}.x in an expression of Spark is ambiguous: "
            "use predicates and col(name)",
            table=context.name,
        )


def _clause(
    number: int,
    clause: Given,
    context: TableContext,
    source: Sequence[str],
    fields: Sequence[DataField],
    on: Sequence[str],
) -> SparkClause:
    values: Mapping[str, Any] = {}
    if isinstance(clause, Update):
        values = set_of(clause, context, source, on)
    elif isinstance(clause, Insert):
        values = clause.values or set_of(Update(), context, source, ())
    refuse_functions(values, "merge_spark")
    where = Condition() if isinstance(clause, Insert) else Condition.of(clause.where, context.schema.fields)
    return SparkClause(number, type(clause), where, _source_condition(clause.source_where, fields), values)


def _source_condition(where: Any, fields: Sequence[DataField]) -> Condition:
    """Return the condition on the source; a text is evaluated by Spark."""
    if isinstance(where, str):
        return Condition(column=F.expr(where))
    return Condition.of(where, fields)
