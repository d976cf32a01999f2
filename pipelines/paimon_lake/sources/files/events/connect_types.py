"""Connect types: reads the types of the columns of a Debezium event from the schema in a Kafka Connect envelope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import DataType, TypeRoot
from paimon_lake.sources.files.text.base64_values import decode_base64
from paimon_lake.sources.files.text.text_values import Converted, cast_or_null

DECIMAL = "org.apache.kafka.connect.data.Decimal"
_TIMESTAMPS = {
    "org.apache.kafka.connect.data.Timestamp": "ms",
    "io.debezium.time.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
}
_TIMES = {
    "org.apache.kafka.connect.data.Time": "ms",
    "io.debezium.time.Time": "ms",
    "io.debezium.time.MicroTime": "us",
    "io.debezium.time.NanoTime": "ns",
}
_DATES = {"org.apache.kafka.connect.data.Date": "days", "io.debezium.time.Date": "days"}
_OF_ROOT = {
    TypeRoot.DATE: _DATES,
    TypeRoot.TIME: _TIMES,
    TypeRoot.TIMESTAMP: _TIMESTAMPS,
    TypeRoot.TIMESTAMP_LTZ: _TIMESTAMPS,
}
_BASES = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "float": "FLOAT",
    "float32": "FLOAT",
    "double": "DOUBLE",
    "float64": "DOUBLE",
    "boolean": "BOOLEAN",
    "string": "STRING",
    "bytes": "BYTES",
}
"""Maps types of Kafka Connect without a name to types of Paimon."""
_SCALE = re.compile("[0-6]?[0-9]|7[0-6]")
_DECIMAL_BYTES = 31
"""The largest size of a decimal in bytes; decimals of this size have at most 76 digits."""


@dataclass(frozen=True)
class ConnectType:
    """The type of a column in the schema of an envelope; ``name`` is "" for a plain type such as ``int64``."""

    name: str = ""
    scale: int | None = None
    """The digits after the point of a decimal."""

    def unit(self, kind: DataType, otherwise: str) -> str:
        """Return what a number counts in a column of the type ``kind``, such as ``days``; "" if numbers are not valid.

        ``otherwise`` is the unit of a TIMESTAMP whose unit the schema does not state.
        """
        if self.name:
            return _OF_ROOT.get(kind.root, {}).get(self.name, "")
        if kind.root is TypeRoot.DATE:
            return "days"
        return otherwise if kind.root in (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ) else ""


def connect_types(schema: Any) -> dict[str, ConnectType]:
    """Return the types of the columns of the rows in an envelope's schema; {} for another schema."""
    found: dict[str, ConnectType] = {}
    for image in _fields(schema):
        if image.get("field") in ("before", "after"):
            for field in _fields(image):
                name, scale = field.get("name"), _mapping(field.get("parameters")).get("scale")
                digits = int(scale) if isinstance(scale, str) and _SCALE.fullmatch(scale) else None
                found[str(field.get("field"))] = ConnectType(name if isinstance(name, str) else "", digits)
    return found


def stated_types(schema: Any) -> dict[str, str]:
    """Return the table types for the columns of an envelope's schema; columns without a stated type are left out.

    Stated types are numbers, booleans, texts and bytes, the dates and timestamps of Kafka Connect and Debezium, and
    decimals whose precision is stated.
    """
    found: dict[str, str] = {}
    for image in _fields(schema):
        if image.get("field") in ("before", "after"):
            found |= {str(field.get("field")): text for field in _fields(image) if (text := _stated(field))}
    return found


def _stated(field: Mapping[str, Any]) -> str:
    name, base = field.get("name"), field.get("type")
    if name == DECIMAL:
        parameters = _mapping(field.get("parameters"))
        digits, scale = str(parameters.get("connect.decimal.precision", "")), str(parameters.get("scale", ""))
        is_given = all(re.fullmatch("[0-9]{1,2}", text) for text in (digits, scale))
        fits = is_given and int(scale) <= int(digits) <= 38 and int(digits) > 0
        return f"DECIMAL({int(digits)}, {int(scale)})" if fits else ""
    if name in _TIMESTAMPS:
        return {"ms": "TIMESTAMP(3)", "us": "TIMESTAMP(6)", "ns": "TIMESTAMP(9)"}[_TIMESTAMPS[name]]
    if name in _DATES:
        return "DATE"
    return _BASES.get(base, "") if name in (None, "") and isinstance(base, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _fields(schema: Any) -> list[Mapping[str, Any]]:
    fields = _mapping(schema).get("fields")
    return [_mapping(field) for field in fields] if isinstance(fields, list) else []


def from_bytes(texts: pa.Array, scale: int | None, kind: DataType) -> Converted:
    """Convert base64 texts of unscaled numbers, big-endian in two's complement, to a DECIMAL.

    Without a scale no text fits.
    """
    given = np.asarray(texts.is_valid().to_numpy(zero_copy_only=False))
    if scale is None:
        return pa.nulls(len(texts), kind.to_arrow()), given
    values, _ = decode_base64(texts)
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    good = values.is_valid().to_numpy(zero_copy_only=False) & (lengths > 0) & (lengths <= _DECIMAL_BYTES)
    values = pc.if_else(pa.array(good), values, pa.scalar(None, pa.binary()))
    lengths = np.where(good, lengths, 0)
    data = np.frombuffer(pc.binary_join(_as_list(values), b"")[0].as_py(), np.uint8)
    ends = np.cumsum(lengths)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.repeat(ends, lengths) - 1 - np.arange(len(data))
    numbers = np.zeros((len(lengths), 32), np.uint8)
    negative = np.zeros(len(lengths), bool)
    negative[good] = data[(ends - lengths)[good]] >= 128
    numbers[negative] = 255
    numbers[rows, places] = data
    valid = pa.array(good).buffers()[1] if len(good) else None
    wide = pa.Array.from_buffers(pa.decimal256(76, scale), len(good), [valid, pa.py_buffer(numbers.tobytes())])
    converted = cast_or_null(wide, kind.to_arrow())
    bad = given & converted.is_null().to_numpy(zero_copy_only=False)
    return converted, bad if bad.any() else None


def _as_list(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pc.fill_null(values, b""))
