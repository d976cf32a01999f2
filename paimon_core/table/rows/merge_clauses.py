"""Merge clauses: the actions of ``Table.merge`` for rows that match, and for rows that do not match.

Each clause may have conditions: ``where`` is on columns of the table, ``source_where`` on columns of the source. For
each row, the first clause of a list applies whose conditions are true. ``merge_spark`` also takes texts and columns of
Spark as conditions and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from paimon_core.deferred import deferred
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.metadata.context import TableContext
from paimon_core.predicate import Arithmetic, Column, parse_where
from paimon_core.predicate.expression import OfTables
from paimon_core.schema import DataField

if TYPE_CHECKING:
    from paimon_core.table.rows.row_changes import assigned, check_assigned, check_references
else:
    assigned = deferred("paimon_core.table.rows.row_changes", "assigned")
    check_assigned = deferred("paimon_core.table.rows.row_changes", "check_assigned")
    check_references = deferred("paimon_core.table.rows.row_changes", "check_references")

Values = Mapping[str, Any]
"""New values by column: ``col(name)`` is a column of the source and ``target(name)`` one of the table, also in
expressions such as ``target("n") + col("n")``; functions return columns, other values are literals."""


@dataclass(frozen=True)
class Update:
    """Set columns of a matching row; ``set`` None sets all columns of the source except the columns ``on``.

    A function in ``set`` gets two Arrow tables: the old rows and, in the same order, the source rows that match them.
    In ``when_not_matched_by_source`` the function gets the old rows only.
    """

    set: Values | None = None
    where: Any = None
    source_where: Any = None


@dataclass(frozen=True)
class Delete:
    """Delete the row."""

    where: Any = None
    source_where: Any = None


@dataclass(frozen=True)
class Insert:
    """Add a row; ``values`` None takes all columns of the source. Columns without value get their default, or null.

    A function in ``values`` gets the rows of the source as an Arrow table.
    """

    values: Values | None = None
    source_where: Any = None


Clause = TypeVar("Clause", bound=Update | Delete | Insert)


@dataclass(frozen=True)
class Clauses:
    """The clauses of one merge."""

    matched: tuple[Update | Delete, ...]
    not_matched: tuple[Insert, ...]
    not_matched_by_source: tuple[Update | Delete, ...]

    @property
    def changes(self) -> tuple[Update | Delete, ...]:
        """The clauses that change rows of the table: first ``matched``, then ``not_matched_by_source``."""
        return self.matched + self.not_matched_by_source

    @property
    def updates_all(self) -> bool:
        """Whether matching rows get all columns of their row of the source, and none is deleted."""
        updates = [isinstance(clause, Update) for clause in self.matched]
        return all(updates) and any(isinstance(c, Update) and c.set is None for c in self.matched)

    @property
    def source_columns(self) -> frozenset[str]:
        """The source columns that the values and conditions of the clauses use."""
        named = {
            one.name
            for values in self._values()
            for value in values.values()
            if isinstance(value, Arithmetic)
            for one in value.references()
            if not one.is_target
        }
        return frozenset(named) | self.condition_columns

    @property
    def condition_columns(self) -> frozenset[str]:
        """The columns of the source that conditions use."""
        conditions = [c.source_where for c in (*self.changes, *self.not_matched)]
        return frozenset().union(*(c.columns for c in conditions if c is not None))

    def _values(self) -> Iterator[Values]:
        for clause in (*self.changes, *self.not_matched):
            values = values_of(clause)
            if values is not None:
                yield values

    def check(
        self, context: TableContext, source: Sequence[str], fields: Sequence[DataField], on: Sequence[str]
    ) -> None:
        """Raise InvalidRequest or SchemaMismatch, which name the column, when a clause does not fit the table.

        ``source``: the columns of the source; ``fields``: the columns that conditions may use.
        """
        for condition in (c.source_where for c in (*self.changes, *self.not_matched)):
            if condition is not None:
                condition.bind(fields)
        for clause in self.changes:
            if clause.where is not None:
                clause.where.bind(context.schema.fields)
            if isinstance(clause, Update):
                values = set_of(clause, context, source, on)
                if clause.set is None and not values:
                    raise InvalidRequest(
                        "the source has only the columns on, so an Update would set nothing: pass when_matched=None"
                    )
                check_assigned(context, values)
        for values in self._values():
            _check_values(context, values, source)
        for insert in self.not_matched:
            for value in (insert.values or {}).values():
                if isinstance(value, Arithmetic) and any(one.is_target for one in value.references()):
                    raise InvalidRequest(f"an Insert has no row of the table for {value!r:.80}")
        for clause in self.not_matched_by_source:
            if isinstance(clause, Update) and (clause.set is None or any(map(_is_source, clause.set.values()))):
                raise InvalidRequest("an Update of rows that are not matched by the source cannot set source columns")
            if clause.source_where is not None:
                raise InvalidRequest("rows that are not matched by the source have no columns for source_where")


def clauses_of(context: TableContext, matched: Any, not_matched: Any, not_matched_by_source: Any) -> Clauses:
    """Return the clauses of the arguments of ``Table.merge``; raises InvalidRequest for values of another type."""
    fields = context.schema.fields
    return Clauses(
        _checked(fields, "when_matched", matched, (Update, Delete)),
        _checked(fields, "when_not_matched", not_matched, (Insert,)),
        _checked(fields, "when_not_matched_by_source", not_matched_by_source, (Update, Delete)),
    )


def values_of(clause: Update | Delete | Insert) -> Values | None:
    """Return the values that a clause sets; None for a delete, and when the clause takes all columns of the source."""
    return None if isinstance(clause, Delete) else clause.set if isinstance(clause, Update) else clause.values


def set_of(clause: Update, context: TableContext, source: Sequence[str], on: Sequence[str]) -> Values:
    """Return the values by column that an update sets; without ``set``, the columns of the source except ``on``."""
    if clause.set is not None:
        return clause.set
    return {name: Column(name) for name in context.schema.names if name in source and name not in on}


def as_functions(values: Values, *tables: pa.Table) -> dict[str, Any]:
    """Return ``values`` in the form that ``assigned`` takes, where a function has one argument.

    Columns and expressions keep ``tables``: the last one is the source. A function becomes a function that calls it
    with ``tables``. The new functions ignore their argument.
    """
    return {column: _function(value, tables) for column, value in values.items()}


def _function(value: Any, tables: tuple[pa.Table, ...]) -> Any:
    if isinstance(value, Arithmetic):
        return OfTables(value, tables)
    if callable(value):
        compute: Callable[..., Any] = value
        return lambda _: compute(*tables)
    return value


def _is_source(value: object) -> bool:
    return isinstance(value, Arithmetic) and any(not one.is_target for one in value.references())


def _checked(fields: Sequence[DataField], name: str, value: Any, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    clauses = () if value is None else (value,) if isinstance(value, Update | Delete | Insert) else value
    if not isinstance(clauses, list | tuple) or any(not isinstance(c, kinds) for c in clauses):
        allowed = " or ".join(k.__name__ for k in kinds)
        raise InvalidRequest(f"{name} takes {allowed} values, not {value!r:.80}")
    found = []
    for clause in clauses:
        conditions = {"source_where": parse_where(clause.source_where)}
        if not isinstance(clause, Insert):
            conditions["where"] = parse_where(clause.where, fields)
        found.append(replace(clause, **conditions))
        values = values_of(clause)
        if values is not None and (not isinstance(values, Mapping) or not values):
            raise InvalidRequest(f"{name}: an {type(clause).__name__} takes columns with values, not {values!r:.60}")
    return tuple(found)


def _check_values(context: TableContext, values: Values, source: Sequence[str]) -> None:
    check_names = {c: v for c, v in values.items() if c not in context.schema.by_name}
    for column in check_names:
        raise SchemaMismatch(f"table {context.name} has no column {column!r:.80} to set", column=column)
    check_references(values, source, "the source")
    check_references(values, context.schema.by_name, f"table {context.name}", targets=True)
    literals = {c: v for c, v in values.items() if not callable(v)}
    assigned(pa.schema([f.arrow for f in context.schema.fields]).empty_table(), literals)
