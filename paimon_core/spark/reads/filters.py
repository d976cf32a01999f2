"""Filters: converts a predicate to a Spark column, for files that Spark's own Parquet reader reads."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, FloatType, MapType, StructType

from paimon_core.errors import InvalidRequest
from paimon_core.predicate.op import Op
from paimon_core.predicate.reference import Step
from paimon_core.predicate.tree import And, ColumnComparison, Comparison, Constant, Or, Predicate
from paimon_core.spark.columns import column as column_named
from paimon_core.spark.columns import literal


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
    # Only literals for FLOAT are cast: a literal between two storable values (1.005 for a DECIMAL(5, 2)) must not be
    # rounded.
    values = [F.lit(v).cast(kind) if isinstance(kind, FloatType) else literal(v) for v in test.values]
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
