"""Expressions: the new values of columns as columns of Spark, and the columns of the table that expressions use."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, NullType, NumericType, StringType

from paimon_core.errors import InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.predicate import Arithmetic, Expression, Reference
from paimon_core.schema import DataField
from paimon_core.spark.columns import literal, quoted
from paimon_core.spark.types import spark_schema
from paimon_core.table.rows.row_changes import assigned
from paimon_core.types import TIMESTAMP_ROOTS, TypeRoot

SOURCE = "source"
_OPERATORS: Mapping[str, Callable[[Column, Column], Column]] = MappingProxyType(
    {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
)
_PLAIN = (bool, int, float, str, bytes, Decimal, datetime.date)


def checked_values(values: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the values in a form that the checks of the library accept: functions in place of columns of Spark."""
    if not isinstance(values, Mapping):
        return values
    return {name: _computed if isinstance(value, Column) else value for name, value in values.items()}


def _computed(*tables: pa.Table) -> Any:
    raise AssertionError("Spark computes this column")


def named_targets(values: Mapping[str, Any], *, with_source: bool) -> set[str]:
    """Return the columns of the table that columns and expressions of this library use.

    ``with_source``: then ``col`` is a column of the source, otherwise it is one of the table.
    """
    found = (one for value in values.values() if isinstance(value, Arithmetic) for one in value.references())
    return {one.name for one in found if one.is_target or not with_source}


def refuse_functions(values: Mapping[str, Any] | None, what: str) -> None:
    """Raise UnsupportedFeature for a function among the values of columns that Spark computes."""
    for name, value in (values or {}).items():
        if not isinstance(value, Column | Arithmetic) and callable(value):
            raise UnsupportedFeature(
                f"{what} cannot set column {name!r} to the function {value!r:.60}: Spark computes the rows: pass a "
                "Column of Spark, col(name), an expression or a literal",
                column=name,
            )


def value_column(value: Any, field: DataField, rows: DataFrame, source: str = SOURCE) -> Column:
    """Return a value as a column of the type of ``field``, for ``rows``.

    ``source``: the name of the struct with the source row, "" without a source.

    An expression of another type is converted as Spark's INSERT does (ANSI): a number to another type of number, with
    an error for an overflow, and any value that is not nested to a text. Raises SchemaMismatch for any other pair of
    types, AnalysisException for an expression that does not fit ``rows``.
    """
    target = _spark_type(field)
    if isinstance(value, Arithmetic):
        value = _of_library(value, source)
    if not isinstance(value, Column):
        return _literal(value, field, target)
    # In a struct, Spark refuses an expression that makes several rows of one, such as explode.
    found = rows.select(F.struct(value.alias("value"))).schema.fields[0].dataType.fields[0].dataType
    if found.simpleString() == target.simpleString():
        return value
    _check_assignable(found, target, field, rows)
    return value.cast(target)


def _of_library(value: Any, source: str) -> Column:
    """Return a column or an expression of this library as a Column of Spark; ``source``: "" without a source row."""
    if isinstance(value, Reference):
        name = quoted(value.name)
        return F.col(name if value.is_target or not source else f"{source}.{name}")
    if not isinstance(value, Expression):
        return F.lit(value)
    return _OPERATORS[value.op](_of_library(value.left, source), _of_library(value.right, source))


def _spark_type(field: DataField) -> DataType:
    return spark_schema([field]).fields[0].dataType


def _check_assignable(found: DataType, target: DataType, field: DataField, rows: DataFrame) -> None:
    numbers = isinstance(found, NumericType) and isinstance(target, NumericType)
    plain = not any(hasattr(found, part) for part in ("elementType", "keyType", "fields"))
    if isinstance(found, NullType) or (isinstance(target, StringType) and plain):
        return
    if not numbers:
        raise SchemaMismatch(
            f"column {field.name!r} is {field.type}, and its new value is {found.simpleString()}: cast the expression",
            column=field.name,
        )
    if rows.sparkSession.conf.get("spark.sql.ansi.enabled") != "true":
        raise SchemaMismatch(
            f"column {field.name!r} is {field.type}, and its new value is {found.simpleString()}: without "
            "spark.sql.ansi.enabled, Spark would not report an overflow: cast the expression",
            column=field.name,
        )


def _literal(value: Any, field: DataField, target: DataType) -> Column:
    """Return a literal as a column.

    Raises SchemaMismatch for a value that does not fit the column of the table, InvalidRequest for a column of type
    TIME and for a nested value.
    """
    if value is None:
        return F.lit(None).cast(target)
    root = field.type.root
    if root is TypeRoot.TIME or not isinstance(value, _PLAIN):
        raise InvalidRequest(
            f"column {field.name!r} cannot be set to {value!r:.60} by Spark: pass a Column of Spark", column=field.name
        )
    assigned(pa.schema([field.arrow]).empty_table(), {field.name: value})
    if root in TIMESTAMP_ROOTS:
        scalar = pa.scalar(value, field.arrow.type)
        micros = scalar.cast(pa.timestamp("us", tz=scalar.type.tz)).value
        instant = F.timestamp_micros(F.lit(micros))
        return (
            instant if root is TypeRoot.TIMESTAMP_LTZ else F.convert_timezone(None, F.lit("UTC"), instant).cast(target)
        )
    return literal(pa.scalar(value, field.arrow.type).as_py()).cast(target)


def used_columns(rows: DataFrame, columns: Sequence[Column]) -> Collection[str]:
    """Return the columns of ``rows`` that the expressions use; with Spark Connect, all columns of ``rows``."""
    if not columns:
        return ()
    chosen = rows.select(*columns)
    plan = getattr(chosen, "_jdf", None)
    if plan is None:
        chosen.schema  # noqa: B018  # resolves the expressions
        return list(rows.columns)
    references = plan.queryExecution().analyzed().references().iterator()
    found = set()
    while references.hasNext():
        found.add(str(references.next().name()))
    return found if found <= {*rows.columns} else list(rows.columns)  # the columns of a window are hidden
