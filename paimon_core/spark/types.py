"""Types: converts table columns to Spark columns; TIME is not supported, because Spark refuses its own by default.

A MULTISET is a map of element to count in Spark, a VARIANT a VariantType. Spark stores timestamps in microseconds. A
TIMESTAMP(7..9) value that is not a whole number of microseconds is an error and is never truncated. Nested fields are
nullable in Spark even when they are NOT NULL in the table, because a null row has null fields.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from paimon_core.errors import SchemaMismatch, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import TIMESTAMP_ROOTS, Annotations, DataType, TypeRoot
from paimon_core.types.spark_json import to_spark_json

_VARIANT_METADATA = pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"})


def arrow_schema(fields: Sequence[DataField]) -> pa.Schema:
    """Return the Arrow schema of these columns for Spark; raises UnsupportedFeature that names a TIME column."""
    return pa.schema([pa.field(f.name, _arrow(f.type, f.name), nullable=f.type.nullable) for f in fields])


def _arrow(kind: DataType, column: str) -> pa.DataType:
    if kind.root is TypeRoot.TIME:
        raise UnsupportedFeature(f"column {column!r}: {kind} is not supported in Spark", column=column)
    if kind.root in TIMESTAMP_ROOTS:
        return pa.timestamp("us", tz="UTC" if kind.root is TypeRoot.TIMESTAMP_LTZ else None)
    inner = [pa.field(c.name, _arrow(c.type, f"{column}.{c.name}")) for c in kind.children]
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
    """Return the Spark schema of these columns; raises as ``arrow_schema``.

    The metadata of its fields contain comments, and the exact types that Spark does not express: ``create_table`` makes
    a table with the same columns from it, except that Spark makes the columns of files nullable.
    """
    schema = from_arrow_schema(arrow_schema(fields), prefer_timestamp_ntz=True)
    exact = to_spark_json((f.name, Annotations(f.type, None, f.description, f.default)) for f in fields)
    for field, described in zip(schema.fields, exact["fields"], strict=True):
        field.metadata = described["metadata"]
    return schema


def to_spark(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return ``table`` cast to ``schema``; raises SchemaMismatch for timestamps that are no whole microseconds."""
    try:
        return table.cast(schema)
    except pa.ArrowInvalid as error:
        raise SchemaMismatch(f"Spark stores timestamps in microseconds: {error}") from None
