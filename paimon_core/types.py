"""Data types: Paimon's types, their text in schema files (format 2.2) and their Arrow types.

A ``DataType`` is a frozen value: root, parameters, children and nullability. MULTISET, VARIANT, BLOB, VECTOR and the
geo types raise UnsupportedFeature. ``to_arrow`` returns the one Arrow type that a column of this type has in memory:

======================  =============================================
CHAR, VARCHAR, STRING   string
BINARY, VARBINARY       binary
TIME(p)                 time32[ms] (milliseconds of the day, any p)
TIMESTAMP(p)            timestamp[ms] for p <= 3, [us] <= 6, [ns] <= 9
... LOCAL TIME ZONE     the same with tz=UTC
DECIMAL(p, s)           decimal128(p, s)
ARRAY, MAP, ROW         list, map, struct
======================  =============================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pyarrow as pa

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.limits import TYPE_DEPTH

MAX_LENGTH = 2**31 - 1


class TypeRoot(StrEnum):
    """The families of types, named as in SQL."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    ARRAY = "ARRAY"
    MAP = "MAP"
    ROW = "ROW"


_PLAIN_ARROW = {
    TypeRoot.BOOLEAN: pa.bool_(),
    TypeRoot.TINYINT: pa.int8(),
    TypeRoot.SMALLINT: pa.int16(),
    TypeRoot.INT: pa.int32(),
    TypeRoot.BIGINT: pa.int64(),
    TypeRoot.FLOAT: pa.float32(),
    TypeRoot.DOUBLE: pa.float64(),
    TypeRoot.CHAR: pa.string(),
    TypeRoot.VARCHAR: pa.string(),
    TypeRoot.BINARY: pa.binary(),
    TypeRoot.VARBINARY: pa.binary(),
    TypeRoot.DATE: pa.date32(),
    TypeRoot.TIME: pa.time32("ms"),
}
_UNSUPPORTED = ("MULTISET", "VECTOR", "VARIANT", "BLOB", "GEOMETRY", "GEOGRAPHY")
_CHILDREN = {"ARRAY": ("element",), "MAP": ("key", "value")}
NESTED_ROOTS = frozenset({TypeRoot.ARRAY, TypeRoot.MAP, TypeRoot.ROW})
STRING_ROOTS = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
BINARY_ROOTS = frozenset({TypeRoot.BINARY, TypeRoot.VARBINARY})
TIMESTAMP_ROOTS = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})


@dataclass(frozen=True, slots=True)
class Child:
    """One member of a nested type: the element of an ARRAY, the key or value of a MAP, or a field of a ROW."""

    name: str
    type: DataType
    id: int = -1
    """The field id of a ROW's field; -1 for other members, and until a new schema assigns an id."""
    description: str | None = None


@dataclass(frozen=True, slots=True)
class DataType:
    """One type; ``precision`` applies to DECIMAL, TIME and TIMESTAMP, ``length`` to strings and binaries."""

    root: TypeRoot
    nullable: bool = True
    precision: int = 0
    scale: int = 0
    length: int = 0
    children: tuple[Child, ...] = ()

    @property
    def sql(self) -> str:
        """The canonical text, ``DECIMAL(10, 2) NOT NULL``; for a nested type, ``ARRAY<INT>``, for messages only."""
        return self._base() + ("" if self.nullable else " NOT NULL")

    def _base(self) -> str:
        match self.root:
            case TypeRoot.DECIMAL:
                return f"DECIMAL({self.precision}, {self.scale})"
            case TypeRoot.VARCHAR if self.length == MAX_LENGTH:
                return "STRING"
            case TypeRoot.VARBINARY if self.length == MAX_LENGTH:
                return "BYTES"
            case TypeRoot.CHAR | TypeRoot.VARCHAR | TypeRoot.BINARY | TypeRoot.VARBINARY:
                return f"{self.root}({self.length})"
            case TypeRoot.TIME | TypeRoot.TIMESTAMP:
                return f"{self.root}({self.precision})"
            case TypeRoot.TIMESTAMP_LTZ:
                return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"
            case TypeRoot.ROW:
                return f"ROW<{', '.join(f'{c.name} {c.type}' for c in self.children)}>"
            case TypeRoot.ARRAY | TypeRoot.MAP:
                return f"{self.root}<{', '.join(str(c.type) for c in self.children)}>"
        return str(self.root)

    def to_json(self) -> Any:
        """Return the value in a schema file: the text, or an object for a nested type (format 2.2)."""
        if self.root not in NESTED_ROOTS:
            return self.sql
        out: dict[str, Any] = {"type": f"{self.root}{'' if self.nullable else ' NOT NULL'}"}
        if self.root is not TypeRoot.ROW:
            return out | {c.name: c.type.to_json() for c in self.children}
        described = ((c, {} if c.description is None else {"description": c.description}) for c in self.children)
        out["fields"] = [{"id": c.id, "name": c.name, "type": c.type.to_json()} | more for c, more in described]
        return out

    def with_ids(self, ids: Iterator[int]) -> DataType:
        """Return the type with field ids for all fields of its ROWs, assigned depth first (format 2.1)."""
        if self.root not in NESTED_ROOTS:
            return self
        children = []
        for child in self.children:
            number = next(ids) if self.root is TypeRoot.ROW else -1
            children.append(replace(child, id=number, type=child.type.with_ids(ids)))
        return replace(self, children=tuple(children))

    def __str__(self) -> str:
        return self.sql

    def with_nullable(self, nullable: bool) -> DataType:
        """Return the same type with this nullability."""
        return replace(self, nullable=nullable)

    @property
    def depth(self) -> int:
        """The number of levels of nested types; the type itself counts as one."""
        return 1 + max((c.type.depth for c in self.children), default=0)

    @property
    def records(self) -> int:
        """The number of ROW and MAP types in this type, including itself."""
        return (self.root in (TypeRoot.ROW, TypeRoot.MAP)) + sum(c.type.records for c in self.children)

    @property
    def timestamp_unit(self) -> str:
        """The Arrow unit of a TIMESTAMP of this precision: ms, us or ns."""
        return "ms" if self.precision <= 3 else "us" if self.precision <= 6 else "ns"

    def to_arrow(self) -> pa.DataType:
        """Return the Arrow type of a column of this type in memory."""
        match self.root:
            case TypeRoot.DECIMAL:
                return pa.decimal128(self.precision, self.scale)
            case TypeRoot.TIMESTAMP:
                return pa.timestamp(self.timestamp_unit)
            case TypeRoot.TIMESTAMP_LTZ:
                return pa.timestamp(self.timestamp_unit, tz="UTC")
            case TypeRoot.ARRAY:
                return pa.list_(_arrow_field(self.children[0]))
            case TypeRoot.MAP:
                return pa.map_(self.children[0].type.to_arrow(), _arrow_field(self.children[1]))
            case TypeRoot.ROW:
                return pa.struct([_arrow_field(c) for c in self.children])
        return _PLAIN_ARROW[self.root]


