"""Avro plain schema: the schema of a file without logical types, as fastavro needs it to decode whole blocks.

The module refuses schemas for which the size or the depth of decoded values has no limit.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import fastavro

from paimon_core.codec.avro.value_counts import repeats_records
from paimon_core.limits import AVRO_DEPTH, MANIFEST_RECORDS

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@lru_cache(maxsize=16)
def array_schema(text: bytes, records_limit: int = MANIFEST_RECORDS) -> Any:
    """Return fastavro's schema for an array of the file's records, without logical types; one call decodes a block.

    Older versions of Paimon wrote a union of null and the record, with the number of the branch before every record
    (format 4.1). Raises ValueError for a schema that is not a record or exceeds the limits.
    """
    schema = json.loads(text)
    root = schema
    if isinstance(schema, list) and len(schema) == 2 and "null" in schema:
        root = next((branch for branch in schema if branch != "null"), None)
    if not isinstance(root, dict) or root.get("type") != "record":
        raise ValueError("its schema is not a record")
    known: set[str] = set()
    record, _ = _plain(schema, 0, known)
    if len(known) > records_limit:
        raise ValueError(f"its schema has more than {records_limit} named types")
    return fastavro.parse_schema({"type": "array", "items": record})


@lru_cache(maxsize=16)
def nests_records(text: bytes) -> bool:
    """Whether an array or a map in the file's records contains records; raises as ``array_schema``."""
    return repeats_records(array_schema(text)["items"])


def _plain(schema: Any, depth: int, known: set[str]) -> tuple[Any, bool]:
    """Return the schema without logical types, and whether every value takes a byte or more.

    Raises ValueError for a schema for which the size of decoded values has no limit.
    """
    if depth > AVRO_DEPTH:
        raise ValueError(f"its schema nests deeper than {AVRO_DEPTH}")
    if isinstance(schema, list):
        return [_plain(s, depth + 1, known)[0] for s in schema], True
    if isinstance(schema, str):
        # A name is added to ``known`` when its definition is complete.
        if schema not in _PRIMITIVES and schema.rpartition(".")[2] not in known:
            raise ValueError(f"type {schema} is unknown, or contains itself")
        return schema, schema != "null"
    kind = schema["type"]
    out = {k: v for k, v in schema.items() if k != "logicalType"}
    match kind:
        case "record":
            fields = [(f, *_plain(f["type"], depth + 1, known)) for f in schema["fields"]]
            if not all(isinstance(f["name"], str) for f in schema["fields"]):
                raise ValueError("its schema has a field whose name is no text")
            out["fields"] = [{**f, "type": plain} for f, plain, _ in fields]
            return out, _define(schema, any(takes for _, _, takes in fields), known)
        case "array" | "map":
            member = "items" if kind == "array" else "values"
            out[member], takes_bytes = _plain(schema[member], depth + 1, known)
            if not takes_bytes:
                raise ValueError(f"the {member} of the type {kind} take no bytes, so their number cannot be bounded")
            return out, True
        case "enum":
            return out, _define(schema, True, known)
        case "fixed":
            return out, _define(schema, int(schema["size"]) > 0, known)
    out["type"], takes_bytes = _plain(kind, depth + 1, known)
    return out, takes_bytes


def _define(schema: dict[str, Any], takes_bytes: bool, known: set[str]) -> bool:
    if not takes_bytes:
        raise ValueError(f"type {schema['name']} takes no bytes")
    known.add(schema["name"].rpartition(".")[2])
    return True
