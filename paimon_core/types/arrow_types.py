"""Arrow types: the Paimon type for an Arrow type, and Arrow fields whose metadata describes a column completely.

An Arrow type cannot express the length of a text, a MULTISET, a VARIANT, comments, defaults and field ids.
``annotated_field`` stores these facts in the metadata of the field, and ``read_annotations`` reads them. Another
program may have changed the type of a field since then, so metadata that does not fit the type is ignored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.errors import PaimonError, UnsupportedFeature
from paimon_core.types.data_type import (
    BYTES,
    NUMBER_ROOTS,
    STRING,
    VARIANT,
    Child,
    DataType,
    TypeRoot,
    array_of,
    decimal,
    map_of,
    row_of,
    sized,
)
from paimon_core.types.type_json import parse_type

_TYPE, _ID, _DEFAULT = b"paimon:type", b"paimon:id", b"paimon:default"
_COMMENT = b"description"
"""The key of comments in the metadata; pypaimon uses the same key."""
_SPARK_VARIANT = {b"variant": b"true"}
"""The metadata by which Spark marks the member ``metadata`` of a VARIANT."""
_UNIT_PRECISION = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_SCALARS = {
    root: DataType(root).to_arrow() for root in NUMBER_ROOTS - {TypeRoot.DECIMAL} | {TypeRoot.BOOLEAN, TypeRoot.DATE}
}


def from_arrow(arrow: pa.DataType, nullable: bool = True) -> DataType:
    """Return the Paimon type for an Arrow type; a dictionary type is mapped as the type of its values.

    Members of nested types keep the metadata of ``annotated_field``. Raises UnsupportedFeature, which names the Arrow
    type, when no type matches (unsigned, half float, duration ...).
    """
    return _from_arrow(arrow).with_nullable(nullable)


def _from_arrow(arrow: pa.DataType) -> DataType:
    if pa.types.is_dictionary(arrow):
        return _from_arrow(arrow.value_type)
    for root, known in _SCALARS.items():
        if arrow.equals(known):
            return DataType(root)
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
        return STRING
    if pa.types.is_fixed_size_binary(arrow):
        return sized(TypeRoot.BINARY, arrow.byte_width)
    if pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow) or pa.types.is_binary_view(arrow):
        return BYTES
    if pa.types.is_decimal(arrow):
        return decimal(arrow.precision, arrow.scale)
    if pa.types.is_date64(arrow):
        return DataType(TypeRoot.DATE)
    if pa.types.is_time(arrow):
        return DataType(TypeRoot.TIME, precision=0 if arrow.unit == "s" else 3)
    if pa.types.is_timestamp(arrow):
        root = TypeRoot.TIMESTAMP if arrow.tz is None else TypeRoot.TIMESTAMP_LTZ
        return DataType(root, precision=_UNIT_PRECISION[arrow.unit])
    if is_list(arrow):
        return array_of(_member("element", arrow.value_field).type)
    if pa.types.is_map(arrow):
        key = _member("key", arrow.key_field).type.with_nullable(False)
        return map_of(key, _member("value", arrow.item_field).type)
    if pa.types.is_struct(arrow):
        if [f.name for f in arrow] == ["value", "metadata"] and (
            arrow[1].metadata or {}
        ).items() >= _SPARK_VARIANT.items():
            return VARIANT
        return row_of([_member(f.name, f) for f in arrow])
    raise UnsupportedFeature(f"Arrow type {arrow} has no supported table type", type=str(arrow))


def is_list(arrow: pa.DataType) -> bool:
    """Whether the Arrow type is a list of any form: large, of a fixed size, or a view."""
    return bool(
        pa.types.is_list(arrow)
        or pa.types.is_large_list(arrow)
        or pa.types.is_fixed_size_list(arrow)
        or pa.types.is_list_view(arrow)
        or pa.types.is_large_list_view(arrow)
    )


def _member(name: str, field: pa.Field) -> Child:
    found = read_annotations(field)
    number = -1 if found.id is None else found.id
    return Child(name, found.type, number, found.description, found.default)


# -- metadata ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Annotations:
    """The description of a column in an Arrow field; ``id`` is None when the field has no field id."""

    type: DataType
    id: int | None = None
    description: str | None = None
    default: str | None = None


def annotated_field(name: str, column: Annotations) -> pa.Field:
    """Return the Arrow field of a column; its metadata contains the facts that the Arrow type cannot express."""
    kind = column.type
    arrow = kind.to_arrow()
    metadata = {}
    if from_arrow(arrow, kind.nullable) != kind:
        metadata[_TYPE] = json.dumps(kind.to_json(), ensure_ascii=False)
    if column.id is not None:
        metadata[_ID] = str(column.id)
    if column.description is not None:
        metadata[_COMMENT] = column.description
    if column.default is not None:
        metadata[_DEFAULT] = column.default
    return pa.field(name, arrow, nullable=kind.nullable, metadata=metadata or None)


def read_annotations(field: pa.Field) -> Annotations:
    """Return the column that an Arrow field describes; raises UnsupportedFeature as ``from_arrow`` does."""
    metadata = field.metadata or {}
    kind = _stated_type(metadata.get(_TYPE), field.type)
    if kind is None:
        kind = from_arrow(field.type)
    number = metadata.get(_ID, b"")
    return Annotations(
        kind.with_nullable(field.nullable),
        int(number) if number.isdigit() and len(number) < len(str(2**31)) else None,
        _text(metadata.get(_COMMENT)),
        _text(metadata.get(_DEFAULT)),
    )


def _stated_type(text: bytes | None, arrow: pa.DataType) -> DataType | None:
    """Return the type in the metadata of a field of Arrow type ``arrow``; None if it is missing or does not fit."""
    if text is None:
        return None
    try:
        kind = parse_type(json.loads(text))
    except (ValueError, RecursionError, PaimonError):
        return None
    return kind if _is_same(kind, arrow) else None


def _is_same(kind: DataType, arrow: pa.DataType) -> bool:
    try:
        wanted = kind.to_arrow()
        return bool(wanted == arrow or _from_arrow(arrow).to_arrow() == wanted)
    except PaimonError:
        return False


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
