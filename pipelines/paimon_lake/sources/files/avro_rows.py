"""Avro rows: read an Avro file as batches of typed columns, with fastavro, which decodes the rows one after the
other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from paimon_core.codec.avro.container import AvroReader
from paimon_core.codec.avro.plain_schema import array_schema
from paimon_core.limits import AVRO_BLOCK_BYTES, AVRO_RATIO, AVRO_RECORDS
from paimon_lake.protocol import PipelineError

_SIMPLE = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "enum": pa.string(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
}
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "uuid": pa.string(),
}


def avro_batches(
    path: str, stream: pa.NativeFile, block_bytes: int
) -> tuple[pa.Schema, Callable[[Sequence[str]], Iterator[pa.RecordBatch]]]:
    """Return the columns of a file, and a function that yields the columns with the given names in batches.

    The size of unpacked blocks and the number of their values are limited as for Avro data files. Raises PipelineError
    for a schema that is not a record or has a union of several types; the errors of decoders are not converted.
    """
    import fastavro

    reader = AvroReader(stream, stream.size())
    node = fastavro.parse_schema(json.loads(reader.schema))
    if not isinstance(node, dict) or node["type"] != "record":
        raise PipelineError(f"file {path}: an Avro file must contain records")
    counted = array_schema(reader.schema, AVRO_RECORDS)["items"]
    records = fastavro.parse_schema({"type": "array", "items": node})
    limit = max(AVRO_BLOCK_BYTES, AVRO_RATIO * reader.size)
    names: dict[str, Any] = {}
    schema = pa.schema([(f["name"], _type(f["type"], names, path, f["name"])) for f in node["fields"]])

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        used = pa.schema([schema.field(name) for name in wanted])
        held: list[dict[str, Any]] = []
        size = 0
        while (block := reader.next_block(limit)) is not None:
            block.check_values(counted)
            held += block.decoded(records)
            size += len(block.data)
            if size >= block_bytes:
                yield _batch(held, used)
                held, size = [], 0
        if held:
            yield _batch(held, used)

    return schema, batches


def _batch(records: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array([_plain(record[f.name], f.type) for record in records], f.type) for f in schema]
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(records), pa.struct([])))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _plain(value: Any, arrow: pa.DataType) -> Any:
    """Return a value in the form that Arrow accepts: maps as pairs, UUIDs as texts."""
    if value is None or not (pa.types.is_nested(arrow) or pa.types.is_string(arrow)):
        return value
    if pa.types.is_struct(arrow):
        return {f.name: _plain(value[f.name], f.type) for f in arrow}
    if pa.types.is_map(arrow):
        return [(key, _plain(item, arrow.item_type)) for key, item in value.items()]
    if pa.types.is_list(arrow):
        return [_plain(item, arrow.value_type) for item in value]
    return value if isinstance(value, str) else str(value)


def _type(node: Any, names: dict[str, Any], path: str, column: str) -> pa.DataType:
    if isinstance(node, list):
        branches = [branch for branch in node if branch != "null"]
        if len(branches) > 1:
            raise PipelineError(f"file {path}: the column {column!r} is a union of several types, which cannot be read")
        return _type(branches[0] if branches else "null", names, path, column)
    if isinstance(node, str):
        if node in _SIMPLE:
            return _SIMPLE[node]
        if node not in names:
            raise PipelineError(f"file {path}: the column {column!r} has the type {node!r}, which contains itself")
        return names[node]
    kind, logical = node["type"], node.get("logicalType")
    if isinstance(kind, dict | list):
        return _type(kind, names, path, column)
    if kind == "record":
        fields = [(f["name"], _type(f["type"], names, path, f"{column}.{f['name']}")) for f in node["fields"]]
        arrow = pa.struct(fields)
    elif kind == "array":
        arrow = pa.list_(_type(node["items"], names, path, column))
    elif kind == "map":
        arrow = pa.map_(pa.string(), _type(node["values"], names, path, column))
    elif logical == "decimal":
        arrow = pa.decimal128(int(node["precision"]), int(node.get("scale", 0)))
    else:
        arrow = _LOGICAL.get(logical) or _type(kind, names, path, column)
    if "name" in node:
        names[node["name"]] = arrow
    return arrow
