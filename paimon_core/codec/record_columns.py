"""Record columns: writes the records of manifests as Parquet or ORC, for option ``manifest.format`` (format 4.6).

Each field of the Avro schema becomes one column, with the type that Java 1.4 writes and expects.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.limits import MANIFEST_BYTES, check_limit

_BYTES = frozenset({"_KIND", "_FILE_SOURCE"})
"""Fields that are a TINYINT in Java, a type that Avro does not have."""
_PLAIN = {"int": pa.int32(), "long": pa.int64(), "bytes": pa.binary(), "string": pa.string()}
_CODECS = {
    "parquet": {"deflate": "gzip", "none": "none"},
    "orc": {"deflate": "zlib", "none": "uncompressed"},
}


def write_columns(schema: dict[str, Any], records: Iterable[dict[str, Any]], codec: str, form: str) -> bytes:
    """Return a file of ``records`` of an Avro record schema; ``form``: "parquet" or "orc"; ``codec``: an Avro codec.

    Raises InvalidRequest for more bytes than readers accept.
    """
    table = pa.Table.from_pylist(list(records), pa.schema([_field(f) for f in schema["fields"]]))
    out = io.BytesIO()
    named = _CODECS[form].get(codec, codec)
    if form == "parquet":
        pq.write_table(table, out, compression=named, store_schema=False)
    else:
        import pyarrow.orc as orc

        orc.write_table(table, out, compression=named)
    check_limit("a manifest", out.tell(), MANIFEST_BYTES, "bytes")
    return out.getvalue()


def _field(found: dict[str, Any]) -> pa.Field:
    kind, nullable = found["type"], isinstance(found["type"], list)
    if nullable:
        (kind,) = (part for part in kind if part != "null")
    return pa.field(found["name"], pa.int8() if found["name"] in _BYTES else _arrow(kind), nullable)


def _arrow(kind: Any) -> pa.DataType:
    if isinstance(kind, str):
        return _PLAIN[kind]
    if kind["type"] == "record":
        return pa.struct([_field(f) for f in kind["fields"]])
    if kind["type"] == "array":
        return pa.list_(_field({"name": "element", "type": kind["items"]}))
    return pa.timestamp("ms") if kind.get("logicalType") == "timestamp-millis" else _arrow(kind["type"])
