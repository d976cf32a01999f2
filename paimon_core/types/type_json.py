"""Type JSON: the ``type`` member of fields in schema files (format 2.2).

Java writes a text for a scalar type and an object for a nested type. In such an object, pypaimon repeats the members in
the text ``type`` and adds ``nullable``; both forms are read. ``DataType.to_json`` writes Java's form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.types.data_type import Child, DataType, array_of, map_of, multiset_of, row_of
from paimon_core.types.type_text import parse_nested_head, parse_text


def parse_type(value: Any) -> DataType:
    """Parse the text of a type, or the ``type`` member of a field in a schema file.

    Raises UnsupportedFeature for types that are not supported, InvalidRequest for a value that is not a type.
    """
    if isinstance(value, str):
        return parse_text(value)
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"a type must be a string, not {value!r:.120}", type=value)
    head = parse_nested_head(str(value.get("type")))
    if head is None:
        raise InvalidRequest(f"{value!r:.120} is not a data type: its type is no text of a type", type=value)
    name, nullable = head
    # For a MAP, pypaimon states the nullability only in ``nullable``.
    if type(value.get("nullable")) is bool:
        nullable = value["nullable"]
    try:
        return _nested(name, value).with_nullable(nullable)
    except (InvalidRequest, UnsupportedFeature):
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidRequest(f"{value!r:.120} is not a data type: {error!r}", type=value) from None


def _nested(name: str, value: Mapping[str, Any]) -> DataType:
    match name:
        case "ARRAY":
            return array_of(parse_type(value["element"]))
        case "MULTISET":
            return multiset_of(parse_type(value["element"]))
        case "MAP":
            return map_of(parse_type(value["key"]), parse_type(value["value"]))
        case "ROW":
            return row_of([_child(f) for f in value["fields"]])
    raise UnsupportedFeature(f"type {value.get('type')!s:.120} is not supported", type=value.get("type"))


def _child(field: Mapping[str, Any]) -> Child:
    name = field["name"]
    if not isinstance(name, str):
        raise TypeError(f"the name of a field is {name!r:.60}, not a text")
    kind = parse_type(field["type"])
    return Child(name, kind, int(field.get("id", -1)), _text(field, "description"), _text(field, "defaultValue"))


def _text(field: Mapping[str, Any], member: str) -> str | None:
    found = field.get(member)
    if found is not None and not isinstance(found, str):
        raise TypeError(f"the {member} of a field is {found!r:.60}, not a text")
    return found
