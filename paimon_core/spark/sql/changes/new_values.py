"""New values: the columns and fields of structs that UPDATE and MERGE set, as columns of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from paimon_core.spark.columns import quoted
from paimon_core.spark.row_changes.conditions import TARGET
from paimon_core.spark.sql.assignment import assigned, assignment_problem, wanted_type
from paimon_core.spark.sql.changes.expressions import Expression, Scope
from paimon_core.spark.sql.grammar.cursor import fail
from paimon_core.spark.sql.grammar.statements import Assignment, Query
from paimon_core.spark.sql.names import column_of, similar
from paimon_core.spark.sql.queries import shown_error
from paimon_core.table.table import Table


@dataclass(frozen=True)
class NewValue:
    """A column, or with ``fields`` a field of its struct, and its new value."""

    column: str
    fields: tuple[str, ...]
    value: Expression


def new_values(
    table: Table,
    assignments: Sequence[Assignment],
    scope: Scope,
    text: str,
    read: Callable[[Query], Expression],
    *,
    with_fields: bool = True,
) -> tuple[NewValue, ...]:
    """Find the columns and fields that are set; ``read`` returns the expression of a value.

    ``with_fields``: whether fields of structs can be set, as in rows that exist. Raises SqlError for unknown names, for
    a value that is set twice, and for a field of a column that is not a STRUCT.
    """
    found: list[NewValue] = []
    for one in assignments:
        column, fields = _place(table, one, scope, text)
        name = ".".join((column, *fields))
        if fields and not with_fields:
            fail(text, one.at, f"{name} cannot be set in a new row: set the column {column}")
        for other in found:
            if other.column == column and all(a == b for a, b in zip(other.fields, fields, strict=False)):
                fail(text, one.at, f"column {name!r} is set twice")
        found.append(NewValue(column, fields, read(one.value)))
    return tuple(found)


def _place(table: Table, one: Assignment, scope: Scope, text: str) -> tuple[str, tuple[str, ...]]:
    """Return the column that a path names, and the fields after it."""
    lower = tuple(part.casefold() for part in one.path)
    qualified = (len(q) for q in scope.target_names if len(lower) > len(q) and lower[: len(q)] == q)
    path = one.path[next(qualified, 0) :]
    column = column_of(table.schema, path[0], text, one.at, table.name)
    kind = wanted_type(table.schema.by_name[column])
    fields: list[str] = []
    for part in path[1:]:
        owner = ".".join((column, *fields))
        if not isinstance(kind, T.StructType):
            fail(text, one.at, f"{'.'.join(one.path)} cannot be set: {owner} is {kind.simpleString()}, not a STRUCT")
        same = [name for name in kind.names if name.casefold() == part.casefold()]
        name = part if part in kind.names else same[0] if len(same) == 1 else None
        if name is None:
            fail(text, one.at, f"column {owner} has no field {part!r}{similar(part, kind.names, 'fields')}")
        fields.append(name)
        kind = kind[name].dataType
    return column, tuple(fields)


def columns_of(table: Table, values: Sequence[NewValue], empty: DataFrame) -> dict[str, Column]:
    """Return the new values by column; raises SqlError for a value whose type does not fit.

    ``empty`` has the columns that expressions can use. A struct of which fields are set keeps its other fields; it is
    not null any more, as in Spark.
    """
    parts: dict[str, dict[tuple[str, ...], Column]] = {}
    for new in values:
        field, query = table.schema.by_name[new.column], new.value.query
        given = type_of(empty, new.value)
        problem = assignment_problem(empty.sparkSession, given, field, new.fields, matching="name")
        if problem:
            fail(query.text, query.start, f"the value {problem}")
        value = F.lit(None) if isinstance(given, T.NullType) else F.expr(new.value.text)
        value = assigned(value, given, wanted_type(field, new.fields), "name")
        parts.setdefault(new.column, {})[new.fields] = value
    return {column: _whole(table, column, found) for column, found in parts.items()}


def _whole(table: Table, column: str, parts: Mapping[tuple[str, ...], Column]) -> Column:
    if () in parts:
        return parts[()]
    return _struct(F.col(f"{TARGET}.{quoted(column)}"), wanted_type(table.schema.by_name[column]), parts)


def _struct(old: Column, kind: T.DataType, parts: Mapping[tuple[str, ...], Column]) -> Column:
    """Return a struct with the fields of ``old`` and the new values ``parts``."""
    assert isinstance(kind, T.StructType)

    def fields() -> Iterator[Column]:
        for field in kind.fields:
            own = {path[1:]: value for path, value in parts.items() if path[0] == field.name}
            value = old.getField(field.name)
            if own:
                value = own[()] if () in own else _struct(value, field.dataType, own)
            yield value.alias(field.name)

    return F.struct(*fields())


def type_of(empty: DataFrame, value: Expression) -> T.DataType:
    """Return the type of an expression; raises SqlError for an expression that Spark refuses."""
    try:
        return empty.select(F.expr(value.text)).schema[0].dataType
    except AnalysisException as error:
        problem = shown_error(error)
    return fail(value.query.text, value.query.start, problem)


def typed_nulls(source: DataFrame, table: Table) -> DataFrame:
    """Return the source of a merge with a type for each value such as ``NULL`` or an element of ``array()``.

    Tasks cannot send such columns to Python. The type is that of the table's column of the same name, else STRING.
    """
    own = {field.name.casefold(): wanted_type(field) for field in table.schema.fields}
    types = {f.name: _with_types(f.dataType, own.get(f.name.casefold())) for f in source.schema.fields}
    new = {f.name: types[f.name] for f in source.schema.fields if types[f.name] != f.dataType}
    return source.withColumns({n: F.col(quoted(n)).cast(kind) for n, kind in new.items()}) if new else source


def _with_types(given: T.DataType, wanted: T.DataType | None) -> T.DataType:
    """Return a type in which no part is unknown; ``wanted`` has the types of the unknown parts."""
    match given:
        case T.NullType():
            return wanted or T.StringType()
        case T.ArrayType():
            element = wanted.elementType if isinstance(wanted, T.ArrayType) else None
            return T.ArrayType(_with_types(given.elementType, element), given.containsNull)
        case T.MapType():
            key, value = (wanted.keyType, wanted.valueType) if isinstance(wanted, T.MapType) else (None, None)
            return T.MapType(_with_types(given.keyType, key), _with_types(given.valueType, value))
        case T.StructType():
            known = {f.name: f.dataType for f in wanted.fields} if isinstance(wanted, T.StructType) else {}
            return T.StructType([T.StructField(f.name, _with_types(f.dataType, known.get(f.name))) for f in given])
    return given
