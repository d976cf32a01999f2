"""Spark JSON: converts columns to the JSON of a Spark StructType (``StructType.jsonValue``) and back, without Spark.

Spark's types have no MULTISET, no length of a binary, only one precision of timestamps, and no field ids. So the
metadata of a field contains the exact type, as in ``arrow_types``; the exact type is ignored when it does not fit the
Spark type of the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from paimon_core.errors import InvalidRequest, PaimonError, UnsupportedFeature
from paimon_core.types.arrow_types import Annotations, annotated_field
from paimon_core.types.data_type import (
    BYTES,
    MAP_ROOTS,
    STRING,
    STRING_ROOTS,
    VARIANT,
    Child,
    DataType,
    TypeRoot,
    array_of,
    map_of,
    row_of,
)
from paimon_core.types.type_json import parse_type

_TYPE, _ID, _COMMENT, _DEFAULT = "paimon.type", "paimon.id", "comment", "paimon.default"
_SCALARS = {
    TypeRoot.BOOLEAN: "boolean",
    TypeRoot.TINYINT: "byte",
    TypeRoot.SMALLINT: "short",
    TypeRoot.INT: "integer",
    TypeRoot.BIGINT: "long",
    TypeRoot.FLOAT: "float",
    TypeRoot.DOUBLE: "double",
    TypeRoot.VARCHAR: "string",
    TypeRoot.CHAR: "string",
    TypeRoot.BINARY: "binary",
    TypeRoot.VARBINARY: "binary",
    TypeRoot.DATE: "date",
    TypeRoot.TIMESTAMP: "timestamp_ntz",
    TypeRoot.TIMESTAMP_LTZ: "timestamp",
    TypeRoot.VARIANT: "variant",
}
_MICROS = {name: DataType(root, precision=6) for root, name in _SCALARS.items() if name.startswith("timestamp")}
_PLAIN = (
    {name: DataType(root) for root, name in _SCALARS.items() if root not in STRING_ROOTS}
    | {"string": STRING, "binary": BYTES, "variant": VARIANT}
    | _MICROS
)
_WITH_PARAMETERS = re.compile(r"(decimal|char|varchar|time)\s*\(.*\)")
SPARK_TIME_DIGITS = 6
_RELAXED = frozenset({"metadata", "nullable", "containsNull", "valueContainsNull"})


def to_spark_json(columns: Iterable[tuple[str, Annotations]]) -> dict[str, Any]:
    """Return the JSON of a StructType with these columns."""
    return _struct(Child(n, c.type, -1 if c.id is None else c.id, c.description, c.default) for n, c in columns)


def _struct(children: Iterable[Child]) -> dict[str, Any]:
    return {"type": "struct", "fields": [_field(child) for child in children]}


def _field(child: Child) -> dict[str, Any]:
    spark = _spark_type(child.type)
    metadata: dict[str, Any] = {}
    if _type(spark).with_nullable(child.type.nullable) != child.type or _has_required(child.type):
        metadata[_TYPE] = json.dumps(child.type.to_json(), ensure_ascii=False)
    if child.id >= 0:
        metadata[_ID] = child.id
    if child.description is not None:
        metadata[_COMMENT] = child.description
    if child.default is not None:
        metadata[_DEFAULT] = child.default
    return {"name": child.name, "type": spark, "nullable": child.type.nullable, "metadata": metadata}


def _has_required(kind: DataType) -> bool:
    """Whether a member other than the key of a map is NOT NULL.

    The metadata must state this, because Spark may make the member nullable.
    """
    members = kind.children[1:] if kind.root in MAP_ROOTS else () if kind.root is TypeRoot.VARIANT else kind.children
    return any(not c.type.nullable or _has_required(c.type) for c in members)


def _spark_type(kind: DataType) -> Any:
    members = [child.type for child in kind.children]
    if kind.root in MAP_ROOTS:
        key, value = map(_spark_type, members)
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": members[1].nullable}
    match kind.root:
        case TypeRoot.ARRAY:
            return {"type": "array", "elementType": _spark_type(members[0]), "containsNull": members[0].nullable}
        case TypeRoot.ROW:
            return _struct(kind.children)
        case TypeRoot.DECIMAL:
            return f"decimal({kind.precision},{kind.scale})"
        case TypeRoot.TIME:
            return f"time({min(kind.precision, SPARK_TIME_DIGITS)})"
    return _SCALARS[kind.root]


def from_spark_json(struct: Any) -> pa.Schema:
    """Return the columns of the JSON of a StructType as an Arrow schema, whose fields are made by ``annotated_field``.

    Raises UnsupportedFeature, which names the column, for a Spark type without a Paimon type, and InvalidRequest for a
    value that is not the JSON of a StructType.
    """
    fields = []
    for child in _children(struct):
        number = child.id if child.id >= 0 else None
        column = Annotations(child.type, number, child.description, child.default)
        try:
            fields.append(annotated_field(child.name, column))
        except (TypeError, UnicodeEncodeError) as error:
            raise InvalidRequest(f"column {child.name!r:.80} of a StructType is invalid: {error}") from None
    return pa.schema(fields)


def _children(struct: Any) -> list[Child]:
    try:
        return [_child(field) for field in struct["fields"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidRequest(f"{struct!r:.120} is not the JSON of a StructType: {error!r}") from None


def _child(field: Mapping[str, Any]) -> Child:
    name, metadata = field["name"], field.get("metadata") or {}
    try:
        kind = _type(field["type"])
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"column {name!r}: {error}", column=name) from None
    stated = _stated(metadata.get(_TYPE))
    if stated is not None and _without_metadata(_spark_type(stated)) == _without_metadata(_spark_type(kind)):
        kind = stated
    number, comment, default = metadata.get(_ID), metadata.get(_COMMENT), metadata.get(_DEFAULT)
    return Child(
        name,
        kind.with_nullable(bool(field["nullable"])),
        number if type(number) is int and 0 <= number < 2**31 else -1,
        comment if isinstance(comment, str) else None,
        default if isinstance(default, str) else None,
    )


def _stated(text: Any) -> DataType | None:
    if not isinstance(text, str):
        return None
    try:
        return parse_type(json.loads(text))
    except (ValueError, RecursionError, PaimonError):
        return None


def _type(spark: Any) -> DataType:
    if isinstance(spark, str):
        if spark in _PLAIN:
            return _PLAIN[spark]
        if _WITH_PARAMETERS.fullmatch(spark):
            return parse_type(spark)
        raise UnsupportedFeature(f"Spark type {spark:.60} has no supported table type", type=spark)
    match spark["type"]:
        case "array":
            return array_of(_type(spark["elementType"]).with_nullable(bool(spark["containsNull"])))
        case "map":
            value = _type(spark["valueType"]).with_nullable(bool(spark["valueContainsNull"]))
            return map_of(_type(spark["keyType"]).with_nullable(False), value)
        case "struct":
            return row_of(_children(spark))
    raise UnsupportedFeature(f"Spark type {spark['type']!s:.60} has no supported table type", type=str(spark["type"]))


def _without_metadata(spark: Any) -> Any:
    """Return a Spark type without metadata and nullability, because Spark may make members of nested types nullable."""
    if isinstance(spark, Mapping):
        return {k: _without_metadata(v) for k, v in spark.items() if k not in _RELAXED}
    return [_without_metadata(v) for v in spark] if isinstance(spark, list) else spark
