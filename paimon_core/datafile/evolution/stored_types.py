"""Stored types: the Arrow types that a data file may have for a type of the table, and the conversion to this type."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from paimon_core.arrow import labelled, loose
from paimon_core.datafile.evolution.casts import rescale
from paimon_core.datafile.shredded_variant import is_shredded, unshredded
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import (
    BINARY_ROOTS,
    MAP_ROOTS,
    STRING_ROOTS,
    STRUCT_ROOTS,
    TIMESTAMP_ROOTS,
    DataType,
    TypeRoot,
)

_INTEGERS = (TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT)
_FLOATS = (TypeRoot.FLOAT, TypeRoot.DOUBLE)


def _is_text(t: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(t)
        or pa.types.is_large_string(t)
        or pa.types.is_string_view(t)
        or pa.types.is_binary(t)
        or pa.types.is_large_binary(t)
        or pa.types.is_binary_view(t)
        or pa.types.is_fixed_size_binary(t)
    )


_FAMILIES: dict[TypeRoot, Callable[[pa.DataType], bool]] = {
    TypeRoot.BOOLEAN: pa.types.is_boolean,
    **dict.fromkeys(_INTEGERS, pa.types.is_integer),
    **dict.fromkeys(_FLOATS, pa.types.is_floating),
    TypeRoot.DECIMAL: pa.types.is_decimal,
    **dict.fromkeys(STRING_ROOTS | BINARY_ROOTS, _is_text),
    TypeRoot.DATE: pa.types.is_date,
    TypeRoot.TIME: lambda t: pa.types.is_time(t) or pa.types.is_int32(t),
    **dict.fromkeys(TIMESTAMP_ROOTS, pa.types.is_timestamp),
}


def is_stored_as(found: pa.DataType, dtype: DataType) -> bool:
    """Whether a file column of the Arrow type ``found`` can be a column of ``dtype``, from any known writer.

    Raises UnsupportedFeature for a shredded VARIANT (with typed columns) whose typed columns have unknown types, or
    which is inside of an ARRAY or MAP.
    """
    if pa.types.is_dictionary(found):
        found = found.value_type
    if dtype.root in STRUCT_ROOTS:
        named = {f.name: f.type for f in found} if pa.types.is_struct(found) else {}
        if dtype.root is TypeRoot.VARIANT and is_shredded(found):
            return bool(pa.types.is_binary(named.get("metadata", pa.null())))
        return all(c.name in named and is_stored_as(named[c.name], c.type) for c in dtype.children)
    if dtype.root in MAP_ROOTS:
        held = [found.key_type, found.item_type] if pa.types.is_map(found) else []
    elif dtype.root is TypeRoot.ARRAY:
        held = [found.value_type] if pa.types.is_list(found) or pa.types.is_large_list(found) else []
    elif dtype.root in TIMESTAMP_ROOTS and pa.types.is_int64(found):
        return dtype.timestamp_unit != "ns"  # Parquet files of Paimon before 0.7 lack the timestamp annotation
    else:
        return _FAMILIES[dtype.root](found)
    if any(_has_shredded(h, c.type) for h, c in zip(held, dtype.children, strict=False)):
        raise UnsupportedFeature(f"a shredded VARIANT inside of a {dtype.root} is not supported")
    return bool(held) and all(is_stored_as(h, c.type) for h, c in zip(held, dtype.children, strict=True))


def _has_shredded(found: pa.DataType, dtype: DataType) -> bool:
    """Whether a stored type has a shredded VARIANT that ``from_stored`` would rebuild."""
    if dtype.root is TypeRoot.VARIANT:
        return is_shredded(found)
    if dtype.root is not TypeRoot.ROW or not pa.types.is_struct(found):
        return False
    named = {f.name: f.type for f in found}
    return any(c.name in named and _has_shredded(named[c.name], c.type) for c in dtype.children)


def _whole_variants(array: pa.Array, dtype: DataType) -> pa.Array:
    """Return the column with each shredded VARIANT, at the top level or in a ROW, rebuilt."""
    if not _has_shredded(array.type, dtype):
        return array
    if dtype.root is TypeRoot.VARIANT:
        return unshredded(array)
    kinds = {c.name: c.type for c in dtype.children}
    names = [f.name for f in array.type]
    inner = [
        _whole_variants(column, kinds[name]) if name in kinds else column
        for name, column in zip(names, array.flatten(), strict=True)
    ]
    return pa.StructArray.from_arrays(inner, names=names, mask=array.is_null() if array.null_count else None)


def from_stored(array: pa.Array, dtype: DataType) -> pa.Array:
    """Return a decoded column as ``dtype.to_arrow()``; raises pa.ArrowInvalid for a value outside the type's range."""
    wanted = dtype.to_arrow()
    if array.type == wanted:
        return array
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
        if array.type == wanted:
            return array
    if dtype.root in TIMESTAMP_ROOTS and not pa.types.is_int64(array.type):
        return rescale(array, wanted)
    array = _whole_variants(array, dtype)
    return labelled(array.cast(loose(dtype).to_arrow(), safe=dtype.root is not TypeRoot.TIME), wanted)


def is_dictionary_of(array: pa.Array, dtype: DataType) -> bool:
    """Whether a decoded column is a dictionary array whose values have the type ``dtype.to_arrow()``."""
    return pa.types.is_dictionary(array.type) and bool(array.type.value_type == dtype.to_arrow())
