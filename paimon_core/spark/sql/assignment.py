"""Assignment: which values can be assigned to a column, by Spark's rules (ANSI store assignment).

A number of any type can be assigned to a column of numbers, a date or timestamp to a column of dates or timestamps, and
any value that is not binary and not nested to a column of texts. A text can be assigned to a column of texts only,
because its conversion to another type would depend on its contents.

Fields of structs are assigned by position or by name: ``INSERT`` assigns by position, and ``BY NAME``, ``UPDATE`` and
``MERGE`` by name. ``INSERT`` with a list of columns does both: by name if the fields have the names of the column's
fields, by position if they have none of them; anything between is refused.
"""

from __future__ import annotations

from typing import Literal

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from paimon_core.schema import DataField
from paimon_core.spark.types import spark_schema

Matching = Literal["position", "name", "either"]
"""How the fields of structs are assigned."""
_DATETIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)


def assignment_problem(
    spark: SparkSession, given: T.DataType, field: DataField, fields: tuple[str, ...] = (), *, matching: Matching
) -> str:
    """Return why a value of the type ``given`` cannot be assigned to a column; an empty text if it can.

    ``fields``: the names of the fields that lead from the column to the field of a struct that gets the value.
    """
    wanted = wanted_type(field, fields)
    problem = _problem(given, wanted, str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true", matching)
    if not problem:
        return ""
    column = f"column {'.'.join((field.name, *fields))!r} of type {wanted.simpleString()}"
    return f"is {given.simpleString()} and cannot be assigned to {column}: {problem}"


def assigned(value: Column, given: T.DataType, wanted: T.DataType, matching: Matching) -> Column:
    """Return a value of the type ``given`` as a value of the type ``wanted``; ``assignment_problem`` is checked before.

    A number that does not fit is an error when Spark computes the rows.
    """
    ordered = _ordered(value, given, wanted) if matching != "position" else value
    return ordered if given == wanted else ordered.cast(wanted)


def wanted_type(field: DataField, fields: tuple[str, ...] = ()) -> T.DataType:
    """Return the type in Spark of a column, or of a field of it (see ``assignment_problem``)."""
    found: T.DataType = spark_schema([field])[0].dataType
    for name in fields:
        assert isinstance(found, T.StructType)
        found = found[name].dataType
    return found


def _ordered(value: Column, given: T.DataType, wanted: T.DataType) -> Column:
    """Return the value with the fields of its structs in the order of ``wanted``, when they have the same names."""
    if not _is_disordered(given, wanted):
        return value
    match given, wanted:
        case T.ArrayType(), T.ArrayType():
            return F.transform(value, lambda item: _ordered(item, given.elementType, wanted.elementType))
        case T.MapType(), T.MapType():
            found = F.transform_keys(value, lambda key, _: _ordered(key, given.keyType, wanted.keyType))
            return F.transform_values(found, lambda _, item: _ordered(item, given.valueType, wanted.valueType))
        case T.StructType(), T.StructType():
            fields = [
                _ordered(value.getField(g.name), g.dataType, w.dataType).alias(w.name) for g, w in _pairs(given, wanted)
            ]
            return F.when(value.isNotNull(), F.struct(*fields))
    return value


def _is_disordered(given: T.DataType, wanted: T.DataType) -> bool:
    """Whether structs have fields with the names that are wanted in another order."""
    match given, wanted:
        case T.ArrayType(), T.ArrayType():
            return _is_disordered(given.elementType, wanted.elementType)
        case T.MapType(), T.MapType():
            return _is_disordered(given.keyType, wanted.keyType) or _is_disordered(given.valueType, wanted.valueType)
        case T.StructType(), T.StructType():
            own, other = _names(given), _names(wanted)
            if own != other and sorted(own) == sorted(other):
                return True
            return any(_is_disordered(g.dataType, w.dataType) for g, w in zip(given, wanted, strict=True))
    return False


def _names(struct: T.StructType) -> list[str]:
    return [name.casefold() for name in struct.names]


def _pairs(given: T.StructType, wanted: T.StructType) -> list[tuple[T.StructField, T.StructField]]:
    """Return the fields that belong together: by name if both structs have the same names, else by position."""
    own, other = _names(given), _names(wanted)
    by_name = sorted(own) == sorted(other) and len(set(own)) == len(own)
    return [(given[own.index(name)] if by_name else given[at], wanted[at]) for at, name in enumerate(other)]


def _names_problem(given: T.StructType, wanted: T.StructType, matching: Matching) -> str:
    """Return why the names of the fields do not say which fields belong together; an empty text if they do."""
    own, other = _names(given), _names(wanted)
    if matching == "position" or sorted(own) == sorted(other) or (matching == "either" and not {*own} & {*other}):
        return ""
    missing = [name for name in wanted.names if name.casefold() not in own]
    extra = [name for name in given.names if name.casefold() not in other]
    found = (f"it has no field {missing[0]!r}" if missing else "", f"has a field {extra[0]!r}" if extra else "")
    return f"its fields are assigned by name, and {' and '.join(filter(None, found)) or 'a name occurs twice'}"


def _problem(given: T.DataType, wanted: T.DataType, ansi: bool, matching: Matching) -> str:
    """Return why a value of type ``given`` cannot be assigned to type ``wanted``; an empty text if it can."""
    if given == wanted or isinstance(given, T.NullType):
        return ""
    match given, wanted:
        case T.ArrayType(), T.ArrayType():
            return _problem(given.elementType, wanted.elementType, ansi, matching)
        case T.MapType(), T.MapType():
            key = _problem(given.keyType, wanted.keyType, ansi, matching)
            return key or _problem(given.valueType, wanted.valueType, ansi, matching)
        case T.StructType(), T.StructType():
            if len(given) != len(wanted):
                return f"it has {len(given)} fields, and {len(wanted)} are needed"
            if problem := _names_problem(given, wanted, matching):
                return problem
            pairs = _pairs(given, wanted) if matching != "position" else zip(given, wanted, strict=True)
            return next(filter(None, (_problem(g.dataType, w.dataType, ansi, matching) for g, w in pairs)), "")
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
