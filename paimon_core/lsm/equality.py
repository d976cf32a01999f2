"""Row equality: compares rows for changelog-producer.row-deduplicate (format 10.7) and for differences of versions.

In both cases, null equals null, -0.0 equals 0.0, and the order of the entries of a map does not matter. For the option
(``deduplicated_values``), a null that is an element of an array or a value of a map equals nothing. NaN also equals
nothing, not even NaN, so rows with NaN always count as changed. For differences (``equal_values``), NaN equals NaN, and
nulls inside arrays and maps equal each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.lsm.aggregates.collections.value_codes import same_object, same_row
from paimon_core.lsm.gather import Flags, contiguous


def deduplicated_values(left: pa.Array, right: pa.Array) -> Flags:
    """Return one boolean per row: whether the values count as unchanged for row-deduplicate."""
    if pa.types.is_nested(left.type):
        return _same_numbers(same_row, left, right)
    return np.asarray(_equal_or_null(left, right).to_numpy(zero_copy_only=False))


def equal_values(left: pa.Array, right: pa.Array) -> Flags:
    """Return one boolean per row: whether the values are equal; NaN equals NaN."""
    if pa.types.is_nested(left.type):
        return _same_numbers(same_object, left, right)
    same = _equal_or_null(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False))
    return np.asarray(same.to_numpy(zero_copy_only=False))


def same_rows(
    left: pa.Table,
    right: pa.Table,
    columns: Sequence[str],
    same_values: Callable[[pa.Array, pa.Array], Flags] = deduplicated_values,
) -> Flags:
    """Return one boolean per row: whether the two tables, of equal length, have the same values in all ``columns``."""
    same = np.ones(len(left), np.bool_)
    for name in columns:
        same &= same_values(contiguous(left[name]), contiguous(right[name]))
    return same


def _equal_or_null(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.or_(pc.and_(left.is_null(), right.is_null()), pc.fill_null(pc.equal(left, right), False))


def _same_numbers(numbers_of: Callable[[pa.Array], pa.Array], left: pa.Array, right: pa.Array) -> Flags:
    numbers = numbers_of(pa.concat_arrays([left, right]))
    return np.asarray(numbers[: len(left)] == numbers[len(left) :])
