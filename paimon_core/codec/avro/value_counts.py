"""Value counts: counts the values in encoded Avro records without decoding them, to limit the memory of decoding.

A decoded value takes 8 to 60 bytes of memory and a record 200 bytes, even if it takes one byte in the file. Without a
limit, a short file that unpacks to many small values would use gigabytes.
"""

from __future__ import annotations

from typing import Any

_RECORD_VALUES = 4
"""A record becomes a dict, so it counts as this number of values in addition to the values of its fields."""
_WIDTHS = {"null": 0, "boolean": 1, "float": 4, "double": 8}


def count_values(schema: Any, data: bytes, records: int, limit: int) -> int:
    """Return the number of values in ``records`` records of ``schema``, a result of ``fastavro.parse_schema``.

    Raises ValueError when there are more than ``limit`` values, or ``data`` does not end with the last record.
    """
    counter = _Counter(data, limit)
    for _ in range(records):
        counter.value(schema)
    if counter.at != len(data):
        raise ValueError(f"a block of {len(data)} bytes contains more than its stated {records} records")
    return limit - counter.left


def repeats_records(schema: Any, inside: bool = False) -> bool:
    """Whether an array or a map of the schema contains records, which use the most memory for each byte of the file."""
    if isinstance(schema, list):
        return any(repeats_records(branch, inside) for branch in schema)
    if not isinstance(schema, dict):
        return inside and schema not in (*_WIDTHS, "int", "long", "bytes", "string")
    match schema["type"]:
        case "record":
            return inside or any(repeats_records(field["type"]) for field in schema["fields"])
        case "array":
            return repeats_records(schema["items"], True)
        case "map":
            return repeats_records(schema["values"], True)
        case kind:
            return isinstance(kind, dict | list) and repeats_records(kind, inside)


class _Counter:
    def __init__(self, data: bytes, limit: int) -> None:
        self.data = data
        self.at = 0
        self.limit = self.left = limit
        self.known: dict[str, Any] = {}

    def value(self, schema: Any) -> None:
        if isinstance(schema, list):
            self.value(schema[self.long(len(schema) - 1)])
            return
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(kind, dict | list):
            self.value(kind)
        elif kind == "record":
            self.known[schema["name"]] = schema
            self.take(_RECORD_VALUES + len(schema["fields"]))
            for field in schema["fields"]:
                self.value(field["type"])
        elif kind in ("array", "map"):
            self.items(schema, kind)
        elif kind in self.known:
            self.value(self.known[kind])
        else:
            self.plain(schema, kind)

    def items(self, schema: dict[str, Any], kind: str) -> None:
        while count := self.long(None):
            if count < 0:
                self.long(None)
            self.take(abs(count))
            for _ in range(abs(count)):
                if kind == "map":
                    self.plain("string", "string")
                self.value(schema["items" if kind == "array" else "values"])

    def plain(self, schema: Any, kind: str) -> None:
        if kind in ("bytes", "string"):
            size = self.long(len(self.data))
            self.at += size
        elif kind == "fixed":
            self.known[schema["name"]] = schema
            self.at += schema["size"]
        elif kind in _WIDTHS:
            self.at += _WIDTHS[kind]
        else:
            if kind == "enum":
                self.known[schema["name"]] = schema
            self.long(None)
        if self.at > len(self.data):
            raise ValueError("its records are truncated")

    def take(self, values: int) -> None:
        self.left -= values
        if self.left < 0:
            raise ValueError(f"a block of {len(self.data)} bytes contains more than {self.limit} values")

    def long(self, most: int | None) -> int:
        """Return the next number; with ``most``, raises ValueError for a number that is not from 0 to ``most``."""
        data, at = self.data, self.at
        if most is None and at < len(data) and data[at] < 0x80:  # most numbers take one byte
            self.at = at + 1
            return (data[at] >> 1) ^ -(data[at] & 1)
        value = shift = 0
        while self.at < len(self.data) and shift < 64:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value = (value >> 1) ^ -(value & 1)
                if most is not None and not 0 <= value <= most:
                    raise ValueError(f"its records have the number {value}, which must be from 0 to {most}")
                return value
            shift += 7
        raise ValueError("its records have a number that does not end")