def _arrow_field(child: Child) -> pa.Field:
    return pa.field(child.name, child.type.to_arrow(), nullable=child.type.nullable)


_NOT_NULL = re.compile(r"\s+NOT\s+NULL$")
_NULL = re.compile(r"\s+NULL$")
_WORDS = re.compile(
    r"^([A-Z_]+(?:\s+[A-Z]+)*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?\s*(WITH(?:OUT)?(?:\s+LOCAL)?\s+TIME\s+ZONE)?$"
)
_ALIASES = {
    "INTEGER": "INT",
    "DOUBLE PRECISION": "DOUBLE",
    "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
    "STRING": "VARCHAR",
    "BYTES": "VARBINARY",
}


def parse_type(value: Any) -> DataType:
    """Parse the ``type`` member of a field in a schema file (format 2.2).

    Raises UnsupportedFeature for types that are not supported, InvalidRequest for a value that is not a type.
    """
    if isinstance(value, dict):
        return _parse_nested(value)
    if not isinstance(value, str):
        raise InvalidRequest(f"a type must be a string, not {value!r}", type=value)
    text, nullable = _parse_nullable(value)
    word = text.split("(")[0].split("<")[0].split(" ")[0]
    if word in _UNSUPPORTED:
        raise UnsupportedFeature(f"type {value} is not supported", type=value)
    if word in NESTED_ROOTS:
        raise InvalidRequest(
            f"type {value} is nested: it must be given as an object or by an Arrow schema, not as a text", type=value
        )
    found = _WORDS.match(text)
    if found is None:
        raise InvalidRequest(f"{value!r} is not a data type", type=value)
    name, first, second, zone = found.groups()
    return _build(name, first, second, zone, value).with_nullable(nullable)


def _parse_nullable(text: str) -> tuple[str, bool]:
    text = " ".join(text.strip().upper().split())
    if _NOT_NULL.search(text):
        return _NOT_NULL.sub("", text), False
    return _NULL.sub("", text), True


def _parse_nested(value: Mapping[str, Any]) -> DataType:
    name, nullable = _parse_nullable(str(value.get("type")))
    try:
        if name in _CHILDREN:
            children = tuple(Child(member, parse_type(value[member])) for member in _CHILDREN[name])
        elif name == "ROW":
            children = tuple(
                Child(str(f["name"]), parse_type(f["type"]), int(f.get("id", -1)), f.get("description"))
                for f in value["fields"]
            )
        else:
            raise UnsupportedFeature(f"type {value.get('type')!s} is not supported", type=value.get("type"))
    except (InvalidRequest, UnsupportedFeature):
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidRequest(f"{value!r:.120} is not a data type: {error!r}", type=value) from None
    return _nested(TypeRoot(name), children).with_nullable(nullable)


