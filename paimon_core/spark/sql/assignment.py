"""Assignment: which values can be assigned to a column, by Spark's rules (ANSI store assignment).

A number of any type can be assigned to a column of numbers, a date or timestamp to a column of dates or timestamps, and
any value that is not binary and not nested to a column of texts. A text can be assigned to a column of texts only,
because its conversion to another type would depend on its contents.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from paimon_core.schema import DataField
from paimon_core.spark.types import spark_schema

_DATETIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)


def assignment_problem(spark: SparkSession, given: T.DataType, field: DataField) -> str:
    """Return why a value of the type ``given`` cannot be assigned to a column; an empty text if it can."""
    wanted = spark_schema([field])[0].dataType
    problem = _problem(given, wanted, str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true")
    if not problem:
        return ""
    names = f"is {given.simpleString()} and cannot be assigned to column {field.name!r} of type {wanted.simpleString()}"
    return f"{names}: {problem}"


def _problem(given: T.DataType, wanted: T.DataType, ansi: bool) -> str:
    """Return why a value of type ``given`` cannot be assigned to type ``wanted``; an empty text if it can."""
    if given == wanted or isinstance(given, T.NullType):
        return ""
    match given, wanted:
        case T.ArrayType(), T.ArrayType():
            return _problem(given.elementType, wanted.elementType, ansi)
        case T.MapType(), T.MapType():
            return _problem(given.keyType, wanted.keyType, ansi) or _problem(given.valueType, wanted.valueType, ansi)
        case T.StructType(), T.StructType():
            if len(given) != len(wanted):
                return f"it has {len(given)} fields, and {len(wanted)} are needed"
            found = (_problem(g.dataType, w.dataType, ansi) for g, w in zip(given, wanted, strict=True))
            return next(filter(None, found), "")
        case (T.NumericType(), T.NumericType()):
            return (
                "" if ansi or _widens(given, wanted) else "numbers that do not fit need spark.sql.ansi.enabled = true"
            )
        case (_, T.StringType()) if isinstance(given, T.AtomicType) and not isinstance(given, T.BinaryType):
            return ""
    if isinstance(given, _DATETIMES) and isinstance(wanted, _DATETIMES):
        return ""
    return f"write CAST(... AS {wanted.simpleString().upper()})"


def _widens(given: T.DataType, wanted: T.DataType) -> bool:
    """Whether each number of the type ``given`` is a number of the type ``wanted``."""
    order = [T.ByteType, T.ShortType, T.IntegerType, T.LongType]
    if type(given) in order and type(wanted) in order:
        return order.index(type(given)) <= order.index(type(wanted))
    if isinstance(wanted, T.DoubleType):
        return True
    if isinstance(given, T.DecimalType) and isinstance(wanted, T.DecimalType):
        return bool(wanted.scale >= given.scale and wanted.precision - wanted.scale >= given.precision - given.scale)
    return False
