"""Encoded texts: stores repeated texts in the source of a merge as dictionary arrays, which take less memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import conform
from paimon_core.errors import SchemaMismatch
from paimon_core.lsm.gather import is_long
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS

_TEXTS = {pa.string(), pa.binary(), pa.large_string(), pa.large_binary()}
_MOST_BYTES = 1 << 30
"""The maximum bytes of the dictionary arrays of a column. A larger column is decoded: an array has at most 2 GiB."""


def conform_encoded(
    rows: pa.Table, fields: Sequence[DataField], plain: Collection[str], *, first_row: int = 0
) -> pa.Table:
    """Return the result of ``conform``, and raise its errors; columns of repeated texts are dictionary arrays.

    The columns ``plain`` are decoded.
    """
    encoded = {}
    for field in fields:
        is_text = field.type.root in STRING_ROOTS | BINARY_ROOTS
        if not is_text or field.name in plain or rows.column_names.count(field.name) != 1:
            continue
        if (found := _encoded(rows[field.name])) is not None:
            encoded[field.name] = found, field
    others = rows
    for name, (_, field) in encoded.items():
        nulls = pa.nulls(len(rows), field.arrow.type)
        others = others.set_column(rows.schema.get_field_index(name), name, nulls)
    done = conform(others, fields, first_row=first_row)
    for name, (array, field) in encoded.items():
        try:
            values = conform(pa.table({name: array.dictionary}), [field])[name].combine_chunks()
        except SchemaMismatch:
            return conform(rows, fields, first_row=first_row)  # raises an error that names the row
        column = pa.DictionaryArray.from_arrays(array.indices, values)
        done = done.set_column(done.schema.get_field_index(name), name, column)
    return done


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray | None:
    """Return the column as one dictionary array without unused values.

    None for a column of plain texts that are short or seldom repeat.
    """
    kind = column.type
    if pa.types.is_dictionary(kind) and kind.value_type in _TEXTS:
        whole = column.combine_chunks()
        used = whole.indices.unique().drop_null()
        indices = pc.index_in(whole.indices, used)
        return pa.DictionaryArray.from_arrays(indices, whole.dictionary.take(used))
    if not is_long(column):
        return None
    whole = column.combine_chunks().dictionary_encode()
    return whole if 2 * whole.dictionary.nbytes <= column.nbytes else None


def joined_encoded(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables; columns that a table lacks are null in the rows of the table.

    A column that is a dictionary array in some tables becomes a dictionary array in the result; if it is too large, it
    is decoded (``_MOST_BYTES``). Raises ArrowException when the types of a column differ.
    """
    for name in sorted({f.name for t in tables for f in t.schema if pa.types.is_dictionary(f.type)}):
        holders = [t[name] for t in tables if name in t.column_names]
        known = sum(c.nbytes for column in holders for c in column.chunks)
        tables = [_recoded(table, name, encode=known <= _MOST_BYTES) for table in tables]
    return pa.concat_tables(tables, promote_options="default")


def _recoded(table: pa.Table, name: str, *, encode: bool) -> pa.Table:
    at = table.schema.get_field_index(name)
    if at < 0 or pa.types.is_dictionary(table.schema.field(at).type) == encode:
        return table
    column = table[name]
    return table.set_column(at, name, column.dictionary_encode() if encode else column.cast(column.type.value_type))
