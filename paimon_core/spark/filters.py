"""Predicate → Spark column, for the branch of a read that Spark's own Parquet reader does."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from paimon_core.errors import InvalidRequest
from paimon_core.predicate.bound import Op
from paimon_core.predicate.tree import And, Comparison, Or, Predicate


def to_column(predicate: Predicate) -> Column:
    """The same filter in Spark; its three-valued logic and its order of NaN are Spark's own."""
    match predicate:
        case And(parts):
            return reduce(and_, map(to_column, parts))
        case Or(parts):
            return reduce(or_, map(to_column, parts))
        case Comparison():
            return _comparison(predicate)
    raise InvalidRequest(f"{predicate!r} is no predicate")


def _comparison(test: Comparison) -> Column:
    column = F.col("`" + test.column.replace("`", "``") + "`")
    values = [F.lit(v) for v in test.values]
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
            found = column.isin(*values) if values else F.lit(False)
            return found if test.op is Op.IN else ~found
        case Op.STARTS:
            return F.startswith(column, values[0])
        case Op.NOT_STARTS:
            return ~F.startswith(column, values[0])
        case Op.IS_NULL:
            return column.isNull()
        case Op.NOT_NULL:
            return column.isNotNull()
