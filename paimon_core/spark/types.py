"""Table columns as Spark columns: microseconds for every timestamp, no TIME.

Spark holds timestamps in microseconds. Members of nested columns are nullable there, whatever the table says: below a
null row there are nulls. A TIMESTAMP(7..9) is read only while its nanoseconds are whole microseconds:
anything else is an error, never a silent cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from paimon_core.errors import SchemaMismatch, UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.types import TIMESTAMP_ROOTS, DataType, TypeRoot


def arrow_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The Arrow schema in which Spark takes these columns; raises UnsupportedFeature naming a TIME column."""
    return pa.schema([pa.field(f.name, _arrow(f.type, f.name), nullable=f.type.nullable) for f in fields])


def _arrow(kind: DataType, column: str) -> pa.DataType:
    if kind.root is TypeRoot.TIME:
        raise UnsupportedFeature(f"column {column!r}: {kind} has no Spark type here", column=column)
    if kind.root in TIMESTAMP_ROOTS:
        return pa.timestamp("us", tz="UTC" if kind.root is TypeRoot.TIMESTAMP_LTZ else None)
    inner = [pa.field(c.name, _arrow(c.type, f"{column}.{c.name}")) for c in kind.children]
    match kind.root:
        case TypeRoot.ARRAY:
            return pa.list_(inner[0])
        case TypeRoot.MAP:
            return pa.map_(inner[0].type, inner[1])
        case TypeRoot.ROW:
            return pa.struct(inner)
    return kind.to_arrow()


def spark_schema(fields: Sequence[DataField]) -> StructType:
    """The Spark schema of these columns."""
    return from_arrow_schema(arrow_schema(fields), prefer_timestamp_ntz=True)


def to_spark(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """``table`` cast to ``arrow_schema``; raises SchemaMismatch for nanoseconds that Spark cannot hold."""
    try:
        return table.cast(schema)
    except pa.ArrowInvalid as error:
        raise SchemaMismatch(f"Spark holds timestamps in microseconds: {error}") from None
