"""Gather: a column in one piece, and the values at given positions.

Taking from one contiguous array is several times faster than taking from chunks, so columns are made contiguous first.
Text of more than 1 GiB goes through Arrow's large types, since one plain array holds no more than 2 GiB.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Positions = npt.NDArray[np.int64]
"""Numbers of rows."""
Rows = npt.NDArray[Any]
"""Numbers of rows, in integers of any width."""
Flags = npt.NDArray[np.bool_]
"""One boolean per row."""
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
_PIECE_BYTES = 1 << 30


def scratch(rows: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of any values in the memory of Arrow's pool.

    The pool keeps what it gets back for a while. numpy's own memory of this size goes back to the system at once, and
    each window of a merge would pay for new pages.
    """
    dtype = np.dtype(kind)
    return np.frombuffer(pa.allocate_buffer(rows * dtype.itemsize), dtype)


def offsets_of(lengths: Positions | Flags) -> Positions:
    """Where runs of these lengths begin when they lie end to end, and where the last one ends; a flag counts as 1."""
    return np.append(np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64))


def contiguous(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one array; string and binary beyond 1 GiB come as large_string and large_binary."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    large = _LARGE.get(column.type)
    if large is not None and column.nbytes > _PIECE_BYTES:
        return column.cast(large).combine_chunks()
    return column.combine_chunks()


def take(column: pa.ChunkedArray, positions: Rows) -> pa.ChunkedArray:
    """The values at ``positions``, in that order, in as many chunks as the column's type needs."""
    taken = pc.take(contiguous(column), pa.array(positions), boundscheck=False)
    return pa.chunked_array([taken]) if taken.type == column.type else in_pieces(taken, column.type)


def take_rows(rows: pa.Table, positions: Rows, columns: Sequence[str]) -> pa.Table:
    """``columns`` of the rows at ``positions``, in that order."""
    rows = rows.select(columns)
    return pa.Table.from_arrays([take(column, positions) for column in rows.columns], schema=rows.schema)


def in_pieces(values: pa.Array, kind: pa.DataType) -> pa.ChunkedArray:
    """Large text as chunks of the plain type ``kind``, none of which holds much more than 1 GiB."""
    ends = np.cumsum(pc.fill_null(pc.binary_length(values), 0).to_numpy())
    pieces = int(ends[-1]) // _PIECE_BYTES + 1 if len(ends) else 1
    cuts = [0, *(int(np.searchsorted(ends, i * _PIECE_BYTES)) for i in range(1, pieces)), len(values)]
    return pa.chunked_array([values.slice(a, b - a).cast(kind) for a, b in pairwise(cuts)], kind)
