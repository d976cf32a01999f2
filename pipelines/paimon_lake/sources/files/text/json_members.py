"""JSON members: finds the members of the columns of a table that occur in the objects of a split; a member with the
value null occurs too.

A file must have each column, and each member of a nested object, in at least one object, as a CSV file must have each
column in its header. A task reads only a part of the file, so it reports the members that it has found; ``lacking``
then finds the missing members from all reports.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from paimon_core.types import DataType, TypeRoot

Path = tuple[str, ...]
OBJECT = "\0"
"""A path that ends with this part means that an object, even one without members, occurs at the path before it."""


def member_paths(kinds: Mapping[str, DataType]) -> list[Path]:
    """Return the paths of the columns and of the members of ROWs in them; array elements and map values add no part to
    a path.
    """
    found: list[Path] = []

    def walk(kind: DataType, path: Path) -> None:
        for child in kind.children:
            inner = (*path, child.name) if kind.root is TypeRoot.ROW else path
            if kind.root is TypeRoot.ROW:
                found.append(inner)
            walk(child.type, inner)

    for name, kind in kinds.items():
        found.append((name,))
        walk(kind, (name,))
    return found


def lacking(kinds: Mapping[str, DataType], seen: Collection[Path]) -> list[Path]:
    """Return the paths of members that no object has, although an object that could have the member occurs."""
    return [path for path in member_paths(kinds) if path not in seen and (*path[:-1], OBJECT) in seen]


class Members:
    """The members that were found in the objects of a split; only columns in ``wanted`` are observed."""

    def __init__(self, kinds: Mapping[str, DataType], wanted: Collection[str]) -> None:
        self.kinds = {name: kind for name, kind in kinds.items() if name in wanted}
        self.paths = member_paths(self.kinds)
        self.seen: set[Path] = set()

    def unseen(self) -> list[Path]:
        """Return the members that no object had so far, although an object that could have the member occurred."""
        return lacking(self.kinds, self.seen) if self.kinds else []

    def note_columns(self, columns: Mapping[str, pa.Array]) -> None:
        """Note the members that have a value. A null is not noted, because it may stand for a missing member."""
        for name, kind in self.kinds.items():
            if len(columns[name]):
                self.seen.add((OBJECT,))
            self._note_values(columns[name], kind, (name,))

    def note_values(self, name: str, values: pa.Array) -> None:
        """Note a column if it has a value, and the members of its objects that have a value."""
        self._note_values(values, self.kinds[name], (name,))

    def _note_values(self, values: pa.Array, kind: DataType, path: Path) -> None:
        if values.null_count == len(values):
            return
        self.seen.add(path)
        if kind.root is TypeRoot.ROW:
            self.seen.add((*path, OBJECT))
            for child, inner in zip(kind.children, values.flatten(), strict=True):
                self._note_values(inner, child.type, (*path, child.name))
        elif kind.root is TypeRoot.ARRAY and kind.children[0].type.children:
            self._note_values(values.flatten(), kind.children[0].type, path)

    def note_schema(self, schema: pa.Schema) -> None:
        """Note the members in a schema that Arrow inferred from objects; the schema also has always-null members."""
        for field in schema:
            if field.name in self.kinds:
                self.seen.add((field.name,))
                self._note_type(field.type, self.kinds[field.name], (field.name,))

    def _note_type(self, arrow: pa.DataType, kind: DataType, path: Path) -> None:
        if kind.root is TypeRoot.ARRAY and pa.types.is_list(arrow):
            self._note_type(arrow.value_type, kind.children[0].type, path)
        if kind.root is not TypeRoot.ROW or not pa.types.is_struct(arrow):
            return
        self.seen.add((*path, OBJECT))
        for child in kind.children:
            if (at := arrow.get_field_index(child.name)) >= 0:
                self.seen.add((*path, child.name))
                self._note_type(arrow.field(at).type, child.type, (*path, child.name))

    def note_texts(self, texts: Iterable[bytes]) -> None:
        """Note the members of objects one by one, until all members are seen; texts that are no object are skipped."""
        self.note_objects(parsed_text(text) for text in texts)

    def note_objects(self, values: Iterable[Any]) -> None:
        """Note the members of parsed objects, until all members are seen; other values are skipped."""
        for value in values:
            if isinstance(value, dict):
                self._note_object(value, self.kinds, ())
            if self.seen.issuperset(self.paths):
                return

    def _note_object(self, value: Mapping[str, Any], kinds: Mapping[str, DataType], path: Path) -> None:
        self.seen.add((*path, OBJECT))
        for name in value.keys() & kinds.keys():
            self.seen.add((*path, name))
            self._note_inner(value[name], kinds[name], (*path, name))

    def _note_inner(self, value: Any, kind: DataType, path: Path) -> None:
        if kind.root is TypeRoot.ROW and isinstance(value, dict):
            self._note_object(value, {child.name: child.type for child in kind.children}, path)
        elif kind.root is TypeRoot.ARRAY and isinstance(value, list):
            for item in value:
                self._note_inner(item, kind.children[0].type, path)
        elif kind.root is TypeRoot.MAP and isinstance(value, dict):
            for item in value.values():
                self._note_inner(item, kind.children[1].type, path)


def parsed_text(text: bytes) -> Any:
    """Return the value of a JSON text, None when it cannot be parsed."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
