"""Filters: converts a predicate to a Spark column, for files that Spark's own Parquet reader reads."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType, StructType

from paimon_core.errors import InvalidRequest
from paimon_core.predicate.bound import Op
from paimon_core.predicate.tree import And, Comparison, Or, Predicate


def to_column(predicate: Predicate, schema: StructType) -> Column:
    """Return the predicate as a Spark column over ``schema``; NULL and NaN are compared by Spark's rules.

    As elsewhere in the library, literals are compared in the column's type: 0.1 equals the FLOAT 0.1. Raises
    InvalidRequest for a value that is no predicate.
    """
    match predicate:
        case And(parts):
            return reduce(and_, (to_column(p, schema) for p in parts))
        case Or(parts):
            return reduce(or_, (to_column(p, schema) for p in parts))
        case Comparison():
            return _comparison(predicate, schema)
    raise InvalidRequest(f"{predicate!r} is no predicate")


def _comparison(test: Comparison, schema: StructType) -> Column:
    column = F.col("`" + test.column.replace("`", "``") + "`")
    kind = schema[test.column].dataType
    if isinstance(kind, FloatType | DoubleType):
        # Spark orders NaN last, but Parquet statistics ignore NaN: a filter on the plain column would be pushed down
        # and lose NaN rows.
        column = F.negative(F.negative(column))
    # Only for FLOAT: a literal between two storable values (1.005 for a DECIMAL(5, 2)) must not be rounded.
    values = [F.lit(v).cast(kind) if isinstance(kind, FloatType) else F.lit(v) for v in test.values]
    match test.op:
        case Op.EQ:
            return column == values[0]
        case Op.NE:
            return column != values[0]
        case Op.LT:
            return column < values[0]
        case Op.LE:
            return column <= values[0]
        case Op.GT:
            return column > values[0]
        case Op.GE:
            return column >= values[0]
        case Op.IN | Op.NOT_IN:
            # Without values, "in" is false and "not in" is true, but for a null both are null.
            found = column.isin(*values) if values else F.when(column.isNotNull(), F.lit(False))
            return found if test.op is Op.IN else ~found
        case Op.STARTS:
            return F.startswith(column, values[0])
        case Op.NOT_STARTS:
            return ~F.startswith(column, values[0])
        case Op.IS_NULL:
            return column.isNull()
        case Op.NOT_NULL:
            return column.isNotNull()
