"""Merged write: alters the table so that it can take the data of a write (option write.merge-schema)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import pyarrow as pa

from paimon_core.alter.alter_table import alter_table
from paimon_core.alter.changes import SchemaChange
from paimon_core.alter.merge_schema import merged_changes
from paimon_core.arrow import open_stream
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.metadata.context import TableContext
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import from_arrow

MergeSchema = bool | Literal["widen"] | None
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def merged_with(context: TableContext, data: Any, kinds: Any, merge_schema: MergeSchema) -> tuple[TableContext, Any]:
    """Return the table after it was altered for ``data``, with the latest schema, and the data to write.

    ``merge_schema`` None: as the options say, and without them the table is not altered. Another concurrent write may
    add the same columns: then nothing is left to change. Raises SchemaMismatch for types that cannot be merged, and the
    errors of ``alter_table``.
    """
    options = context.options
    if merge_schema not in (True, False, None, "widen"):
        raise InvalidRequest(f"merge_schema must be True, False or 'widen', not {merge_schema!r:.60}")
    if not (options["write.merge-schema"] if merge_schema is None else merge_schema):
        return context, data
    widen = merge_schema == "widen" or options["write.merge-schema.type-widening"]
    stream = _stream(data, context.schema.fields, widen)
    skipped = {kinds} if isinstance(kinds, str) and kinds not in context.schema.by_name else set()
    fields = [_field(column) for column in stream.schema if not _is_no_column(column, skipped)]
    changes = partial(_changes, fields=fields, widen=widen, explicit=options["write.merge-schema.explicit-cast"])
    return alter_table(context, changes), stream


def _stream(data: Any, fields: Sequence[DataField], widen: bool) -> pa.RecordBatchReader:
    """Open the data; where types may widen, values of dicts that do not fit have the types that Arrow infers."""
    try:
        return open_stream(data, fields)
    except SchemaMismatch:
        if not widen:
            raise
        return open_stream(data)


def _changes(schema: TableSchema, *, fields: Sequence[DataField], widen: bool, explicit: bool) -> list[SchemaChange]:
    return merged_changes(schema, fields, widen=widen, explicit=explicit)


def _is_no_column(column: pa.Field, skipped: set[str]) -> bool:
    """Whether the data's column is none of the table: row kinds, row labels of pandas, and columns without a type."""
    return column.name in skipped or bool(_PANDAS_INDEX.fullmatch(column.name)) or bool(pa.types.is_null(column.type))


def _field(column: pa.Field) -> DataField:
    return DataField(-1, column.name, from_arrow(column.type))