def _nested(root: TypeRoot, children: tuple[Child, ...]) -> DataType:
    """Return the nested type after checks.

    Raises InvalidRequest for blank or repeated names, UnsupportedFeature for too many levels and for timestamps finer
    than a microsecond.
    """
    names = [c.name for c in children]
    if not names or len(set(names)) < len(names) or not all(name.strip() for name in names):
        raise InvalidRequest(f"a {root} needs at least one field, with distinct names that are not blank, not {names}")
    nested = DataType(root, children=children)
    if nested.depth > TYPE_DEPTH:
        raise UnsupportedFeature(f"a {root} has {nested.depth} levels of nested types, {TYPE_DEPTH} is the most")
    for child in children:
        if child.type.root in TIMESTAMP_ROOTS and child.type.timestamp_unit == "ns":
            raise UnsupportedFeature(f"type {child.type} inside of a {root} is not supported", type=child.type.sql)
    return nested


def _build(name: str, first: str | None, second: str | None, zone: str | None, text: str) -> DataType:
    whole = name in ("STRING", "BYTES")
    name = _ALIASES.get(name, name)
    if zone == "WITH LOCAL TIME ZONE" and name == "TIMESTAMP":
        name = "TIMESTAMP_LTZ"
    elif zone is not None and not (zone == "WITHOUT TIME ZONE" and name in ("TIMESTAMP", "TIME")):
        raise InvalidRequest(f"{text!r} is not a data type", type=text)
    if name not in TypeRoot.__members__:
        raise InvalidRequest(f"{text!r} is not a data type", type=text)
    root = TypeRoot(name)
    number = None if first is None else int(first)
    if second is not None and root is not TypeRoot.DECIMAL:
        raise InvalidRequest(f"{text!r} takes no scale", type=text)
    if root is TypeRoot.DECIMAL:
        return decimal(10 if number is None else number, int(second or 0))
    if root in STRING_ROOTS or root in BINARY_ROOTS:
        if whole and number is not None:
            raise InvalidRequest(f"{text!r} takes no length", type=text)
        return _sized(root, MAX_LENGTH if whole else 1 if number is None else number)
    if root is TypeRoot.TIME:
        return _timed(root, 0 if number is None else number)
    if root in TIMESTAMP_ROOTS:
        return _timed(root, 6 if number is None else number)
    if number is not None:
        raise InvalidRequest(f"{text!r} takes no length", type=text)
    return DataType(root)


def decimal(precision: int, scale: int) -> DataType:
    """Return DECIMAL(precision, scale); raises InvalidRequest unless 1 <= precision <= 38, 0 <= scale <= precision."""
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise InvalidRequest(
            f"DECIMAL({precision}, {scale}) needs 1 <= precision <= 38 and 0 <= scale <= precision",
            precision=precision,
            scale=scale,
        )
    return DataType(TypeRoot.DECIMAL, precision=precision, scale=scale)


def _sized(root: TypeRoot, length: int) -> DataType:
    if not 1 <= length <= MAX_LENGTH:
        raise InvalidRequest(f"{root}({length}) needs a length from 1 to {MAX_LENGTH}", length=length)
    return DataType(root, length=length)


def _timed(root: TypeRoot, precision: int) -> DataType:
    if not 0 <= precision <= 9:
        raise InvalidRequest(f"{root}({precision}) needs a precision from 0 to 9", precision=precision)
    return DataType(root, precision=precision)


STRING = DataType(TypeRoot.VARCHAR, length=MAX_LENGTH)
BYTES = DataType(TypeRoot.VARBINARY, length=MAX_LENGTH)
BIGINT = DataType(TypeRoot.BIGINT)
TINYINT = DataType(TypeRoot.TINYINT)
_UNIT_PRECISION = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def from_arrow(arrow: pa.DataType, nullable: bool = True) -> DataType:
    """Return the Paimon type for an Arrow type; a dictionary type is mapped as the type of its values.

    Raises UnsupportedFeature, which names the Arrow type, when no type matches (unsigned, half float, duration ...).
    """
    return _from_arrow(arrow).with_nullable(nullable)


def _from_arrow(arrow: pa.DataType) -> DataType:
    if pa.types.is_dictionary(arrow):
        return _from_arrow(arrow.value_type)
    for root, known in _PLAIN_ARROW.items():
        if root not in STRING_ROOTS and root not in BINARY_ROOTS and arrow.equals(known):
            return DataType(root)
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
        return STRING
    if pa.types.is_fixed_size_binary(arrow):
        return _sized(TypeRoot.BINARY, arrow.byte_width)
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
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        return _nested(TypeRoot.ARRAY, (_from_arrow_field("element", arrow.value_field),))
    if pa.types.is_map(arrow):
        key, item = Child("key", from_arrow(arrow.key_type, False)), _from_arrow_field("value", arrow.item_field)
        return _nested(TypeRoot.MAP, (key, item))
    if pa.types.is_struct(arrow):
        return _nested(TypeRoot.ROW, tuple(_from_arrow_field(f.name, f) for f in arrow))
    raise UnsupportedFeature(f"Arrow type {arrow} has no supported table type", type=str(arrow))


def _from_arrow_field(name: str, field: pa.Field) -> Child:
    return Child(name, from_arrow(field.type, field.nullable))
