"""JSON types: the Arrow types as which JSON is read, and their exact conversion to the types of a table.

Dates, times and binaries are texts in JSON, and are converted as in ``text_values``. Numbers are read as the type of their
column; a number as a text is accepted for a DECIMAL only.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot
from pipelines.sources.files.text_values import TextRules, convert_text

_TEXTS = STRING_ROOTS | BINARY_ROOTS | TIMESTAMP_ROOTS | {TypeRoot.DATE, TypeRoot.TIME}


def read_type(kind: DataType) -> pa.DataType:
    """Return the Arrow type as which values of a JSON column are read."""
    if kind.root in _TEXTS:
        return pa.string()
    match kind.root:
        case TypeRoot.FLOAT:
            return pa.float64()
        case TypeRoot.ARRAY:
            return pa.list_(read_type(kind.children[0].type))
        case TypeRoot.MAP:
            return pa.map_(read_type(kind.children[0].type), read_type(kind.children[1].type))
        case TypeRoot.ROW:
            return pa.struct([(child.name, read_type(child.type)) for child in kind.children])
    return kind.to_arrow()


def has_root(kind: DataType, root: TypeRoot) -> bool:
    """Whether a type is of this root or has members that are."""
    return kind.root is root or any(has_root(child.type, root) for child in kind.children)


def convert_json(values: pa.Array, kind: DataType, rules: TextRules) -> tuple[pa.Array, np.ndarray | None]:
    """Convert a column of ``read_type(kind)`` to ``kind``; the flags tell the rows with a value that does not fit."""
    if kind.root in _TEXTS:
        return convert_text(values, kind, rules)
    if kind.root is TypeRoot.FLOAT:
        narrow = values.cast(pa.float32())
        lost = pc.fill_null(pc.and_(pc.is_inf(narrow), pc.is_finite(values)), False)
        return narrow, _flags(lost) if pc.any(lost).as_py() else None
    if not kind.children:
        return values, None
    if kind.root is TypeRoot.ROW:
        return _struct(values, kind, rules)
    return _list(values, kind, rules)


def _flags(values: pa.Array) -> np.ndarray:
    return np.array(values.to_numpy(zero_copy_only=False), bool)


def _struct(values: pa.Array, kind: DataType, rules: TextRules) -> tuple[pa.Array, np.ndarray | None]:
    held = _flags(values.is_valid())
    bad = np.zeros(len(values), bool)
    columns = []
    for at, child in enumerate(kind.children):
        column, unfit = convert_json(pc.struct_field(values, [at]), child.type, rules)
        bad |= unfit if unfit is not None else False
        if not child.type.nullable:
            bad |= held & _flags(column.is_null())
        columns.append(column)
    fields = [pa.field(child.name, column.type) for child, column in zip(kind.children, columns, strict=True)]
    built = pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array(~held))
    return built, bad if bad.any() else None


def _list(values: pa.Array, kind: DataType, rules: TextRules) -> tuple[pa.Array, np.ndarray | None]:
    """Convert an ARRAY or a MAP; a row with a bad member becomes empty, so that no key of a map is null."""
    is_map = kind.root is TypeRoot.MAP
    if is_map:
        pair = pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])
        values = values.cast(pa.list_(pair))
    held, flat = _flags(values.is_valid()), pc.list_flatten(values)
    counts = np.asarray(pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)).astype(np.int64)
    parents = np.repeat(np.arange(len(values)), counts)
    bad = np.zeros(len(values), bool)
    columns = []
    for at, child in enumerate(kind.children):
        column, unfit = convert_json(pc.struct_field(flat, [at]) if is_map else flat, child.type, rules)
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
