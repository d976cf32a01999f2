"""Gather: makes columns contiguous and takes their values at given positions.

Taking from one contiguous array is several times faster than taking from chunks, so columns are made contiguous first.
Columns of long texts are not made contiguous, because the copy would need as much memory as the merged rows themselves.
Text of more than 1 GiB is converted to Arrow's large types, because an array of a plain type contains at most 2 GiB.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.byte_budget import BATCH_BYTES, ranges
from paimon_core.lsm.short_texts import are_scattered, take_scattered

Positions = npt.NDArray[np.int64]
"""Row positions."""
Rows = npt.NDArray[Any]
"""Row positions, as integers of any width."""
Flags = npt.NDArray[np.bool_]
"""One boolean per row."""
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
_PIECE_BYTES = 1 << 30
_LONG_BYTES = 1 << 10
"""If texts have more bytes than this on average, copying the texts takes longer than taking them from their chunks."""


def scratch(rows: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an uninitialized array of ``rows`` values in the memory of Arrow's pool.

    The pool keeps freed memory for a while, so that the next window of a merge can use it again. numpy returns memory
    of this size to the system at once, so that each window would have to allocate new pages.
    """
    dtype = np.dtype(kind)
    return np.frombuffer(pa.allocate_buffer(rows * dtype.itemsize), dtype)


def taken(values: npt.NDArray[Any], positions: Rows) -> npt.NDArray[Any]:
    """Return the values at ``positions``, none of which is negative, in the memory of ``scratch``."""
    # With other modes, numpy makes an additional copy.
    return np.take(values, positions, out=scratch(len(positions), values.dtype), mode="clip")


def offsets_of(lengths: Positions | Flags) -> Positions:
    """Return the starts of consecutive runs with these ``lengths``, and the last run's end; true counts as length 1."""
    return np.append(np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64))


