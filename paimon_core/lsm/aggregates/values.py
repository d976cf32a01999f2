"""Converts fixed-width values from and to numpy arrays, and applies functions to non-null values (format 9.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_core.lsm.aggregates.aggregate import Retracts
from paimon_core.lsm.aggregates.positions import valid_rows
from paimon_core.lsm.gather import contiguous
from paimon_core.lsm.key_groups import Groups

Numbers = npt.NDArray[Any]
"""One number per row or per group."""
Valid = npt.NDArray[np.bool_]
"""One boolean per group: whether it has a value."""
Step = Callable[[pa.Array, Groups, Retracts | None], pa.Array]
"""Maps a column, non-empty groups without nulls, and the retracts to one value per group."""


def raw(array: pa.Array, dtype: npt.DTypeLike, words: int = 1) -> Numbers:
    """Return the memory of a fixed-width array without a copy, as ``words`` numbers per value, arbitrary for null."""
    width = np.dtype(dtype).itemsize * words
    buffer = array.buffers()[1] if len(array) else None
    if buffer is None:
        return np.zeros(0, dtype)
    return np.frombuffer(buffer, dtype, count=len(array) * words, offset=array.offset * width)


def has_nan(array: pa.Array) -> bool:
    """Whether an array of floats includes NaN; it may also be true for arrays with nulls."""
    with np.errstate(invalid="ignore"):
        return bool(np.isnan(np.min(raw(array, array.type.to_pandas_dtype()), initial=0)))


def column_of(values: Numbers, kind: pa.DataType, valid: Valid | None = None) -> pa.Array:
    """Return an Arrow array of type ``kind`` that shares the memory of ``values``; null where ``valid`` is false."""
    values = np.ascontiguousarray(values)
    nulls = None if valid is None or valid.all() else pa.array(valid).buffers()[1]
    length = values.nbytes * 8 // kind.bit_width
    return pa.Array.from_buffers(kind, length, [nulls, pa.py_buffer(values)])


def skipping_nulls(column: pa.ChunkedArray, groups: Groups, retracts: Retracts | None, step: Step) -> pa.ChunkedArray:
    """Return the result of ``step`` for the non-null values of each group; null for groups without such values."""
    rows = valid_rows(column)
    groups = groups.compact() if rows is None else groups.where(rows)
    filled = groups.lengths > 0
    values = step(contiguous(column), groups if filled.all() else groups.keep(filled), retracts)
    if not filled.all():
        places = np.cumsum(filled) - 1
        values = values.take(pa.array(places, mask=~filled))
    return pa.chunked_array([values], column.type)
