"""Nested values: convert the members of nested columns, and find rows with a member that does not fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import MAP_ROOTS, STRUCT_ROOTS, DataType

Leaf = Callable[[pa.Array, DataType, str], tuple[pa.Array, np.ndarray | None]]
"""Converts values that are not nested to a type; the text is the path of the values, such as ``address.city``."""


def convert_nested(values: pa.Array, kind: DataType, leaf: Leaf, path: str) -> tuple[pa.Array, np.ndarray | None]:
    """Return the converted column, and flags for the rows with a value that does not fit (None: all rows fit).

    Members of a ROW are found by name, and are null when the values do not have them. A null in a NOT NULL member does
    not fit.
    """
    if not kind.children:
        return leaf(values, kind, path)
    if kind.root in STRUCT_ROOTS:
        return _struct(values, kind, leaf, path)
    return _list(values, kind, leaf, path)


def _flags(values: pa.Array) -> np.ndarray:
    return np.array(values.to_numpy(zero_copy_only=False), bool)


def _struct(values: pa.Array, kind: DataType, leaf: Leaf, path: str) -> tuple[pa.Array, np.ndarray | None]:
    held = _flags(values.is_valid())
    bad = np.zeros(len(values), bool)
    columns = []
    for child in kind.children:
        below = f"{path}.{child.name}"
        at = values.type.get_field_index(child.name)
        if at < 0:
            column, unfit = pa.nulls(len(values), child.type.to_arrow()), None
        else:
            column, unfit = convert_nested(pc.struct_field(values, [at]), child.type, leaf, below)
        bad |= unfit if unfit is not None else False
        if not child.type.nullable:
            bad |= held & _flags(column.is_null())
        columns.append(column)
    fields = [pa.field(child.name, column.type) for child, column in zip(kind.children, columns, strict=True)]
    built = pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array(~held))
    return built, bad if bad.any() else None


def _list(values: pa.Array, kind: DataType, leaf: Leaf, path: str) -> tuple[pa.Array, np.ndarray | None]:
    """Convert an ARRAY, MAP or MULTISET. The value of a row with a bad member becomes empty: Arrow refuses null
    keys."""
    is_map = kind.root in MAP_ROOTS
    if is_map:
        pair = pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])
        values = values.cast(pa.list_(pair))
    held, flat = _flags(values.is_valid()), pc.list_flatten(values)
    counts = np.asarray(pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)).astype(np.int64)
    parents = np.repeat(np.arange(len(values)), counts)
    bad = np.zeros(len(values), bool)
    columns = []
    for at, child in enumerate(kind.children):
        inner = pc.struct_field(flat, [at]) if is_map else flat
        column, unfit = convert_nested(inner, child.type, leaf, f"{path}.{child.name}")
        if unfit is not None:
            bad[parents[unfit]] = True
        if not child.type.nullable or (is_map and at == 0):
            bad[parents[_flags(column.is_null())]] = True
        columns.append(column)
    if bad.any():
        columns = [pc.filter(column, pa.array(~bad[parents])) for column in columns]
        counts[bad] = 0
    offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32(), mask=np.append(~held, False))
    built = pa.MapArray.from_arrays(offsets, *columns) if is_map else pa.ListArray.from_arrays(offsets, columns[0])
    return built, bad if bad.any() else None