def contiguous(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the column as one array; chunks of string or binary above 1 GiB become large_string or large_binary."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    large = _LARGE.get(column.type)
    if large is not None and column.nbytes > _PIECE_BYTES:
        return column.cast(large).combine_chunks()
    return column.combine_chunks()


def take(column: pa.ChunkedArray, positions: Rows | pa.Array) -> pa.ChunkedArray:
    """Return the values at ``positions``, in that order; a null position gives null.

    The result has several chunks if one array of its type cannot contain all values, or if the column has long texts.
    Dictionary columns are decoded.
    """
    if pa.types.is_dictionary(column.type):
        return _take_decoded(column, positions)
    if column.num_chunks > 1 and is_long(column):
        if isinstance(positions, pa.Array):  # a null position takes the row after the last row
            column, positions = _with_null(column), positions.fill_null(len(column)).to_numpy()
        return _take_long(column, positions)
    values, places = contiguous(column), pa.array(positions)
    if are_scattered(values, positions):
        return pa.chunked_array([take_scattered(values, places)])
    taken = pc.take(values, places, boundscheck=False)
    return pa.chunked_array([taken]) if taken.type == column.type else in_pieces(taken, column.type)


def with_whole_columns(rows: pa.Table) -> pa.Table:
    """Return the rows with each column in one chunk, for several calls of ``take``.

    Columns that ``take`` would not make contiguous stay as they are: long texts, and dictionary columns.
    """
    names = [
        name
        for name, column in zip(rows.column_names, rows.columns, strict=True)
        if column.num_chunks > 1 and not pa.types.is_dictionary(column.type) and not is_long(column)
    ]
    return with_contiguous(rows, names)


def is_long(column: pa.ChunkedArray) -> bool:
    """Whether the column has long texts, so that copying the texts takes longer than taking them from their chunks."""
    return bool(column.type in _LARGE and column.nbytes > _LONG_BYTES * len(column))


def _with_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([*column.chunks, pa.nulls(1, column.type)], column.type)


def _take_long(column: pa.ChunkedArray, positions: Rows) -> pa.ChunkedArray:
    sizes = np.asarray(pc.binary_length(column).fill_null(0))[positions]
    pieces = [pa.table([chunk], [""]) for chunk in column.chunks if len(chunk)]
    taken = [take_in_pieces(pieces, positions[start:end]).column(0) for start, end in ranges(sizes, BATCH_BYTES)]
    return pa.chunked_array([chunk for part in taken for chunk in part.chunks], column.type)


def take_in_pieces(pieces: Sequence[pa.Table], positions: Rows) -> pa.Table:
    """Return the rows at the given positions of the concatenated pieces. The call needs the memory of the result twice.

    Each piece has one chunk per column.
    """
    starts = offsets_of(np.array([len(piece) for piece in pieces], np.int64))
    positions = positions.astype(np.int64)
    source = np.searchsorted(starts, positions, "right") - 1
    by_piece = np.argsort(source, kind="stable")
    bounds = np.searchsorted(source[by_piece], np.arange(len(pieces) + 1)).tolist()
    taken = [
        piece.take(pa.array(positions[by_piece[first:last]] - start))
        for piece, start, (first, last) in zip(pieces, starts[:-1], pairwise(bounds), strict=True)
        if first < last
    ]
    back = np.empty_like(by_piece)
    back[by_piece] = np.arange(len(by_piece))
    return pa.concat_tables(taken).combine_chunks().take(pa.array(back))


def take_rows(rows: pa.Table, positions: Rows, columns: Sequence[str]) -> pa.Table:
    """Return ``columns`` of the rows at ``positions``, in that order."""
    rows = rows.select(columns)
    return pa.Table.from_arrays(
        [take(column, positions) for column in rows.columns], schema=decoded_schema(rows.schema)
    )


def decoded(rows: pa.Table) -> pa.Table:
    """Return the rows with dictionary columns decoded."""
    schema = decoded_schema(rows.schema)
    return rows if schema == rows.schema else rows.cast(schema)


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables with the same columns; when their schemas differ, dictionary columns are decoded."""
    if any(table.schema != tables[0].schema for table in tables[1:]):
        tables = [decoded(table) for table in tables]
    return pa.concat_tables(tables)


def decoded_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with dictionary columns decoded."""
    if not any(map(pa.types.is_dictionary, schema.types)):
        return schema
    return pa.schema([f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema])


def _take_decoded(column: pa.ChunkedArray, positions: Rows) -> pa.ChunkedArray:
    """Return the decoded values of a dictionary column.

    The dictionaries of the chunks are only concatenated, not unified.
    """
    kind = column.type.value_type
    numbers, dictionaries, before = [], [], 0
    for chunk in column.chunks:
        numbers.append(pc.add(chunk.indices, pa.scalar(before, pa.int32())))
        dictionaries.append(chunk.dictionary)
        before += len(chunk.dictionary)
    chosen = pc.take(contiguous(pa.chunked_array(numbers, pa.int32())), pa.array(positions), boundscheck=False)
    values = contiguous(pa.chunked_array(dictionaries, kind))
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if len(chosen) * longest > _PIECE_BYTES:
        values = values.cast(_LARGE[kind])
    taken = pc.take(values, chosen, boundscheck=False)
    return pa.chunked_array([taken]) if taken.type == kind else in_pieces(taken, kind)


def with_contiguous(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the rows with each of ``columns`` in one chunk, unless a column is too large for one array of its type.

    Use it for columns that are read more than once.
    """
    for name in columns:
        whole = contiguous(rows[name])
        if whole.type == rows[name].type:
            at = rows.column_names.index(name)
            rows = rows.set_column(at, rows.schema.field(at), pa.chunked_array([whole]))
    return rows


def in_pieces(values: pa.Array, kind: pa.DataType) -> pa.ChunkedArray:
    """Return large text as chunks of the plain type ``kind``, each of not much more than 1 GiB."""
    ends = np.cumsum(pc.fill_null(pc.binary_length(values), 0).to_numpy())
    pieces = int(ends[-1]) // _PIECE_BYTES + 1 if len(ends) else 1
    cuts = [0, *(int(np.searchsorted(ends, i * _PIECE_BYTES)) for i in range(1, pieces)), len(values)]
    return pa.chunked_array([values.slice(a, b - a).cast(kind) for a, b in pairwise(cuts)], kind)
