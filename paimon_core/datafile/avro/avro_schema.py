"""Avro schema: the schema in the header of an Avro data file, and its conversion to Arrow types (format 7.10).

fastavro reads and writes values in a plain form with the same encoding: an integer for a time, bytes for a DECIMAL, a
list of pairs for a map.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from paimon_core.datafile.avro.decimals import bytes_of_decimals, decimals_of_bytes
from paimon_core.datafile.evolution.nested_arrays import rebuilt
from paimon_core.errors import UnsupportedFeature
from paimon_core.limits import AVRO_RECORDS
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, DataType, TypeRoot

_NAME = re.compile(r"[^\W\d]\w*")
_NAMESPACE = "org.apache.paimon.avro.generated"
_SIMPLE = {
    TypeRoot.BOOLEAN: "boolean",
    **dict.fromkeys((TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT), "int"),
    TypeRoot.BIGINT: "long",
    TypeRoot.FLOAT: "float",
    TypeRoot.DOUBLE: "double",
    **dict.fromkeys(STRING_ROOTS, "string"),
    **dict.fromkeys(BINARY_ROOTS, "bytes"),
}
_ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "timestamp-millis"): pa.timestamp("ms"),
    ("long", "timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}


def avro_schema(fields: Sequence[DataField]) -> dict[str, Any]:
    """Return the schema in the header of a file with these columns.

    Raises UnsupportedFeature, which names the column, for a column that Avro cannot store: a TIMESTAMP with more than 6
    digits, a TIME with more than 3 digits, a VARIANT, a MULTISET of values that are not texts, a name with other
    characters than letters, digits and underscores or with a digit first, or nested rows whose generated names are
    equal. Also raises UnsupportedFeature for more ROW and MAP types than a reader accepts.
    """
    records = sum(f.type.records for f in fields)
    if records > AVRO_RECORDS:
        raise UnsupportedFeature(f"the columns have {records} ROW and MAP types, the limit is {AVRO_RECORDS} in Avro")
    taken: set[str] = set()
    return {
        "type": "record",
        "name": "record",
        "namespace": _NAMESPACE,
        "fields": [_field(f.name, f.type, "record", f.name, taken) for f in fields],
    }


def _field(name: str, dtype: DataType, record: str, column: str, taken: set[str]) -> dict[str, Any]:
    if not _NAME.fullmatch(name):
        raise UnsupportedFeature(
            f"column {column!r}: {name!r} is not an Avro name; use letters, digits and underscores, no digit first",
            column=column,
        )
    out: dict[str, Any] = {"name": name, "type": _type(dtype, f"{record}_{name}", column, taken)}
    return out | {"default": None} if dtype.nullable else out


def _type(dtype: DataType, record: str, column: str, taken: set[str]) -> Any:
    """Return the Avro type; ``record`` is the name of the record type of a ROW or of the pairs of a MAP."""
    plain = _SIMPLE.get(dtype.root) or _complex(dtype, record, column, taken)
    return ["null", plain] if dtype.nullable else plain


def _complex(dtype: DataType, record: str, column: str, taken: set[str]) -> dict[str, Any]:
    children = dtype.children
    match dtype.root:
        case TypeRoot.DECIMAL:
            return _logical("bytes", "decimal") | {"precision": dtype.precision, "scale": dtype.scale}
        case TypeRoot.DATE:
            return _logical("int", "date")
        case TypeRoot.TIME if dtype.precision <= 3:
            return _logical("int", "time-millis")
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ if dtype.precision <= 6:
            local = "local-" if dtype.root is TypeRoot.TIMESTAMP_LTZ else ""
            return _logical("long", f"{local}timestamp-{'millis' if dtype.precision <= 3 else 'micros'}")
        case TypeRoot.ARRAY:
            return {"type": "array", "items": _type(children[0].type, record, column, taken)}
        case TypeRoot.MULTISET if children[0].type.root in STRING_ROOTS:  # Java declares the count nullable
            count = replace(children[1], type=children[1].type.with_nullable(True))
            as_map = replace(dtype, root=TypeRoot.MAP, children=(children[0], count))
            return _complex(as_map, record, column, taken)
        case TypeRoot.MAP if children[0].type.root in STRING_ROOTS:
            return {"type": "map", "values": _type(children[1].type, record, column, taken)}
        case TypeRoot.MAP | TypeRoot.ROW:
            if record in taken:
                raise UnsupportedFeature(
                    f"column {column!r}: the Avro schema would have two types {record}", column=column
                )
            taken.add(record)
            inner = [_field(c.name, c.type, record, column, taken) for c in children]
            row = {"type": "record", "name": record, "fields": inner}
            return row if dtype.root is TypeRoot.ROW else _logical("array", "map") | {"items": row}
    raise UnsupportedFeature(f"column {column!r}: Avro has no type {dtype.with_nullable(True)}", column=column)


def _logical(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "logicalType": name}


# -- reading a header --------------------------------------------------------------------------------------------------


def arrow_type(node: Any) -> pa.DataType:
    """Return the Arrow type of the values of an Avro schema; timestamps get no time zone.

    Raises ValueError for types that Paimon does not write.
    """
    node = _not_null(node)
    if isinstance(node, str):
        node = {"type": node}
    kind, logical = node["type"], node.get("logicalType")
    if kind == "record":
        return pa.struct([(f["name"], arrow_type(f["type"])) for f in node["fields"]])
    if kind == "map":
        return pa.map_(pa.string(), arrow_type(node["values"]))
    if kind == "array":
        items = arrow_type(node["items"])
        return pa.map_(items[0].type, items[1].type) if logical == "map" else pa.list_(items)
    if (kind, logical) == ("bytes", "decimal"):
        return pa.decimal128(int(node["precision"]), int(node.get("scale", 0)))
    if kind not in _ARROW:
        raise ValueError(f"its schema has a type {kind!r:.50}")
    return _LOGICAL.get((kind, logical), _ARROW[kind])


def _not_null(node: Any) -> Any:
    if not isinstance(node, list):
        return node
    branches = [branch for branch in node if branch != "null"]
    if len(branches) != 1 or isinstance(branches[0], list):
        raise ValueError("its schema has a union of several types")
    return branches[0]


def plain_schema(node: Any, numbers: Iterator[int] | None = None) -> Any:
    """Return the schema in plain form: maps are arrays of pairs, records have generated names.

    The bytes of a file are the same for both schemas.
    """
    numbers = itertools.count() if numbers is None else numbers
    if isinstance(node, list):
        return [plain_schema(branch, numbers) for branch in node]
    if not isinstance(node, dict):
        return node
    if node["type"] == "record":
        fields = [{"name": f["name"], "type": plain_schema(f["type"], numbers)} for f in node["fields"]]
        return {"type": "record", "name": f"r{next(numbers)}", "fields": fields}
    if node["type"] == "map":
        pair = [{"name": "key", "type": "string"}, {"name": "value", "type": node["values"]}]
        return plain_schema({"type": "array", "items": {"type": "record", "fields": pair}}, numbers)
    return {"type": "array", "items": plain_schema(node["items"], numbers)} if node["type"] == "array" else node["type"]


def plain_type(dtype: pa.DataType) -> pa.DataType:
    """Return the Arrow type of the plain form of ``dtype``."""
    if pa.types.is_struct(dtype):
        return pa.struct([(f.name, plain_type(f.type)) for f in dtype])
    if pa.types.is_map(dtype):
        return pa.list_(pa.struct([("key", plain_type(dtype.key_type)), ("value", plain_type(dtype.item_type))]))
    if pa.types.is_list(dtype):
        return pa.list_(plain_type(dtype.value_type))
    if pa.types.is_decimal(dtype):
        return pa.binary()
    if pa.types.is_timestamp(dtype):
        return pa.int64()
    return pa.int32() if pa.types.is_date(dtype) or pa.types.is_time(dtype) else dtype


def to_plain(array: pa.Array) -> pa.Array:
    """Return a column in its plain form; ``plain_type`` of the column's type is the type of this form."""
    return rebuilt(array, plain_type(array.type), lambda a, t: bytes_of_decimals(a) if t == pa.binary() else a.cast(t))


def from_plain(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Convert a column in plain form to ``wanted``; raises pa.ArrowInvalid or ValueError for invalid values."""
    return rebuilt(array, wanted, lambda a, t: decimals_of_bytes(a, t) if pa.types.is_decimal(t) else a.cast(t))
