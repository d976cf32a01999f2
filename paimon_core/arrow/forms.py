"""Forms: changes Arrow columns to the form of a table type before their values are converted and checked.

The members of a ROW are matched by name, dictionaries become their values, and lists of any form become lists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from paimon_core.types import MAP_ROOTS, STRUCT_ROOTS, DataType, TypeRoot, is_list

_TAKEN = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""The types to which the values of dictionaries are cast, because Arrow cannot take values of a view."""


def plain_form(column: pa.ChunkedArray, kind: DataType) -> pa.ChunkedArray:
    """Return the column with its members in the order of ``kind``; missing nullable members become nulls.

    A column that does not have the form of ``kind`` is returned unchanged.
    """
    wanted = _form(column.type, kind)
    if wanted == column.type:
        return column
    return pa.chunked_array([_formed(chunk, wanted) for chunk in column.chunks], wanted)


def _form(source: pa.DataType, kind: DataType) -> pa.DataType:
    """Return the type of the plain form of a column of the type ``source``."""
    if pa.types.is_dictionary(source):
        return _form(_TAKEN.get(source.value_type, source.value_type), kind)
    if kind.root is TypeRoot.ARRAY and is_list(source):
        return pa.list_(source.value_field.with_type(_form(source.value_type, kind.children[0].type)))
    if kind.root in MAP_ROOTS and pa.types.is_map(source):
        key, item = (child.type for child in kind.children)
        return pa.map_(_form(source.key_type, key), source.item_field.with_type(_form(source.item_type, item)))
    if kind.root in STRUCT_ROOTS and pa.types.is_struct(source):
        held = {f.name: f for f in source}
        missing = [c for c in kind.children if c.name not in held]
        if held.keys() - {c.name for c in kind.children} or any(not c.type.nullable for c in missing):
            return source
        if len(held) < source.num_fields:
            return source
        return pa.struct(
            [
                held[c.name].with_type(_form(held[c.name].type, c.type))
                if c.name in held
                else pa.field(c.name, c.type.to_arrow())
                for c in kind.children
            ]
        )
    return source


def _formed(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if array.type == wanted:
        return array
    if pa.types.is_dictionary(array.type):
        values = array.dictionary
        taken = _TAKEN.get(values.type)
        return _formed((values if taken is None else values.cast(taken)).take(array.indices), wanted)
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(wanted):
        held = dict(zip((f.name for f in array.type), array.flatten(), strict=True))
        inner = [_formed(held[f.name], f.type) if f.name in held else pa.nulls(len(array), f.type) for f in wanted]
        return pa.StructArray.from_arrays(inner, fields=list(wanted), mask=mask)
    if pa.types.is_map(wanted):
        array = _from_start(array)
        inner = [_formed(array.keys, wanted.key_type), _formed(array.items, wanted.item_type)]
        return pa.MapArray.from_arrays(array.offsets, *inner, type=wanted, mask=mask)
    if not pa.types.is_list(array.type):
        array = array.cast(pa.list_(array.type.value_field))
    array = _from_start(array)
    return pa.ListArray.from_arrays(array.offsets, _formed(array.values, wanted.value_type), type=wanted, mask=mask)


def _from_start(array: pa.Array) -> pa.Array:
    """Return an array whose buffers start with its first value: a copy, if the array has an offset."""
    return pa.concat_arrays([array, array.slice(0, 0)]) if array.offset else array


def loose(kind: DataType) -> DataType:
    """Return the type with all nested members nullable.

    The members of a null row are null, and Arrow refuses to cast these nulls to a NOT NULL member.
    """
    members = (replace(c, type=replace(loose(c.type), nullable=True)) for c in kind.children)
    return replace(kind, children=tuple(members))


def labelled_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return the column with the type ``kind``, as ``labelled`` does."""
    return column if column.type == kind else pa.chunked_array([labelled(c, kind) for c in column.chunks], kind)


def labelled(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the array with the type ``kind``, which must differ only in nullability; nothing is copied or checked."""
    return array if array.type == kind else pa.array(_Labelled(array, kind))


@dataclass(frozen=True, slots=True)
class _Labelled:
    """An array that exports its buffers to Arrow under another type; used by ``labelled``."""

    array: pa.Array
    kind: pa.DataType

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self.kind.__arrow_c_schema__(), self.array.__arrow_c_array__()[1]
