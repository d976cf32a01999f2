"""Default values: a write stores the default of a column in place of null (format 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import conform
from paimon_core.datafile.evolution.defaults import default_value
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS


def conform_with_defaults(
    data: pa.Table | pa.RecordBatch, fields: Sequence[DataField], *, first_row: int = 0
) -> pa.Table:
    """Return the result of ``arrow.conform`` with defaults in place of nulls; a missing column has nulls only.

    Raises the errors of ``conform`` and of ``default_value``.
    """
    if all(f.default is None for f in fields):
        return conform(data, fields, first_row=first_row)
    rows = conform(data, [f if f.default is None else _without_default(f) for f in fields], first_row=first_row)
    columns = []
    for field, column in zip(fields, rows.columns, strict=True):
        if field.default is not None and column.null_count:
            value = default_value(field.name, field.type, field.default)
            fill = _taken if field.type.root in NESTED_ROOTS else pc.coalesce
            column = pa.chunked_array([fill(chunk, value) for chunk in column.chunks], column.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=pa.schema([f.arrow for f in fields]))


def _taken(chunk: pa.Array, value: pa.Scalar) -> pa.Array:
    """Return the chunk with ``value`` in place of nulls, for types that ``pc.coalesce`` does not support."""
    places = pc.if_else(chunk.is_valid(), pa.array(range(len(chunk)), pa.int64()), len(chunk))
    return pa.concat_arrays([chunk, pa.repeat(value, 1)]).take(places)


def _without_default(field: DataField) -> DataField:
    return replace(field, default=None, type=field.type.with_nullable(True))
