"""Equality of rows as changelog-producer.row-deduplicate sees it (format 10.7).

Null equals null, but not as an element of an array or a value of a map. -0.0 equals 0.0, NaN equals nothing, itself
included: such rows always count as changed. The entries of a map have no order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.codes import order_codes
from paimon_core.lsm.gather import Positions, contiguous

Mask = npt.NDArray[np.bool_]


def same_rows(left: pa.Table, right: pa.Table, columns: Sequence[str]) -> Mask:
    """One boolean per row: whether the two tables of as many rows agree in all of ``columns``."""
    same = np.ones(len(left), np.bool_)
    for name in columns:
        same &= _same(contiguous(left[name]), contiguous(right[name]))
    return same


def _same(left: pa.Array, right: pa.Array) -> Mask:
    neither = _bools(pc.and_(left.is_null(), right.is_null()))
    return _same_values(left, right) | neither


def _same_values(left: pa.Array, right: pa.Array) -> Mask:
    """Whether there are two values and they are equal."""
    if pa.types.is_list(left.type) or pa.types.is_map(left.type):
        return _same_lists(left, right)
    if pa.types.is_struct(left.type):
        same = _bools(pc.and_(left.is_valid(), right.is_valid()))
        for n in range(left.type.num_fields):
            same &= _same(left.field(n), right.field(n))
        return same
    return _bools(pc.fill_null(pc.equal(left, right), False))


def _same_lists(left: pa.Array, right: pa.Array) -> Mask:
    """Lists and maps of equal length are compared element by element, maps in the order of their keys."""
    lengths = _lengths(left)
    same: Mask = (lengths == _lengths(right)) & (lengths >= 0)
    asked = np.flatnonzero(same & (lengths > 0))
    if not len(asked):
        return same
    sizes = lengths[asked]
    starts = np.cumsum(sizes) - sizes
    inside = np.arange(sizes.sum()) - np.repeat(starts, sizes)
    places = [pa.array(np.repeat(_starts(array)[asked], sizes) + inside) for array in (left, right)]
    if not pa.types.is_map(left.type):
        equal = _same_values(*(array.values.take(at) for array, at in zip((left, right), places, strict=True)))
    else:
        keys = [array.keys.take(at) for array, at in zip((left, right), places, strict=True)]
        items = [array.items.take(at) for array, at in zip((left, right), places, strict=True)]
        number = np.repeat(np.arange(len(asked)), sizes)
        codes = np.split(order_codes([pa.chunked_array(keys)]), 2)
        by_key = [pa.array(np.lexsort((code, number))) for code in codes]
        equal = _same_values(*(k.take(at) for k, at in zip(keys, by_key, strict=True)))
        equal &= _same_values(*(i.take(at) for i, at in zip(items, by_key, strict=True)))
    same[asked] = np.logical_and.reduceat(equal, starts)
    return same


def _starts(array: pa.Array) -> Positions:
    return np.asarray(array.offsets.to_numpy()[:-1], np.int64)


def _lengths(array: pa.Array) -> npt.NDArray[np.int64]:
    """The number of elements, -1 for null."""
    ends = np.asarray(array.offsets.to_numpy(), np.int64)
    lengths = ends[1:] - ends[:-1]
    lengths[~_bools(array.is_valid())] = -1
    return lengths


def _bools(array: pa.Array) -> Mask:
    return np.asarray(array.to_numpy(zero_copy_only=False))
