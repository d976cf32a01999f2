"""Equality of rows as changelog-producer.row-deduplicate sees it (format 10): null equals null, -0.0 equals 0.0.

NaN equals nothing, itself included, so that a row with NaN always counts as changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.gather import contiguous

Mask = npt.NDArray[np.bool_]


def same_rows(left: pa.Table, right: pa.Table, columns: Sequence[str]) -> Mask:
    """One boolean per row: whether the two tables of as many rows agree in all of ``columns``."""
    same = np.ones(len(left), np.bool_)
    for name in columns:
        same &= _same(contiguous(left[name]), contiguous(right[name]))
    return same


def _same(left: pa.Array, right: pa.Array) -> Mask:
    if pa.types.is_list(left.type) or pa.types.is_map(left.type):
        return _same_lists(left, right)
    valid = _bools(pc.and_(left.is_valid(), right.is_valid()))
    neither = _bools(pc.and_(left.is_null(), right.is_null()))
    if pa.types.is_struct(left.type):
        values = np.ones(len(left), np.bool_)
        for n in range(left.type.num_fields):
            values &= _same(left.field(n), right.field(n))
        return (values & valid) | neither
    return _bools(pc.fill_null(pc.equal(left, right), False)) | neither


def _same_lists(left: pa.Array, right: pa.Array) -> Mask:
    """Lists and maps of equal length are compared element by element, maps in the order of their entries."""
    starts, lengths, others = _spans(left), _lengths(left), _spans(right)
    same: Mask = lengths == _lengths(right)
    asked = np.flatnonzero(same & (lengths > 0))
    ends = np.cumsum(lengths[asked])
    if len(asked):
        inside = np.arange(ends[-1]) - np.repeat(ends - lengths[asked], lengths[asked])
        pairs = [
            _elements(array).take(pa.array(np.repeat(at[asked], lengths[asked]) + inside))
            for array, at in ((left, starts), (right, others))
        ]
        same[asked] = np.logical_and.reduceat(_same(*pairs), ends - lengths[asked])
    return same


def _elements(array: pa.Array) -> pa.Array:
    """The elements of all lists, the entries of all maps, as they lie in memory."""
    if not pa.types.is_map(array.type):
        return array.values
    return pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])


def _spans(array: pa.Array) -> npt.NDArray[np.int64]:
    return np.asarray(array.offsets.to_numpy()[:-1], np.int64)


def _lengths(array: pa.Array) -> npt.NDArray[np.int64]:
    """The number of elements, -1 for null."""
    ends = np.asarray(array.offsets.to_numpy(), np.int64)
    lengths = ends[1:] - ends[:-1]
    lengths[~_bools(array.is_valid())] = -1
    return lengths


def _bools(array: pa.Array) -> Mask:
    return np.asarray(array.to_numpy(zero_copy_only=False))
