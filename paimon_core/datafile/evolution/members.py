"""Members: reads only some of the fields of a ROW column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from paimon_core.datafile.evolution.nested_arrays import assembled, parts, whole
from paimon_core.schema import DataField
from paimon_core.types import DataType, TypeRoot


def with_members_of(stored: DataType, wanted: DataType) -> DataType:
    """Return the stored type with only the fields of its ROWs that ``wanted`` has, by id; other types are unchanged."""
    if stored.root is not TypeRoot.ROW or wanted.root is not TypeRoot.ROW:
        return stored
    types = {c.id: c.type for c in wanted.children if c.id >= 0}
    kept = [replace(c, type=with_members_of(c.type, types[c.id])) for c in stored.children if c.id in types]
    return replace(stored, children=tuple(kept)) if kept else stored


def shares_members(stored: DataType, wanted: DataType) -> bool:
    """Whether a file of type ``stored`` has at least one of the wanted fields of each ROW.

    If the file has no wanted field of a ROW, the fields that are read do not show which values of the ROW are null.
    """
    if stored.root is not TypeRoot.ROW or wanted.root is not TypeRoot.ROW:
        return True
    types = {c.id: c.type for c in stored.children}
    common = [(types[c.id], c.type) for c in wanted.children if c.id in types]
    return bool(common) and all(shares_members(old, new) for old, new in common)


def chosen(rows: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """Return ``rows`` with only the wanted members of each ROW.

    ``fields`` are the wanted fields of the columns, in the order of the columns.
    """
    for at, field in enumerate(fields):
        if field.type.root is TypeRoot.ROW and rows.schema.types[at] != field.type.to_arrow():
            arrays = [_only_members(chunk, field.type) for chunk in rows.column(at).chunks]
            rows = rows.set_column(at, field.arrow, pa.chunked_array(arrays, field.type.to_arrow()))
    return rows


def _only_members(array: pa.Array, dtype: DataType) -> pa.Array:
    wanted = dtype.to_arrow()
    if array.type == wanted or dtype.root is not TypeRoot.ROW:
        return array
    array = whole(array)
    found = dict(zip([f.name for f in array.type], parts(array, array.type), strict=True))
    return assembled(array, [_only_members(found[c.name], c.type) for c in dtype.children], wanted)


def leaf_paths(name: str, found: pa.DataType, dtype: DataType) -> list[str]:
    """Return the dotted paths of the Parquet columns that contain ``dtype``; ``found`` is the type in the file."""
    if dtype.root is not TypeRoot.ROW or not pa.types.is_struct(found):
        return [name]
    types = {f.name: f.type for f in found}
    inner = [leaf_paths(f"{name}.{c.name}", types[c.name], c.type) for c in dtype.children]
    is_whole = found.num_fields == len(inner) and all(
        paths == [f"{name}.{c.name}"] for paths, c in zip(inner, dtype.children, strict=True)
    )
    return [name] if is_whole else [path for paths in inner for path in paths]
