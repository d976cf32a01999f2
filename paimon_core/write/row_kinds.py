"""Row kinds: convert the kinds of input rows to the codes that files store (format 7.2, 9.1)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.schema import ROW_KINDS


def kind_codes(kinds: Any, rows: int, source: str, first_row: int = 0) -> pa.Array:
    """Return the int8 codes of a column of "+I", "-U", "+U", "-D"; ``source`` names the column in errors.

    Errors count rows from ``first_row``, the row number of the first kind. Raises InvalidRequest when ``kinds`` is no
    column, SchemaMismatch for null, unknown, too many or too few kinds.
    """
    try:
        column = kinds if isinstance(kinds, pa.Array | pa.ChunkedArray) else pa.array(kinds)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise InvalidRequest(f"{source}: row kinds must be a column of text: {error}") from None
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if len(column) != rows:
        raise SchemaMismatch(f"{source}: {len(column)} row kinds for {rows} rows", rows=rows)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if rows == 0:
        return pa.array([], pa.int8())
    if not (
        pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)
    ):
        raise SchemaMismatch(f"{source}: row kinds must be text, not {column.type}")
    codes = pc.index_in(column.cast(pa.string()), value_set=pa.array(ROW_KINDS))
    if codes.null_count:
        at = pc.index(pc.is_null(codes), True).as_py()
        bad, row = column[at].as_py(), first_row + at
        raise SchemaMismatch(
            f"{source}: row {row}: {bad!r} is not a row kind; the kinds are {', '.join(ROW_KINDS)}", value=bad, row=row
        )
    return codes.cast(pa.int8())
