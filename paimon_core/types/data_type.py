"""DataType: one data type with its nullability, sizes and members, and its Arrow type in memory (format 2.2).

TIME is always stored in milliseconds. A MULTISET is stored as a map from element to count, and a VARIANT as a row of
two binaries. The ``children`` of both types are these stored members, so that code for MAP and ROW also handles
MULTISET and VARIANT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pyarrow as pa

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.limits import TYPE_DEPTH

MAX_LENGTH = 2**31 - 1


class TypeRoot(StrEnum):
    """The kinds of types, named as in SQL; a kind with its sizes and members is a ``DataType``."""

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
    MULTISET = "MULTISET"
    ROW = "ROW"
    VARIANT = "VARIANT"


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
MAP_ROOTS = frozenset({TypeRoot.MAP, TypeRoot.MULTISET})
"""The types that are stored as a map."""
STRUCT_ROOTS = frozenset({TypeRoot.ROW, TypeRoot.VARIANT})
"""The types that are stored as a row of named members."""
NESTED_ROOTS = MAP_ROOTS | STRUCT_ROOTS | {TypeRoot.ARRAY}
"""The types with members, which are Arrow lists, maps or structs."""
NUMBER_ROOTS = frozenset(
    {
        TypeRoot.TINYINT,
        TypeRoot.SMALLINT,
        TypeRoot.INT,
        TypeRoot.BIGINT,
        TypeRoot.FLOAT,
        TypeRoot.DOUBLE,
        TypeRoot.DECIMAL,
    }
)
STRING_ROOTS = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
BINARY_ROOTS = frozenset({TypeRoot.BINARY, TypeRoot.VARBINARY})
TIMESTAMP_ROOTS = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})
FIXED_ROOTS = NUMBER_ROOTS | TIMESTAMP_ROOTS | {TypeRoot.BOOLEAN, TypeRoot.DATE, TypeRoot.TIME}
"""The kinds whose values all take the same number of bytes in memory."""
_SIMPLE_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Child:
    """One member of a nested type: the element of an ARRAY, the key or value of a map, or a field of a row."""

    name: str
    type: DataType
    id: int = -1
    """The field id of a row's field; -1 for other members, and until a new schema assigns an id."""
    description: str | None = None
    default: str | None = None
    """The default of a row's field, as an SQL literal."""

    def to_json(self) -> dict[str, Any]:
        """Return this field as an object of ``fields`` in a schema file; keys without a value are left out."""
        out: dict[str, Any] = {"id": self.id, "name": self.name, "type": self.type.to_json()}
        if self.description is not None:
            out["description"] = self.description
        if self.default is not None:
            out["defaultValue"] = self.default
        return out


@dataclass(frozen=True, slots=True, repr=False)
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
        """The canonical text, such as ``DECIMAL(10, 2) NOT NULL`` or ``ROW<a INT COMMENT 'text'>``."""
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
                return f"ROW<{', '.join(map(_field_text, self.children))}>"
            case TypeRoot.ARRAY | TypeRoot.MAP | TypeRoot.MULTISET:
                return f"{self.root}<{', '.join(str(c.type) for c in self.listed)}>"
        return str(self.root)

    @property
    def listed(self) -> tuple[Child, ...]:
        """The members in the type's text and JSON: the element of a MULTISET without its count; () for a VARIANT."""
        match self.root:
            case TypeRoot.MULTISET:
                return (replace(self.children[0], name="element"),)
            case TypeRoot.VARIANT:
                return ()
        return self.children

    def with_ids(self, ids: Iterator[int]) -> DataType:
        """Return the type with ids from ``ids`` for all fields of its ROWs.

        Nested fields get their ids before their parent.
        """
        if self.root not in NESTED_ROOTS or self.root is TypeRoot.VARIANT:
            return self
        children = []
        for child in self.children:
            inner = child.type.with_ids(ids)
            children.append(replace(child, id=next(ids) if self.root is TypeRoot.ROW else -1, type=inner))
        return replace(self, children=tuple(children))

    def __str__(self) -> str:
        return self.sql

    def __repr__(self) -> str:
        return f"DataType({self.sql})"

    def with_nullable(self, nullable: bool) -> DataType:
        """Return the same type with this nullability."""
        return replace(self, nullable=nullable)

    @property
    def depth(self) -> int:
        """The number of levels of nested types; the type itself counts as one."""
        return 1 + max((c.type.depth for c in self.listed), default=0)

    def to_json(self) -> Any:
        """Return the value in a schema file: the text, or an object for a nested type, in Java's form."""
        if self.root not in NESTED_ROOTS or self.root is TypeRoot.VARIANT:
            return self.sql
        out: dict[str, Any] = {"type": f"{self.root}{'' if self.nullable else ' NOT NULL'}"}
        if self.root is not TypeRoot.ROW:
            return out | {c.name: c.type.to_json() for c in self.listed}
        return out | {"fields": [c.to_json() for c in self.children]}

    @property
    def records(self) -> int:
        """The number of row and map types in this type; the type itself is counted."""
        return (self.root in MAP_ROOTS | STRUCT_ROOTS) + sum(c.type.records for c in self.children)

    @property
    def field_ids(self) -> list[int]:
        """The ids of all fields of the ROWs in this type, at any level."""
        own = [c.id for c in self.children] if self.root is TypeRoot.ROW else []
        return own + [number for c in self.listed for number in c.type.field_ids]

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
            case TypeRoot.MAP | TypeRoot.MULTISET:
                return pa.map_(self.children[0].type.to_arrow(), _arrow_field(self.children[1]))
            case TypeRoot.ROW | TypeRoot.VARIANT:
                return pa.struct([_arrow_field(c) for c in self.children])
        return _PLAIN_ARROW[self.root]


