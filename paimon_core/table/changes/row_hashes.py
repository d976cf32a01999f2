"""Row hashes: 64 bits per row, equal for equal rows, for whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.bucket_hash import hash_rows
from paimon_core.lsm.gather import contiguous
from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS, parse_type

Hashes = npt.NDArray[np.uint64]
_TEXT = parse_type("STRING")


def row_hashes(rows: pa.Table | pa.RecordBatch, fields: Sequence[DataField]) -> Hashes:
    """Return one hash per row over the columns ``fields``.

    -0.0 counts as 0.0, each NaN as the same, and the entries of a map have no order. Nested columns take a Python value
    per row.
    """
    if not len(rows):
        return np.zeros(0, np.uint64)
    columns, types = [], []
    for field in fields:
        column = contiguous(rows[field.name])
        if field.type.root in NESTED_ROOTS:
            columns.append(pa.array([repr(_plain(value, column.type)) for value in column.to_pylist()]))
            types.append(_TEXT)
            continue
        if pa.types.is_floating(column.type):
            nan = pc.fill_null(pc.is_nan(column), False)
            column = pc.if_else(nan, pa.scalar(float("nan"), column.type), pc.add(column, pa.scalar(0.0, column.type)))
        columns.append(column)
        types.append(field.type)
    # The columns in two orders give two different 32-bit hashes: together they are 64 bits.
    high = hash_rows(columns, types).view(np.uint32).astype(np.uint64)
    low = hash_rows([*columns[::-1], columns[0]], [*types[::-1], types[0]]).view(np.uint32).astype(np.uint64)
    return (high << np.uint64(32)) | low


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Return a value whose text is the same for equal values."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        pairs = ((_plain(k, kind.key_type), _plain(v, kind.item_type)) for k, v in value)
        return sorted(pairs, key=repr)
    if pa.types.is_list(kind):
        return [_plain(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return [_plain(value[f.name], f.type) for f in kind]
    return value + 0.0 if isinstance(value, float) else value
