"""Conversion of Arrow rows to the JSON forms of the Java oracle (tests/oracle/README.md), and back."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, MAP_ROOTS, STRUCT_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

EPOCH = datetime.datetime(1970, 1, 1)


def encode(value: Any, kind: DataType) -> Any:
    """Convert one Arrow scalar to the JSON of the oracle; the entries of a map are sorted as Java's."""
    if not value.is_valid:
        return None
    root = kind.root
    members = [c.type for c in kind.children]
    if root in STRUCT_ROOTS:
        return [encode(value[c.name], c.type) for c in kind.children]
    if root is TypeRoot.ARRAY:
        return [encode(item, members[0]) for item in value.values]
    if root in MAP_ROOTS:
        entries = [[encode(e["key"], members[0]), encode(e["value"], members[1])] for e in value.values]
        return sorted(entries, key=lambda entry: json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
    if root in TIMESTAMP_ROOTS:
        return _timestamp(value, root is TypeRoot.TIMESTAMP_LTZ)
    if root is TypeRoot.TIME:
        return _time(value.cast(pa.int32()).as_py())
    plain = value.as_py()
    match plain:
        case bytes():
            return plain.hex()
        case decimal.Decimal():
            return format(plain, "f")
        case datetime.date():
            return plain.isoformat()
        case float() if not math.isfinite(plain):
            return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(plain), "NaN")
    return plain


def _clock(seconds: int, nanos: int) -> str:
    """Return a time of day as Java prints it: seconds only when needed, the fraction in groups of three digits."""
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if seconds % 60 or nanos:
        text += f":{seconds % 60:02d}"
    if nanos:
        digits = f"{nanos:09d}"
        while digits.endswith("000"):
            digits = digits[:-3]
        text += f".{digits}"
    return text


def _time(millis: int) -> str:
    return _clock(millis // 1000, millis % 1000 * 1_000_000)


def _timestamp(value: Any, zoned: bool) -> str:
    unit = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[value.type.unit]
    nanos = value.cast(pa.int64()).as_py() * unit
    days, rest = divmod(nanos, 86_400 * 10**9)
    day = (datetime.date(1970, 1, 1) + datetime.timedelta(days=days)).isoformat()
    clock = _clock(rest // 10**9, rest % 10**9)
    if zoned and len(clock) == 5:
        clock += ":00"
    return f"{day}T{clock}{'Z' if zoned else ''}"


def json_rows(rows: pa.Table, fields: Sequence[DataField], kinds: Sequence[str] | None = None) -> list[list[Any]]:
    """Convert rows to the form of the oracle, ``[KIND, v1, v2, ...]``, in the order of the table."""
    out = []
    for number in range(len(rows)):
        kind = kinds[number] if kinds else "+I"
        out.append([kind, *(encode(rows[f.name][number], f.type) for f in fields)])
    return out


def as_set(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return rows without their kind as sorted JSON texts, to compare two readers."""
    return sorted(json.dumps(list(row[1:]), ensure_ascii=False) for row in rows)


def arrow_rows(rows: Sequence[Sequence[Any]], fields: Sequence[DataField]) -> pa.Table:
    """Convert rows of the oracle to Arrow."""
    columns = {f.name: [_decode(row[at + 1], f.type) for row in rows] for at, f in enumerate(fields)}
    return pa.table({f.name: pa.array(columns[f.name], f.type.to_arrow()) for f in fields})


def _decode(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    root = kind.root
    members = [c.type for c in kind.children]
    if root in STRUCT_ROOTS:
        return {c.name: _decode(v, c.type) for c, v in zip(kind.children, value, strict=True)}
    if root is TypeRoot.ARRAY:
        return [_decode(v, members[0]) for v in value]
    if root in MAP_ROOTS:
        return [(_decode(k, members[0]), _decode(v, members[1])) for k, v in value]
    if root in TIMESTAMP_ROOTS:
        clock, _, fraction = value.removesuffix("Z").partition(".")
        digits = {"ms": 3, "us": 6, "ns": 9}[kind.timestamp_unit]
        seconds = (datetime.datetime.fromisoformat(clock) - EPOCH) // datetime.timedelta(seconds=1)
        return seconds * 10**digits + int(fraction.ljust(digits, "0"))
    if root in BINARY_ROOTS:
        return bytes.fromhex(value)
    match root:
        case TypeRoot.DECIMAL:
            return decimal.Decimal(value)
        case TypeRoot.DATE:
            return datetime.date.fromisoformat(value)
        case TypeRoot.TIME:
            return datetime.time.fromisoformat(value)
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return float(value)
    return value
