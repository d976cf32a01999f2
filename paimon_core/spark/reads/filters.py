"""Filters: converts a predicate to a Spark column, for files that Spark's own Parquet reader reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, MapType, StructType

from paimon_core.errors import InvalidRequest
from paimon_core.predicate.bound_column import bound_column
from paimon_core.predicate.op import Op
from paimon_core.predicate.reference import Step
from paimon_core.predicate.tree import And, ColumnComparison, Comparison, Constant, Or, Predicate
from paimon_core.schema import DataField
from paimon_core.spark.columns import column as column_named
from paimon_core.spark.columns import literal
from paimon_core.types import TIMESTAMP_ROOTS, TypeRoot
from paimon_core.types.time_text import date_and_nanos

_LOST_DAYS = (-141_438, -141_427)
"""The days 1582-10-04 and 1582-10-15, from 1970-01-01."""
_MOST_DIGITS = 38


def to_column(predicate: Predicate, schema: StructType) -> Column:
    """Return the predicate as a Spark column over ``schema``; NULL and NaN are compared by Spark's rules.

    As elsewhere in the library, literals are compared in the column's type: 0.1 equals the FLOAT 0.1. Raises
    InvalidRequest for a value that is not a predicate.
    """
    match predicate:
        case And(parts):
            return reduce(and_, (to_column(p, schema) for p in parts))
        case Or(parts):
            return reduce(or_, (to_column(p, schema) for p in parts))
        case Comparison():
            return _comparison(predicate, schema)
        case ColumnComparison():
            left, _ = _reference(predicate.column, predicate.path, schema)
            right, _ = _reference(predicate.other, predicate.other_path, schema)
            return _compared(predicate.op, left, right)
        case Constant():
            return F.lit(predicate.value)
    raise InvalidRequest(f"{predicate!r} is no predicate")


def compares_types_natively(predicate: Predicate, schema: StructType) -> bool:
    """Whether Spark compares two columns as this library does: true if the types of each compared pair are equal."""
    match predicate:
        case And(parts) | Or(parts):
            return all(compares_types_natively(p, schema) for p in parts)
        case ColumnComparison():
            left = _reference(predicate.column, predicate.path, schema)[1]
            return bool(left == _reference(predicate.other, predicate.other_path, schema)[1])
    return True


def has_plain_literals(predicate: Predicate, fields: Mapping[str, DataField]) -> bool:
    """Whether Spark compares the columns ``fields`` with the literals of ``predicate`` as this library does.

    Spark takes no literal below a microsecond and no DECIMAL of more than 38 digits, and reads a text for a DATE
    without its time. It pushes the days from 1582-10-05 to 1582-10-14, which Java's calendar leaves out, down to
    Parquet as a later day, and so leaves out rows; a literal up to a day away counts too, because of time zones.
    """
    match predicate:
        case And(parts) | Or(parts):
            return all(has_plain_literals(part, fields) for part in parts)
        case Comparison() if predicate.values:
            root = bound_column(predicate.column, predicate.path, fields).field.type.root
            return all(_is_plain(value, root) for value in predicate.values)
    return True


def _is_plain(value: Any, root: TypeRoot) -> bool:
    if root is TypeRoot.DECIMAL and isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        return isinstance(exponent, int) and max(len(digits), -exponent, len(digits) + exponent) <= _MOST_DIGITS
    if root is TypeRoot.DATE or root in TIMESTAMP_ROOTS:
        day, nanos, _ = date_and_nanos(value)
        if nanos % 1000 or (root is TypeRoot.DATE and nanos and isinstance(value, str)):
            return False
        return root is TypeRoot.TIMESTAMP or not _LOST_DAYS[0] <= day <= _LOST_DAYS[1]
    return True


def _reference(name: str, path: tuple[Step, ...], schema: StructType) -> tuple[Column, DataType]:
    """Return the column, or the field inside of the column, and its type."""
    column, kind = column_named(name), schema[name].dataType
    for step in path:
        if isinstance(kind, StructType):
            column, kind = column.getField(str(step)), kind[str(step)].dataType
        elif isinstance(kind, MapType):
            column, kind = F.try_element_at(column, literal(step).cast(kind.keyType)), kind.valueType
    return column, kind


def _comparison(test: Comparison, schema: StructType) -> Column:
    column, kind = _reference(test.column, test.path, schema)
    values = [_literal(value, kind) for value in test.values]
    match test.op:
        case Op.IN | Op.NOT_IN:
            # Without values, "in" is false and "not in" is true; for a null, both results are null.
            found = column.isin(*values) if values else F.when(column.isNotNull(), F.lit(False))
            return found if test.op is Op.IN else ~found
        case Op.STARTS:
            return F.startswith(column, values[0])
        case Op.ENDS:
            return F.endswith(column, values[0])
        case Op.CONTAINS:
            return F.contains(column, values[0])
        case Op.LIKE:
            return column.like(str(test.values[0]))
        case Op.NOT_STARTS | Op.NOT_ENDS | Op.NOT_CONTAINS | Op.NOT_LIKE:
            return ~_comparison(replace(test, op=test.op.negated), schema)
        case Op.IS_NULL:
            return column.isNull()
        case Op.NOT_NULL:
            return column.isNotNull()
    return _compared(test.op, column, values[0])


def _literal(value: Any, kind: DataType) -> Column:
    """Return a literal; a literal between two storable values (1.005 for a DECIMAL(5, 2)) is not rounded."""
    if isinstance(kind, FloatType | DoubleType):
        return F.lit(float(value)).cast(kind)
    return literal(Decimal(value) if isinstance(kind, DecimalType) and type(value) is int else value)


def _compared(op: Op, left: Column, right: Column) -> Column:
    match op:
        case Op.EQ:
            return left == right
        case Op.NE:
            return left != right
        case Op.LT:
            return left < right
        case Op.LE:
            return left <= right
        case Op.GT:
            return left > right
    return left >= right
