"""REST changes: schema changes as the JSON objects that a Paimon REST server accepts (format 14.9)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from paimon_core.alter.changes import (
    AddColumn,
    DropColumn,
    Place,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateComment,
    UpdateDefault,
    UpdateNullability,
    UpdatePosition,
    UpdateType,
    path_of,
    type_of,
)
from paimon_core.errors import InvalidRequest


def rest_changes(changes: Sequence[SchemaChange]) -> list[dict[str, Any]]:
    """Return the JSON objects of the changes for a request; a new column with a default becomes two objects."""
    return [member for change in changes for member in _members(change)]


def _members(change: SchemaChange) -> Iterator[dict[str, Any]]:
    match change:
        case AddColumn():
            path = list(path_of(change.column))
            kind = type_of(change.type, ".".join(path)).with_ids(itertools.count())
            members = {"action": "addColumn", "fieldNames": path, "dataType": kind.to_json(), "comment": change.comment}
            yield members | ({"move": _move(path[-1], change.place)} if change.place else {})
            if change.default is not None:
                yield from _members(UpdateDefault(change.column, change.default))
        case DropColumn():
            yield {"action": "dropColumn", "fieldNames": list(path_of(change.column))}
        case RenameColumn():
            yield {"action": "renameColumn", "fieldNames": list(path_of(change.column)), "newName": change.name}
        case UpdateType():
            path = list(path_of(change.column))
            kind = type_of(change.type, ".".join(path))
            new = {"newDataType": kind.to_json(), "keepNullability": True}
            yield {"action": "updateColumnType", "fieldNames": path, **new}
        case UpdateNullability():
            path = list(path_of(change.column))
            yield {"action": "updateColumnNullability", "fieldNames": path, "newNullability": change.nullable}
        case UpdateColumnComment():
            path = list(path_of(change.column))
            yield {"action": "updateColumnComment", "fieldNames": path, "newComment": change.comment}
        case UpdateDefault():
            path = list(path_of(change.column))
            yield {"action": "updateColumnDefaultValue", "fieldNames": path, "newDefaultValue": change.default}
        case UpdatePosition():
            yield {"action": "updateColumnPosition", "move": _move(change.column, change.place)}
        case UpdateComment():
            yield {"action": "updateComment", "comment": change.comment}
        case SetOption():
            yield {"action": "setOption", "key": change.key, "value": change.text}
        case RemoveOption():
            yield {"action": "removeOption", "key": change.key}
        case _:
            raise InvalidRequest(f"{change!r:.80} is not a schema change")


def _move(column: str, place: Place) -> dict[str, Any]:
    beside = place.after if place.after is not None else place.before
    kind = "FIRST" if place.first else "LAST" if place.last else "AFTER" if place.after is not None else "BEFORE"
    return {"fieldName": column, "referenceFieldName": beside, "type": kind}
