"""Texts of stored values in the two forms that Java has: the cast to STRING, and ``toString``.

Whole columns are converted. Keys and statistics come from manifests that any writer may have written: a row that does
not decode raises CorruptTable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.rows import row_decoder, storage_values, to_array
from paimon_core.codec.partition_text import partition_values
from paimon_core.datafile.evolution.casts import find_cast
from paimon_core.types import BINARY_ROOTS, STRING, TIMESTAMP_ROOTS, DataType, TypeRoot

_NULL = "null"


def decoded_columns(rows: Sequence[bytes], types: Sequence[DataType]) -> list[pa.Array]:
    """Return serialized rows as one Arrow array per type; raises CorruptTable for other bytes."""
    decode = row_decoder(tuple(types))
    values = [decode(row) for row in rows]
    return [to_array([row[at] for row in values], kind) for at, kind in enumerate(types)]


def cast_texts(array: pa.Array, dtype: DataType) -> pa.Array:
    """Return the values in the form of a cast to STRING: dates as ``2024-01-31``; null stays null.

    Bytes that are not UTF-8 become replacement characters.
    """
    if dtype.root in BINARY_ROOTS:
        return _of_distinct(array, dtype, lambda value: value.decode(errors="replace"))
    cast = find_cast(dtype, STRING)
    return array.cast(pa.string()) if cast is None else cast(array, dtype, STRING)


def object_texts(array: pa.Array, dtype: DataType) -> pa.Array:
    """Return the values in the form of ``toString`` of Java's stored value: dates as days since 1970; null stays null.

    For a binary value, Java writes its memory address; this function writes its content in hexadecimal digits.
    """
    root = dtype.root
    if root in (TypeRoot.DATE, TypeRoot.TIME):
        return pa.array(storage_values(array, dtype), pa.int32()).cast(pa.string())
    if root not in TIMESTAMP_ROOTS and root not in BINARY_ROOTS:
        return cast_texts(array, dtype)
    return _of_distinct(array, dtype, _hex if root in BINARY_ROOTS else lambda value: _iso(value, dtype))


def _of_distinct(array: pa.Array, dtype: DataType, text: Callable[[Any], str]) -> pa.Array:
    """Return the text of each value, computed once for equal values."""
    distinct = array.dictionary_encode()
    texts = [text(value) for value in storage_values(distinct.dictionary, dtype)]
    return pa.array(texts, pa.string()).take(distinct.indices)


def _hex(value: bytes) -> str:
    return f"0x{value.hex()}"


def _iso(value: Any, dtype: DataType) -> str:
    return partition_values((value,), (dtype,), legacy=True, default_name="")[0]


def joined(texts: Sequence[pa.Array], left: str, right: str, rows: int) -> pa.Array:
    """Return one text per row: ``left``, the row's texts separated by commas, ``right``; null becomes ``null``."""
    if not texts:
        return pa.repeat(pa.scalar(left + right), rows)
    inner = pc.binary_join_element_wise(*(pc.fill_null(text, _NULL) for text in texts), ", ")
    return pc.binary_join_element_wise(left, inner, right, "")


def row_texts(rows: Sequence[bytes], types: Sequence[DataType]) -> pa.Array:
    """Return the texts of serialized rows, such as ``{2024-01-31, x}``, in the form of a cast of the row to STRING."""
    if not types:
        return joined((), "{", "}", len(rows))
    columns = decoded_columns(rows, types)
    return joined([cast_texts(c, t) for c, t in zip(columns, types, strict=True)], "{", "}", len(rows))


def map_texts(columns: dict[str, pa.Array], rows: int) -> pa.Array:
    """Return one text per row, such as ``{a=1, b=null}``, with the columns in Java's order of names."""
    names = sorted(columns, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    texts = [pc.binary_join_element_wise(f"{n}=", pc.fill_null(columns[n], _NULL), "") for n in names]
    return joined(texts, "{", "}", rows)