def _arrow_field(child: Child) -> pa.Field:
    return pa.field(child.name, child.type.to_arrow(), nullable=child.type.nullable)


def _field_text(child: Child) -> str:
    text = f"{_name_text(child.name)} {child.type}"
    if child.description is not None:
        text += f" COMMENT {_quoted(child.description)}"
    return text if child.default is None else f"{text} DEFAULT {_quoted(child.default)}"


def _name_text(name: str) -> str:
    return name if _SIMPLE_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


# -- constructors that check -------------------------------------------------------------------------------------------


def decimal(precision: int, scale: int) -> DataType:
    """Return DECIMAL(precision, scale); raises InvalidRequest unless 1 <= precision <= 38, 0 <= scale <= precision."""
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise InvalidRequest(
            f"DECIMAL({precision}, {scale}) needs 1 <= precision <= 38 and 0 <= scale <= precision",
            precision=precision,
            scale=scale,
        )
    return DataType(TypeRoot.DECIMAL, precision=precision, scale=scale)


def sized(root: TypeRoot, length: int) -> DataType:
    """Return a string or binary type of ``length``; raises InvalidRequest unless ``length`` is from 1 to MAX_LENGTH."""
    if not 1 <= length <= MAX_LENGTH:
        raise InvalidRequest(f"{root}({length}) needs a length from 1 to {MAX_LENGTH}", length=length)
    return DataType(root, length=length)


def timed(root: TypeRoot, precision: int) -> DataType:
    """Return a TIME or TIMESTAMP type; raises InvalidRequest unless ``precision`` is from 0 to 9."""
    if not 0 <= precision <= 9:
        raise InvalidRequest(f"{root}({precision}) needs a precision from 0 to 9", precision=precision)
    return DataType(root, precision=precision)


def array_of(element: DataType) -> DataType:
    """Return ARRAY<element>; raises UnsupportedFeature for too many levels."""
    return _checked(DataType(TypeRoot.ARRAY, children=(Child("element", element),)))


def map_of(key: DataType, value: DataType) -> DataType:
    """Return MAP<key, value>; raises UnsupportedFeature for too many levels."""
    return _checked(DataType(TypeRoot.MAP, children=(Child("key", key), Child("value", value))))


def multiset_of(element: DataType) -> DataType:
    """Return MULTISET<element>; raises UnsupportedFeature for too many levels."""
    return _checked(DataType(TypeRoot.MULTISET, children=(Child("key", element), _COUNT)))


def row_of(children: Sequence[Child]) -> DataType:
    """Return a ROW whose fields are ``children``.

    Raises InvalidRequest for no fields and for blank or repeated names, UnsupportedFeature for too many levels.
    """
    names = [c.name for c in children]
    if not names or len(set(names)) < len(names) or not all(name.strip() for name in names):
        raise InvalidRequest(f"a ROW needs at least one field, with distinct names that are not blank, not {names}")
    return _checked(DataType(TypeRoot.ROW, children=tuple(children)))


def _checked(nested: DataType) -> DataType:
    if nested.depth > TYPE_DEPTH:
        raise too_deep(str(nested.root), nested.depth)
    return nested


def too_deep(what: str, levels: int) -> UnsupportedFeature:
    """Return the error for a type with too many levels."""
    return UnsupportedFeature(f"a {what} has {levels} levels of nested types, the limit is {TYPE_DEPTH}")


BIGINT = DataType(TypeRoot.BIGINT)
TINYINT = DataType(TypeRoot.TINYINT)
STRING = DataType(TypeRoot.VARCHAR, length=MAX_LENGTH)
BYTES = DataType(TypeRoot.VARBINARY, length=MAX_LENGTH)
_COUNT = Child("value", DataType(TypeRoot.INT, nullable=False))
_BLOB = BYTES.with_nullable(False)
VARIANT = DataType(TypeRoot.VARIANT, children=(Child("value", _BLOB, 0), Child("metadata", _BLOB, 1)))
