"""Nested arrays: splits lists, maps and rows into their parts and rebuilds them around converted values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Leaf = Callable[[pa.Array, pa.DataType], pa.Array]


def rebuilt(array: pa.Array, wanted: pa.DataType, leaf: Leaf) -> pa.Array:
    """Return ``array`` as the type ``wanted``, which must have the same shape.

    ``leaf`` converts arrays that are not nested and do not have the wanted type. A list of pairs may become a map, and
    a map may become a list of pairs. Raises pa.ArrowException for a different shape.
    """
    if array.type == wanted:
        return array
    if not pa.types.is_nested(wanted):
        return leaf(array, wanted)
    array = whole(array)
    types = [wanted.field(at).type for at in range(wanted.num_fields)]
    if pa.types.is_map(wanted):
        types = [wanted.key_type, wanted.item_type]
    found = zip(parts(array, wanted), types, strict=True)
    return assembled(array, [rebuilt(part, kind, leaf) for part, kind in found], wanted)


def whole(array: pa.Array) -> pa.Array:
    """Return an array whose buffers start with its first value: the array itself, or a copy if it has an offset."""
    return pa.concat_arrays([array, array.slice(0, 0)]) if array.offset else array


def parts(array: pa.Array, shape: pa.DataType) -> list[pa.Array]:
    """Return the child arrays of a nested array from ``whole``: fields, keys and values, or elements.

    ``shape`` is the target type; it determines how maps and lists of pairs are split.
    """
    if pa.types.is_struct(array.type):
        return list(array.flatten())
    if pa.types.is_map(array.type):
        pair = [array.keys, array.items]
        return pair if pa.types.is_map(shape) else [pa.StructArray.from_arrays(pair, ["key", "value"])]
    return parts(array.values, array.values.type) if pa.types.is_map(shape) else [array.values]


def assembled(array: pa.Array, inner: Sequence[pa.Array], wanted: pa.DataType) -> pa.Array:
    """Return an array of type ``wanted`` from the parts ``inner``, with the nulls and lengths of ``array``.

    ``array`` must be a result of ``whole``.
    """
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(wanted):
        return pa.StructArray.from_arrays(list(inner), fields=list(wanted), mask=mask)
    if pa.types.is_map(wanted):
        return pa.MapArray.from_arrays(array.offsets, *inner, type=wanted, mask=mask)
    return pa.ListArray.from_arrays(array.offsets, *inner, type=wanted, mask=mask)


def has_required(kind: pa.DataType) -> bool:
    """Whether any member of a nested type, at any level, is NOT NULL; map keys are ignored."""
    return any(
        not f.nullable or has_required(f.type)
        for f in _members(kind)
        if not (pa.types.is_map(kind) and f == kind.key_field)
    )


def without_hidden_nulls(array: pa.Array) -> pa.Array:
    """Return the same rows, where each null of a NOT NULL member inside a null row is replaced by a value.

    File writers refuse such nulls. The null rows stay null, so the values inside of them are never read.
    """
    if not has_required(array.type):
        return array
    array = whole(array)
    members = zip(parts(array, array.type), _members(array.type), strict=True)
    return assembled(array, [_filled(without_hidden_nulls(part), member) for part, member in members], array.type)


def with_inherited_nulls(array: pa.Array) -> pa.Array:
    """Return the same rows; in the result, every member of a null ROW is null as well, at any level.

    Arrow's ORC writer stores all member values that are not null, even inside of a null ROW. Readers would then return
    such a value for a later row.
    """
    if not pa.types.is_nested(array.type):
        return array
    array = whole(array)
    return assembled(array, [with_inherited_nulls(part) for part in parts(array, array.type)], array.type)


def _members(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.field(at) for at in range(kind.num_fields)]


def _filled(part: pa.Array, member: pa.Field) -> pa.Array:
    if member.nullable or not part.null_count:
        return part
    return pc.coalesce(part, pa.scalar(_some_value(part.type), part.type))


def _some_value(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        return {f.name: _some_value(f.type) for f in kind}
    if pa.types.is_nested(kind):
        return []
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary(kind):
        return b"" if pa.types.is_binary(kind) else bytes(kind.byte_width)
    if pa.types.is_boolean(kind):
        return False
    return "" if pa.types.is_string(kind) else 0
