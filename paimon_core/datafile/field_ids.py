"""Field ids: the Arrow schema of a data file with field ids as metadata, for Parquet and ORC (format 7.7, 7.9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from paimon_core.schema import DataField
from paimon_core.types import NESTED_ROOTS, STRUCT_ROOTS, DataType, TypeRoot

Leaf = Callable[[DataType], pa.DataType]

_CHILD_ID_BASE = 536870911
_CHILD_ID_STEP = 1024


def numbered_schema(fields: Sequence[DataField], key: bytes, leaf: Leaf) -> pa.Schema:
    """Return the Arrow schema of ``fields`` with each field id under the metadata key ``key``.

    ``leaf`` returns the Arrow type of a type that is not nested.
    """

    def numbered(field: pa.Field, field_id: int) -> pa.Field:
        return field.with_metadata({key: str(field_id).encode()})

    def stored(dtype: DataType, field_id: int, depth: int) -> pa.DataType:
        """Return the Arrow type; elements, keys and values have ids computed from the column's id and the depth."""
        if dtype.root not in NESTED_ROOTS:
            return leaf(dtype)
        if dtype.root in STRUCT_ROOTS:
            return pa.struct([column(c.name, c.type, c.id) for c in dtype.children])
        inner = [
            pa.field(c.name, stored(c.type, field_id, depth + 1), nullable=c.type.nullable) for c in dtype.children
        ]
        distance = _CHILD_ID_STEP * field_id + depth
        if dtype.root is TypeRoot.ARRAY:
            return pa.list_(numbered(inner[0], _CHILD_ID_BASE + distance))
        map_key = numbered(inner[0].with_nullable(False), _CHILD_ID_BASE - distance)
        return pa.map_(map_key, numbered(inner[1], _CHILD_ID_BASE + distance))

    def column(name: str, dtype: DataType, field_id: int) -> pa.Field:
        return numbered(pa.field(name, stored(dtype, field_id, 1), nullable=dtype.nullable), field_id)

    return pa.schema([column(f.name, f.type, f.id) for f in fields])
