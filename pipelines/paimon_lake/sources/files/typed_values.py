"""Typed values: cast columns of Parquet, ORC and Avro files to the types of a table, exactly.

Numbers, decimals and times are cast when no digit is lost; a row with a value that does not fit is rejected. Texts are
converted as in ``text_values``. Some casts are refused, because the result would be a guess: FLOAT and DOUBLE to
DECIMAL, numbers to BOOLEAN, numbers to times and the reverse, and nested types to other types. A timestamp with time
zone becomes UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import BINARY_ROOTS, MAP_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.nested_values import convert_nested
from paimon_lake.sources.files.text.json_types import narrowed
from paimon_lake.sources.files.text.text_values import TextRules, cast_or_null, convert_text, with_length

_RULES = TextRules()
Flags = np.ndarray | None
_INTEGERS = frozenset({TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT})
_BINARIES = {"value": pa.binary(), "metadata": pa.binary()}
"""The members of a VARIANT in a file, if it is not shredded into columns."""
_FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})


def convert_typed(values: pa.Array, kind: DataType, name: str) -> tuple[pa.Array, Flags]:
    """Convert a column whose type ``check_castable`` accepts; return it and flags for bad rows (None: no row)."""
    return convert_nested(plain(values), kind, _leaf, name)


def plain(values: pa.Array) -> pa.Array:
    """Return a column without dictionaries and views; nested columns are converted as well."""
    wanted = plain_type(values.type)
    return values if values.type == wanted else values.cast(wanted)


def plain_type(arrow: pa.DataType) -> pa.DataType:
    """Return an Arrow type without dictionaries, views, large and fixed sizes; nested types are converted as well."""
    if pa.types.is_dictionary(arrow):
        return plain_type(arrow.value_type)
    if pa.types.is_string_view(arrow) or pa.types.is_large_string(arrow):
        return pa.string()
    if pa.types.is_binary_view(arrow) or pa.types.is_large_binary(arrow) or pa.types.is_fixed_size_binary(arrow):
        return pa.binary()
    if pa.types.is_struct(arrow):
        return pa.struct([pa.field(f.name, plain_type(f.type)) for f in arrow])
    if pa.types.is_map(arrow):
        return pa.map_(plain_type(arrow.key_type), plain_type(arrow.item_type))
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        return pa.list_(plain_type(arrow.value_type))
    return pa.float32() if pa.types.is_float16(arrow) else arrow


def check_castable(arrow: pa.DataType, kind: DataType, name: str, path: str) -> None:
    """Raise PipelineError unless the Arrow type has an exact cast to ``kind``; a single value may still not fit."""
    source = plain_type(arrow)
    if pa.types.is_null(source):
        return None
    if not kind.children and _is_castable(source, kind.root):
        return None
    if kind.root is TypeRoot.ARRAY and pa.types.is_list(source):
        return check_castable(source.value_type, kind.children[0].type, f"{name}.element", path)
    if kind.root is TypeRoot.VARIANT and pa.types.is_struct(source) and {f.name: f.type for f in source} == _BINARIES:
        return None
    if kind.root in MAP_ROOTS and pa.types.is_map(source):
        check_castable(source.key_type, kind.children[0].type, f"{name}.key", path)
        return check_castable(source.item_type, kind.children[1].type, f"{name}.value", path)
    if kind.root is TypeRoot.ROW and pa.types.is_struct(source):
        for child in kind.children:
            if (at := source.get_field_index(child.name)) >= 0:
                check_castable(source.field(at).type, child.type, f"{name}.{child.name}", path)
        return None
    raise PipelineError(f"file {path}: the column {name!r} is {arrow} in the file, which has no exact cast to {kind}")


def _is_castable(source: pa.DataType, root: TypeRoot) -> bool:
    is_: Any = pa.types
    if is_.is_string(source):
        return True
    number = is_.is_integer(source) or is_.is_decimal(source)
    if root in STRING_ROOTS:
        return bool(number or is_.is_boolean(source) or is_.is_date(source) or is_.is_binary(source))
    if root in BINARY_ROOTS:
        return bool(is_.is_binary(source))
    if root in _INTEGERS or root in _FLOATS:
        return bool(number or is_.is_floating(source))
    if root is TypeRoot.DECIMAL:
        return bool(number)
    if root is TypeRoot.BOOLEAN:
        return bool(is_.is_boolean(source))
    if root is TypeRoot.TIME:
        return bool(is_.is_time(source))
    return bool(is_.is_date(source) or is_.is_timestamp(source))


def _leaf(values: pa.Array, kind: DataType, path: str) -> tuple[pa.Array, Flags]:
    source, target = values.type, kind.to_arrow()
    if pa.types.is_string(source):
        texts, bad = _cast(values.cast(pa.binary()), pa.string())  # the files may contain bytes that are not UTF-8
        return _and(convert_text(texts, kind, _RULES), bad)
    if kind.root is TypeRoot.FLOAT and pa.types.is_float64(source):
        return narrowed(values)
    if kind.root in STRING_ROOTS:
        texts, bad = _cast(values, pa.string())
        return _and(convert_text(texts, kind, _RULES), bad)
    if kind.root is TypeRoot.DECIMAL:
        wide = values if pa.types.is_decimal(source) else values.cast(pa.decimal256(76, 0))
        return _cast(wide, target)
    if pa.types.is_timestamp(source) or (kind.root in TIMESTAMP_ROOTS and pa.types.is_date(source)):
        return _times(values, kind)
    if kind.root in BINARY_ROOTS:
        return with_length(values, kind)
    return _and(_cast(values, target), _with_fraction(values, kind))


def _cast(values: pa.Array, target: pa.DataType) -> tuple[pa.Array, Flags]:
    cast = cast_or_null(values, target)
    lost = cast.null_count - values.null_count
    return cast, np.asarray(pc.and_(cast.is_null(), values.is_valid()).to_numpy(zero_copy_only=False)) if lost else None


def _and(converted: tuple[pa.Array, Flags], bad: Flags) -> tuple[pa.Array, Flags]:
    return converted[0], _or(converted[1], bad)


def _times(values: pa.Array, kind: DataType) -> tuple[pa.Array, Flags]:
    """Cast dates or timestamps to the DATE or TIMESTAMP type of the table; flag the values that would lose digits.

    A value without a time zone is read as UTC, and a value with a time zone is converted to UTC.
    """
    if pa.types.is_date(values.type):
        values = values.cast(pa.timestamp("s"))
    naive = values.cast(pa.int64()).cast(pa.timestamp(values.type.unit))
    if kind.root is TypeRoot.DATE:
        days = naive.cast(pa.date32())
        moved = pc.not_equal(days.cast(naive.type), naive)
        bad = np.asarray(pc.fill_null(moved, False).to_numpy(zero_copy_only=False))
        return days, bad if bad.any() else None
    cast, lost = _cast(naive, pa.timestamp(kind.timestamp_unit))
    return cast.cast(pa.int64()).cast(kind.to_arrow()), _or(lost, _with_fraction(cast, kind))


def _or(one: Flags, two: Flags) -> Flags:
    return two if one is None else one if two is None else one | two


def _with_fraction(values: pa.Array, kind: DataType) -> Flags:
    """Return flags for times with more digits of a second than the type has (None: no such time)."""
    if kind.root not in TIMESTAMP_ROOTS and kind.root is not TypeRoot.TIME:
        return None
    held = {"s": 0, "ms": 3, "us": 6, "ns": 9}[values.type.unit]
    step = 10 ** max(0, held - kind.precision)
    if step == 1:
        return None
    width = pa.int32() if values.type.bit_width == 32 else pa.int64()
    numbers = values.cast(width)
    rest = pc.not_equal(pc.multiply(pc.divide(numbers, step), step), numbers)
    bad = np.asarray(pc.fill_null(rest, False).to_numpy(zero_copy_only=False))
    return bad if bad.any() else None


def missing_members(arrow: pa.DataType, kind: DataType, name: str) -> list[str]:
    """Return the paths of the members of the table's ROWs that the structs in a file do not have."""
    return [
        f"{path}.{child.name}"
        for path, struct, row in _structs(arrow, kind, name)
        for child in row.children
        if struct.get_field_index(child.name) < 0
    ]


def extra_members(arrow: pa.DataType, kind: DataType, name: str) -> list[str]:
    """Return the paths of the members of structs in a file that the table's ROWs do not have."""
    return [
        f"{path}.{member.name}"
        for path, struct, row in _structs(arrow, kind, name)
        for member in struct
        if member.name not in {child.name for child in row.children}
    ]


def _structs(arrow: pa.DataType, kind: DataType, name: str) -> Iterator[tuple[str, pa.DataType, DataType]]:
    """Yield (path, struct in the file, ROW of the table) for each ROW that the file has, outer ROWs first."""
    source = plain_type(arrow)
    if kind.root is TypeRoot.ARRAY and pa.types.is_list(source):
        yield from _structs(source.value_type, kind.children[0].type, name)
    elif kind.root is TypeRoot.MAP and pa.types.is_map(source):
        yield from _structs(source.item_type, kind.children[1].type, name)
    elif kind.root is TypeRoot.ROW and pa.types.is_struct(source):
        yield name, source, kind
        for child in kind.children:
            at = source.get_field_index(child.name)
            if at >= 0:
                yield from _structs(source.field(at).type, child.type, f"{name}.{child.name}")
