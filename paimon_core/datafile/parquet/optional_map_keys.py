"""Optional map keys: reads Parquet files with OPTIONAL map keys, as written by Paimon before 0.9; Arrow refuses them.

The footer that is passed to Arrow declares these maps as lists of pairs, which have the same levels and values. After
decoding, the lists are converted back to maps.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.codec.parquet.thrift import I32, STRUCT, Struct, parse_struct
from paimon_core.datafile.evolution.nested_arrays import rebuilt
from paimon_core.datafile.parquet.footer import arrow_metadata, as_metadata, schema_elements
from paimon_core.errors import UnsupportedFeature

_OPTIONAL = 1
_MAP, _MAP_KEY_VALUE, _LIST = 1, 2, 3
_AS_LIST = (I32, _LIST)
_LOGICAL_LIST: Struct = {3: (STRUCT, {})}
# The field ids of SchemaElement in format/parquet.thrift.
_REPETITION, _CHILDREN, _CONVERTED, _LOGICAL = 3, 5, 6, 10
_LOGICAL_MAP = 2
_PAIRS = ("key_value", "map")
"""The names of the repeated group of a map in Parquet; a list's group is named ``list`` or ``element``."""


def open_metadata(footer: bytes) -> tuple[pq.FileMetaData, bool]:
    """Return a footer as Arrow metadata, and whether its maps were changed to lists.

    Raises ArrowInvalid or ValueError for an invalid footer.
    """
    try:
        return arrow_metadata(footer), False
    except pa.ArrowInvalid as error:
        if "Map keys" not in str(error):
            raise
        tree = parse_struct(footer)
        if not maps_as_lists(tree):
            raise
        return as_metadata(tree), True


def maps_as_lists(footer: Struct) -> bool:
    """Change every map with optional keys to a list of pairs, in place; return whether there was such a map."""
    elements = schema_elements(footer)
    found = False
    try:
        for outer, pair, key in zip(elements, elements[1:], elements[2:], strict=False):
            if not _is_map(outer) or pair.get(_CHILDREN, (I32, 0))[1] != 2 or key[_REPETITION][1] != _OPTIONAL:
                continue
            outer[_CONVERTED] = _AS_LIST
            if _LOGICAL in outer:
                outer[_LOGICAL] = (STRUCT, dict(_LOGICAL_LIST))
            pair.pop(_CONVERTED, None)
            pair.pop(_LOGICAL, None)
            found = True
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"the footer lacks a part: {error!r}") from None
    return found


def _is_map(element: Struct) -> bool:
    if element.get(_CHILDREN, (I32, 0))[1] != 1:
        return False
    converted, logical = element.get(_CONVERTED), element.get(_LOGICAL)
    return (converted is not None and converted[1] in (_MAP, _MAP_KEY_VALUE)) or (
        logical is not None and _LOGICAL_MAP in logical[1]
    )


def with_maps(dtype: pa.DataType) -> pa.DataType:
    """Return a type with the lists of pairs that ``maps_as_lists`` created changed back to maps."""
    if pa.types.is_struct(dtype):
        return pa.struct([f.with_type(with_maps(f.type)) for f in dtype])
    if pa.types.is_map(dtype):
        return pa.map_(with_maps(dtype.key_type), dtype.item_field.with_type(with_maps(dtype.item_type)))
    if not pa.types.is_list(dtype):
        return dtype
    member = dtype.value_field
    if member.name in _PAIRS and pa.types.is_struct(member.type) and member.type.num_fields == 2:
        key, value = member.type
        return pa.map_(with_maps(key.type), value.with_type(with_maps(value.type)))
    return pa.list_(member.with_type(with_maps(member.type)))


def as_maps(array: pa.Array, column: str) -> pa.Array:
    """Return a decoded column with the lists of ``maps_as_lists`` as maps; raises UnsupportedFeature for a null key."""
    wanted = with_maps(array.type)
    try:
        return rebuilt(array, wanted, lambda leaf, kind: leaf.cast(kind))
    except pa.ArrowInvalid as error:
        raise UnsupportedFeature(
            f"column {column!r} contains a map with a null key, which Arrow cannot represent: read the other columns",
            column=column,
        ) from error
