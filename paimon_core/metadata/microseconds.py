"""Microseconds: reads a table with its timestamps of 7 to 9 digits truncated to microseconds.

Arrow's nanoseconds cover only the years 1677 to 2262, but Paimon's timestamps cover more years: 9999-12-31 often stands
for "never ends". Arrow's microseconds cover all these years. Columns that order or identify rows keep their type,
because truncation could make different values equal.
"""

from __future__ import annotations

from dataclasses import replace

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.options.known.columns import SEQUENCE_GROUP
from paimon_core.options.parsers import list_parts
from paimon_core.options.registry import column_option
from paimon_core.schema import TableSchema
from paimon_core.types import TIMESTAMP_ROOTS, DataType

_DIGITS = 6


def in_microseconds(context: TableContext) -> TableContext:
    """Return the context for reads with the columns of ``coarse_schema``; it must not be used for writes."""
    schemas = MicrosecondSchemas(context.storage, context.paths)
    return replace(context, schema=coarse_schema(context.schema), schemas=schemas)


class MicrosecondSchemas(SchemaStore):
    """Reads the schemas of a table and converts each with ``coarse_schema``."""

    def read(self, schema_id: int) -> TableSchema:
        """Return one schema, converted; raises as ``SchemaStore.read`` does."""
        return coarse_schema(super().read(schema_id))

    def holds(self, schema: TableSchema) -> bool:
        """Whether the schema file still has the content that was read for the id of ``schema``."""
        return super().holds(super().read(schema.id))


def coarse_schema(schema: TableSchema) -> TableSchema:
    """Return the schema with TIMESTAMP(7..9) as TIMESTAMP(6).

    Columns of the primary key, the partition keys, the bucket key and the sequence fields are not changed.
    """
    kept = {*schema.primary_keys, *schema.partition_keys}
    for key, value in schema.options.items():
        if key in ("sequence.field", "bucket-key"):
            kept.update(list_parts(value))
        found = column_option(key)
        if found is not None and found[1] == SEQUENCE_GROUP:
            kept.update(list_parts(found[0]))
    fields = tuple(f if f.name in kept else replace(f, type=_coarse(f.type)) for f in schema.fields)
    return replace(schema, fields=fields)


def _coarse(kind: DataType) -> DataType:
    if kind.root in TIMESTAMP_ROOTS:
        return replace(kind, precision=min(kind.precision, _DIGITS))
    return replace(kind, children=tuple(replace(c, type=_coarse(c.type)) for c in kind.children))
