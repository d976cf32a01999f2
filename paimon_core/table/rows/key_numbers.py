"""Key numbers: numbers the distinct keys of the source of a merge, and finds the numbers of the keys of other rows.

The keys are sorted once: a single column of whole numbers, dates or times by its values, any other key by the hash of
its BinaryRow bytes (``table_indexes.key_index``). A search costs one binary search per row. Memory for each distinct
key: 8 bytes if it is a whole number, a date or a time; otherwise 20 bytes plus the size of the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.table_indexes.key_index import KeyIndex, key_images
from paimon_core.types import DataType

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KeyNumbers:
    """The numbers 0, 1, ... of the distinct keys of some rows; a key with a null has no number."""

    types: tuple[DataType, ...]
    values: Numbers
    """The distinct keys, ascending, if the key is one column of whole numbers."""
    index: KeyIndex | None
    """The distinct keys, if the key is not one column of whole numbers."""

    @staticmethod
    def of(columns: Sequence[pa.ChunkedArray], types: Sequence[DataType]) -> KeyNumbers:
        """Number the keys; ``columns`` has one column for each type, as ``comparable`` returns it."""
        valid = _valid(columns)
        if len(columns) == 1 and _is_whole(columns[0].type):
            return KeyNumbers(tuple(types), np.unique(_whole(columns[0])[valid]), None)
        images = key_images([c.filter(pa.array(valid)) for c in columns], types)
        distinct, index = images.unique(), KeyIndex()
        index.put(distinct, np.arange(len(distinct)))
        return KeyNumbers(tuple(types), np.zeros(0, np.int64), index)

    def find(self, columns: Sequence[pa.ChunkedArray]) -> Numbers:
        """Return the number of the key of each row; -1 for an unknown key and for a key with a null."""
        valid = _valid(columns)
        if self.index is not None:
            found = np.full(len(valid), -1, np.int64)
            chosen = columns if valid.all() else [c.filter(pa.array(valid)) for c in columns]
            found[valid] = self.index.numbers(key_images(chosen, self.types))
            return found
        if not len(self.values):
            return np.full(len(valid), -1, np.int64)
        wanted = _whole(columns[0])
        at = np.minimum(np.searchsorted(self.values, wanted), len(self.values) - 1)
        return np.where(valid & (self.values[at] == wanted), at, -1)


def comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column in a form in which equal values have equal bits: one NaN, and 0.0 instead of -0.0."""
    if not pa.types.is_floating(column.type):
        return column
    zero, nan = pa.scalar(0.0, column.type), pa.scalar(float("nan"), column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def _valid(columns: Sequence[pa.ChunkedArray]) -> npt.NDArray[np.bool_]:
    valid = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        if column.null_count:
            valid &= column.is_valid().to_numpy()
    return valid


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def _whole(column: pa.ChunkedArray) -> Numbers:
    """Return the values as int64; 0 for a null."""
    narrow = pa.types.is_temporal(column.type) and column.type.bit_width == 32
    plain = column.cast(pa.int32()) if narrow else column
    return np.asarray(plain.cast(pa.int64()).fill_null(0).to_numpy())
