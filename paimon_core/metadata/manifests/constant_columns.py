"""Constant columns: an array whose values are all equal needs the memory of one value.

Most columns of manifest entries are constant: the kind, the number of buckets, columns that are null in all entries,
the lengths of keys and partitions. Such a column is a read-only numpy array with a stride of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def shared(column: Array) -> Array:
    """Return the column, as a constant column if all of its values are equal."""
    if len(column) < 2 or column[0] != column[-1] or not (column == column[0]).all():
        return column
    return _repeated(column[:1].copy(), len(column))


def taken(column: Array, at: Any) -> Array:
    """Return the values at the positions or in the slice ``at``; a constant column stays constant."""
    if not isinstance(at, slice) and _is_constant(column):
        return _repeated(column[:1], len(at))
    out: Array = column[at]
    return out


def joined(columns: Sequence[Array]) -> Array:
    """Return the values of all columns, in order; constant columns with the same value give a constant column."""
    first = columns[0]
    values = [c[:1] for c in columns if len(c)]
    if values and all((_is_constant(c) or len(c) < 2) and c[:1] == values[0] for c in columns if len(c)):
        return _repeated(values[0], sum(map(len, columns)))
    out: Array = np.concatenate(columns) if len(columns) > 1 else first
    return out


def memory_of(column: Array) -> int:
    """Return the bytes of memory of a column."""
    return column.itemsize if _is_constant(column) else column.nbytes


def own(column: Array) -> Array:
    """Return a copy of a column, which may be part of a larger array; a constant column is returned as it is."""
    return column if _is_constant(column) else column.copy()


def _is_constant(column: Array) -> bool:
    return column.strides == (0,)


def _repeated(value: Array, count: int) -> Array:
    out: Array = np.ndarray((count,), value.dtype, buffer=value, strides=(0,))  # a tenth of the time of broadcast_to
    out.flags.writeable = False
    return out
