"""Row equality: how changelog-producer.row-deduplicate compares two rows (format 10.7).

Null equals null, except as an element of an array or a value of a map. -0.0 equals 0.0. NaN equals nothing, not even
itself, so rows with NaN always count as changed. The order of the entries of a map does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.aggregates.value_codes import same_row
from paimon_core.lsm.gather import Flags, contiguous


def same_rows(left: pa.Table, right: pa.Table, columns: Sequence[str]) -> Flags:
    """Return one boolean per row: whether the two tables, of equal length, have equal values in all of ``columns``."""
    same = np.ones(len(left), np.bool_)
    for name in columns:
        same &= _same(contiguous(left[name]), contiguous(right[name]))
    return same


def _same(left: pa.Array, right: pa.Array) -> Flags:
    if pa.types.is_nested(left.type):
        numbers = same_row(pa.concat_arrays([left, right]))
        return np.asarray(numbers[: len(left)] == numbers[len(left) :])
    neither = pc.and_(left.is_null(), right.is_null())
    return np.asarray(pc.or_(neither, pc.fill_null(pc.equal(left, right), False)).to_numpy(zero_copy_only=False))
