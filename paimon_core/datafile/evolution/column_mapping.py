"""Evolution: maps a file's columns to the columns of the reading schema, by field id (format 2.4).

A renamed column is read under its old name, a column that was added later is null, and a column whose type changed is
cast. For a file without ``_KEY_*`` columns the keys are read from the value columns. If a file has a key column and the
value column of the same field, both columns have the same values, and only one of them is decoded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from paimon_core.datafile.evolution.casts import Cast, check_cast
from paimon_core.datafile.evolution.members import with_members_of
from paimon_core.datafile.evolution.stored_types import from_stored, is_dictionary_of, is_stored_as
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.schema import KEY_FIELD_ID_START, KEY_PREFIX, DataField, TableSchema
from paimon_core.types import DataType

_MOST_KNOWN = 64


@dataclass(frozen=True, slots=True)
class Source:
    """The file column from which a column of the result is read."""

    wanted: DataField
    column: str | None
    """The name of the column in the file; None: the file lacks it, and all values are null."""
    stored: DataType
    """The type of the column in the file's schema."""
    cast: Cast | None
    arrow: pa.DataType | None = None
    """Arrays of this type need no conversion and no check; None: all arrays are converted."""

    def with_chosen_members(self) -> Source:
        """Return the source for a read that decodes only the wanted fields of each ROW."""
        stored = with_members_of(self.stored, self.wanted.type)
        if stored is self.stored or stored == self.stored:
            return self
        cast = check_cast(stored, self.wanted.type, self.wanted.name)
        return replace(self, stored=stored, cast=cast, arrow=_unchanged(stored, cast))

    def convert(self, array: pa.Array, path: str, *, encoded: bool = False) -> pa.Array:
        """Convert the decoded column to the wanted type; with ``encoded``, the result may be a dictionary array.

        Raises CorruptTable, which names path and column, for values that the stored type does not allow,
        UnsupportedFeature for values that do not fit the wanted type.
        """
        if array.type == self.arrow:
            return array
        try:
            if not (encoded and self.cast is None and is_dictionary_of(array, self.stored)):
                array = from_stored(array, self.stored)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise CorruptTable(
                f"{path}: column {self.column!r} is not a valid {self.stored}: {error}", path=path, column=self.column
            ) from error
        if array.null_count and not self.stored.nullable:
            raise CorruptTable(
                f"{path}: column {self.column!r} is NOT NULL and has {array.null_count} nulls",
                path=path,
                column=self.column,
            )
        if self.cast is None:
            return array
        try:
            return self.cast(array, self.stored, self.wanted.type)
        except pa.ArrowInvalid as error:
            raise UnsupportedFeature(
                f"{path}: column {self.column!r} does not fit {self.wanted.type}: {error}",
                path=path,
                column=self.wanted.name,
            ) from error


_Known = tuple[tuple[Source, ...], pa.Schema, tuple[Any, ...]]
_KNOWN: OrderedDict[tuple[int, ...], _Known] = OrderedDict()
_LOCK = threading.Lock()


def match_columns(
    file_schema: TableSchema, read_fields: Sequence[DataField], found: pa.Schema, path: str, *, members: bool = False
) -> tuple[Source, ...]:
    """Return the source of each of ``read_fields`` in a file of ``file_schema`` that has the columns ``found``.

    ``members``: only the wanted fields of a ROW are decoded. Raises UnsupportedFeature, which names column and types,
    for an unsupported cast, CorruptTable for a file that lacks a NOT NULL column of its schema or has a column whose
    type does not match the schema.
    """
    by_id = {f.id: f for f in file_schema.file_fields}
    wanted_ids = {f.id for f in read_fields}
    sources = tuple(_source(f, by_id, wanted_ids, found, path) for f in read_fields)
    return tuple(s.with_chosen_members() for s in sources) if members else sources


def known_columns(
    file_schema: TableSchema, read_fields: Sequence[DataField], found: pa.Schema, path: str, *, members: bool
) -> tuple[tuple[Source, ...], pa.Schema]:
    """Return ``match_columns`` and the Arrow schema of ``read_fields``; both are remembered for the same objects."""
    key = id(file_schema), id(found), members, *map(id, read_fields)
    with _LOCK:
        known = _KNOWN.get(key)
    # The entry refers to its objects, so that no other object gets their ids while the entry exists.
    if known is None:
        sources = match_columns(file_schema, read_fields, found, path, members=members)
        known = sources, pa.schema([f.arrow for f in read_fields]), (file_schema, found, tuple(read_fields))
        with _LOCK:
            _KNOWN[key] = known
            while len(_KNOWN) > _MOST_KNOWN:
                _KNOWN.popitem(last=False)
    return known[:2]


def _source(
    wanted: DataField, by_id: dict[int, DataField], wanted_ids: set[int], found: pa.Schema, path: str
) -> Source:
    stored = by_id.get(wanted.id)
    if stored is None:
        return Source(wanted, None, wanted.type, None)
    cast = check_cast(stored.type, wanted.type, wanted.name)
    name = _stored_name(stored, wanted_ids, found)
    if name is None:
        if not stored.type.nullable:
            raise CorruptTable(
                f"{path} has no column {stored.name!r}, which is NOT NULL", path=path, column=stored.name
            )
        return Source(wanted, None, stored.type, cast)
    if len(found.get_all_field_indices(name)) > 1:
        raise CorruptTable(f"{path} has column {name!r} twice", path=path, column=name)
    held = found.field(name).type
    try:
        fits = is_stored_as(held, stored.type)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"{path}: column {name!r}: {error}", path=path, column=name) from None
    if not fits:
        raise CorruptTable(f"{path}: column {name!r} is stored as {held}, not {stored.type}", path=path, column=name)
    return Source(wanted, name, stored.type, cast, _unchanged(stored.type, cast))


def _unchanged(stored: DataType, cast: Cast | None) -> pa.DataType | None:
    """Return the Arrow type of arrays that are returned as they are decoded; None: there is a cast or a check."""
    return stored.to_arrow() if cast is None and stored.nullable else None


def _stored_name(stored: DataField, wanted_ids: set[int], found: pa.Schema) -> str | None:
    """Return the name of the file column to decode, or None if the file lacks the column.

    A key column and the value column of the same field use the same file column.
    """
    if stored.name.startswith(KEY_PREFIX):
        candidates = [stored.name, stored.name.removeprefix(KEY_PREFIX)]
    elif KEY_FIELD_ID_START + stored.id in wanted_ids:
        candidates = [KEY_PREFIX + stored.name, stored.name]
    else:
        candidates = [stored.name]
    return next((name for name in candidates if found.get_all_field_indices(name)), None)
