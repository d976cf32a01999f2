"""Types: converts table columns to Spark columns.

In Spark, a MULTISET is a map from element to count, a VARIANT is a VariantType, and a TIME is a TimeType. Some
functions of Spark 4.3 accept a TimeType only under ``spark.sql.timeType.enabled``. Spark stores timestamps in
microseconds. A TIMESTAMP(7..9) value that is not a whole number of microseconds raises an error, unless the read was
asked to truncate such values (``timestamps_in_micros``).
Nested fields are nullable in Spark even when they are NOT NULL in the table, because a null row has null fields.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, MapType, StructField, StructType, TimeType
from pyspark.sql.types import DataType as SparkType

from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.types import TIMESTAMP_ROOTS, Annotations, DataType, TypeRoot
from paimon_core.types.spark_json import SPARK_TIME_DIGITS, to_spark_json

_VARIANT_METADATA = pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"})


def arrow_schema(fields: Sequence[DataField]) -> pa.Schema:
    """Return the Arrow schema with which values of the columns are sent to Spark."""
    return pa.schema([pa.field(f.name, _arrow(f.type), nullable=f.type.nullable) for f in fields])


def _arrow(kind: DataType) -> pa.DataType:
    if kind.root is TypeRoot.TIME:
        return pa.time64("ns")
    if kind.root in TIMESTAMP_ROOTS:
        return pa.timestamp("us", tz="UTC" if kind.root is TypeRoot.TIMESTAMP_LTZ else None)
    inner = [pa.field(c.name, _arrow(c.type)) for c in kind.children]
    match kind.root:
        case TypeRoot.ARRAY:
            return pa.list_(inner[0])
        case TypeRoot.MAP | TypeRoot.MULTISET:
            return pa.map_(inner[0].type, inner[1])
        case TypeRoot.ROW:
            return pa.struct(inner)
        case TypeRoot.VARIANT:  # Spark's mark of a VariantType
            return pa.struct([inner[0].with_nullable(False), _VARIANT_METADATA])
    return kind.to_arrow()


def spark_schema(fields: Sequence[DataField]) -> StructType:
    """Return the Spark schema of the columns.

    The metadata of its fields contains comments, and types that Spark cannot express. So ``create_table`` creates a
    table with the same columns from this schema. But when Spark writes the columns to files and reads the files, the
    schema has no NOT NULL any more.
    """
    schema = from_arrow_schema(arrow_schema(fields), prefer_timestamp_ntz=True)
    exact = to_spark_json((f.name, Annotations(f.type, None, f.description, f.default)) for f in fields)
    for field, column, described in zip(schema.fields, fields, exact["fields"], strict=True):
        field.metadata = described["metadata"]
        field.dataType = _with_digits(field.dataType, column.type)
    return schema


def _with_digits(spark: SparkType, kind: DataType) -> SparkType:
    """Return the Spark type with the precision of each TIME, which an Arrow type does not have."""
    inner = [child.type for child in kind.children]
    match spark:
        case TimeType():
            return TimeType(min(kind.precision, SPARK_TIME_DIGITS))
        case ArrayType():
            return ArrayType(_with_digits(spark.elementType, inner[0]), spark.containsNull)
        case MapType():
            key, value = (_with_digits(t, k) for t, k in zip((spark.keyType, spark.valueType), inner, strict=True))
            return MapType(key, value, spark.valueContainsNull)
        case StructType():
            members = zip(spark.fields, inner, strict=True)
            return StructType([StructField(f.name, _with_digits(f.dataType, k), f.nullable) for f, k in members])
    return spark


def to_spark(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return ``table`` cast to ``schema``; raises SchemaMismatch for timestamps that are no whole microseconds."""
    try:
        return table.cast(schema)
    except pa.ArrowInvalid as error:
        raise SchemaMismatch(f"Spark stores timestamps in microseconds: {error}") from None
