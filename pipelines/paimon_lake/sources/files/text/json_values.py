"""JSON values: check one JSON object against the columns of a table, in Python.

This module finds the reason why an object is rejected. It also reads the objects that Arrow cannot read exactly:
objects of tables with a MAP, and numbers for a DECIMAL with an exponent or more than 38 digits. Other objects are read
by Arrow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from paimon_core.types import DataType, TypeRoot
from paimon_lake.sources.files.rejects import shown

_BITS = {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}
_LARGEST_DOUBLE = Decimal("1.7976931348623157e308")
Path = tuple[str, ...]
_WORDS = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", type(None): "null"}


class Unfit(Exception):
    """A value does not fit; ``column`` is None when the whole object is bad."""

    def __init__(self, column: str | None, reason: str) -> None:
        super().__init__(reason)
        self.column = column
        self.reason = reason


class ExtraMember(Exception):
    """An object has a member that the table does not have; ``name`` is its path, such as ``address.city``."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Object(list[tuple[str, Any]]):
    """The members of a JSON object as (name, value); a name may occur several times."""

    def member(self, name: str) -> Any:
        """Return the value of a member, or None when the object does not have the member; raises Unfit when the member
        occurs twice.
        """
        found = [value for other, value in self if other == name]
        if len(found) > 1:
            raise Unfit(name, f"the member {shown(name)} occurs twice")
        return found[0] if found else None


def object_of(raw: str, kinds: Mapping[str, DataType], *, ignore_extra: bool) -> dict[str, Any]:
    """Return the values of one object by column, in the types of ``json_types.read_type``; missing members are null.

    Raises Unfit for invalid JSON and for values of a wrong type. Raises ExtraMember for a member that the table does
    not have, unless ``ignore_extra``.
    """
    return _members(parse_object(raw), kinds, (), ignore_extra)


def parse_object(raw: str) -> Object:
    """Return the members of one JSON object, numbers with a fraction as Decimal; raises Unfit for any other text."""
    try:
        value = json.loads(raw, object_pairs_hook=Object, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise Unfit(None, f"not valid JSON: {error.msg} at character {error.pos + 1}") from None
    except (RecursionError, ArithmeticError, ValueError) as error:
        raise Unfit(None, f"not valid JSON: {error}") from None
    if not isinstance(value, Object):
        raise Unfit(None, f"{word_of(value)} instead of an object")
    return value


def _members(pairs: Object, kinds: Mapping[str, DataType], above: Path, ignore_extra: bool) -> dict[str, Any]:
    out: dict[str, Any] = dict.fromkeys(kinds)
    seen = set()
    for name, value in pairs:
        if name not in kinds:
            if not ignore_extra:
                raise ExtraMember(".".join((*above, name)))
            continue
        path = (*above, name)
        if name in seen:
            raise Unfit(path[0], f"the member {shown('.'.join(path))} occurs twice")
        seen.add(name)
        out[name] = value_of(value, kinds[name], path, ignore_extra)
    return out


def value_of(value: Any, kind: DataType, path: Path, ignore_extra: bool) -> Any:
    """Return a value in the form of ``json_types.read_type``; raises Unfit when it is not valid for the type."""
    if value is None:
        return None
    match kind.root:
        case TypeRoot.BOOLEAN:
            if isinstance(value, bool):
                return value
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            half = 1 << (_BITS[kind.root] - 1)
            if type(value) is int and -half <= value < half:
                return value
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            if type(value) is float:
                return value
            if type(value) in (int, Decimal) and -_LARGEST_DOUBLE <= value <= _LARGEST_DOUBLE:
                return float(value)
        case TypeRoot.DECIMAL:
            return _decimal(value, kind, path)
        case TypeRoot.ARRAY:
            if type(value) is list:
                return [value_of(item, kind.children[0].type, (*path, "[]"), ignore_extra) for item in value]
        case TypeRoot.MAP:
            if isinstance(value, Object):
                return _map(value, kind, path, ignore_extra)
        case TypeRoot.ROW:
            if isinstance(value, Object):
                return _members(value, {c.name: c.type for c in kind.children}, path, ignore_extra)
        case _:
            if isinstance(value, str) and (value.isascii() or _is_text(value)):
                return value
    raise _unfit(value, kind, path)


def _unfit(value: Any, kind: DataType, path: Path) -> Unfit:
    where = "" if len(path) == 1 else f" at {'.'.join(path)}"
    return Unfit(
        path[0], f"{shown(value) if isinstance(value, str) else word_of(value)} is not valid for {kind}{where}"
    )


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decimal(given: Any, kind: DataType, path: Path) -> Decimal:
    value = given
    if isinstance(value, str):
        try:
            value = Decimal(value) if value.isascii() and "_" not in value else None
        except ArithmeticError:
            value = None
    if type(value) not in (int, Decimal) or not Decimal(value).is_finite():
        raise _unfit(given, kind, path)
    number = Decimal(value)
    if number.is_zero():
        return Decimal(0)
    _, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits))
    zeros = len(text) - len(text.rstrip("0"))
    first, last = number.adjusted(), int(exponent) + zeros
    if first >= kind.precision - kind.scale or last < -kind.scale:
        raise _unfit(given, kind, path)
    return number


def _map(pairs: Object, kind: DataType, path: Path, ignore_extra: bool) -> list[tuple[Any, Any]]:
    """Return the pairs of a map; a key of an integer type or BOOLEAN is read as JSON from the name of the member."""
    key, item = (child.type for child in kind.children)
    out: list[tuple[Any, Any]] = []
    for name, value in pairs:
        read: Any = name
        if key.root in _BITS or key.root is TypeRoot.BOOLEAN:
            try:
                read = json.loads(name)
            except ValueError:
                read = name
        at = (*path, name)
        out.append((value_of(read, key, at, ignore_extra), value_of(value, item, at, ignore_extra)))
    names = [name for name, _ in out]
    if len(set(names)) < len(names):
        raise Unfit(path[0], f"a key occurs twice in the map {'.'.join(path)}")
    return out


def word_of(value: Any) -> str:
    """Return the kind of a JSON value in words, such as ``an array``; for a number, the number."""
    if isinstance(value, Object):
        return _WORDS[dict]
    return _WORDS.get(type(value)) or f"the number {shown(value)[1:-1]}"
