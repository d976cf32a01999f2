"""Columns: the columns that a read may return in addition to whole columns of the table: members of ROW columns, and
metadata columns.

The metadata columns have the names and types of Paimon's Spark connector. Metadata columns are returned only if the
caller requests them by name; a column of the table with the same name takes precedence. A member is named by its path,
such as ``address.city``: the result has the column ``address`` with only the requested fields, in the order of the
table. A column of the table whose name contains dots takes precedence over a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from paimon_core.errors import InvalidRequest, SchemaMismatch, listed
from paimon_core.predicate import Predicate
from paimon_core.schema import KIND_FIELD, SEQUENCE_FIELD, DataField, TableSchema
from paimon_core.types import BIGINT, STRING, Child, DataType, TypeRoot

FILE_PATH = "__paimon_file_path"
ROW_INDEX = "__paimon_row_index"
PARTITION = "__paimon_partition"
BUCKET = "__paimon_bucket"
_LAST_ID = 2**31 - 1
_PLACED = {
    FILE_PATH: DataField(_LAST_ID - 101, FILE_PATH, STRING.with_nullable(False)),
    ROW_INDEX: DataField(_LAST_ID - 100, ROW_INDEX, BIGINT.with_nullable(False)),
    BUCKET: DataField(_LAST_ID - 103, BUCKET, DataType(TypeRoot.INT, nullable=False)),
}
_PARTITION_ID = _LAST_ID - 102
PLACED_IDS = frozenset({_PARTITION_ID, *(f.id for f in _PLACED.values())})
"""The ids of the columns that say where a row is stored; no file contains them."""


def metadata_field(schema: TableSchema, name: str) -> DataField | None:
    """Return the metadata column with this name.

    Return None when there is no such metadata column, or when a column of the table has the name.
    """
    if name in schema.by_name:
        return None
    if schema.primary_keys and name in (SEQUENCE_FIELD.name, KIND_FIELD.name):
        return SEQUENCE_FIELD if name == SEQUENCE_FIELD.name else KIND_FIELD
    if name == PARTITION:
        children = tuple(Child(f.name, f.type, f.id) for f in schema.partition_fields)
        return DataField(_PARTITION_ID, PARTITION, DataType(TypeRoot.ROW, nullable=False, children=children))
    return _PLACED.get(name)


def filter_fields(schema: TableSchema, where: Predicate) -> tuple[DataField, ...]:
    """Return the fields that a filter may use: the table's columns, and the metadata columns that it names."""
    named = (metadata_field(schema, name) for name in sorted(where.columns.difference(schema.by_name)))
    return (*schema.fields, *(f for f in named if f is not None))


def result_fields(schema: TableSchema, names: Sequence[str]) -> tuple[DataField, ...]:
    """Return the columns of the result; the order is the order in which ``names`` first names each column.

    Raises SchemaMismatch for an unknown column or member. Raises InvalidRequest for a column or member that is named
    twice, and for a column that is named both as a whole and by a member.
    """
    if schema.by_name.keys() >= set(names) and len(set(names)) == len(names):
        return schema.select(names)
    fields: dict[str, DataField] = {}
    members: dict[str, list[str]] = {}
    for name in names:
        field = schema.by_name.get(name) or metadata_field(schema, name)
        rest = None
        if field is None:
            field, rest = _holder(schema, name)
        known = members.setdefault(field.name, [])
        if (field.name in fields) != bool(known) or (rest is None and known) or rest in known:
            raise InvalidRequest(f"columns names {name!r} twice", column=name)
        fields[field.name] = field
        if rest is not None:
            known.append(rest)
    return tuple(replace(f, type=_chosen(f.type, members[n], n)) if members[n] else f for n, f in fields.items())


def named_by(schema: TableSchema, columns: Iterable[str], result: Sequence[str]) -> tuple[str, ...]:
    """Return ``columns``, which may be paths of members, sorted by the order of the top-level columns in ``result``."""
    found: dict[str, list[str]] = {}
    for name in columns:
        plain = name in schema.by_name or metadata_field(schema, name) is not None
        found.setdefault(name if plain else _holder(schema, name)[0].name, []).append(name)
    return tuple(name for top in result for name in found.get(top, [top]))


def _holder(schema: TableSchema, name: str) -> tuple[DataField, str]:
    """Return the column that contains the member ``name``, and the path of the member in the column.

    If several columns fit, the column with the longest name is returned.
    """
    holders = [f for f in schema.fields if name.startswith(f"{f.name}.")]
    if not holders:
        schema.select([name])
    field = max(holders, key=lambda f: len(f.name))
    return field, name[len(field.name) + 1 :]


def _chosen(dtype: DataType, paths: Sequence[str], column: str) -> DataType:
    """Return the ROW type of a column with only the members at these paths."""
    if dtype.root is not TypeRoot.ROW:
        raise SchemaMismatch(f"column {column!r} is {dtype}: only fields of a ROW can be chosen", column=column)
    wanted: dict[str, list[str]] = {}
    for path in paths:
        found = [c.name for c in dtype.children if path == c.name or path.startswith(f"{c.name}.")]
        if not found:
            raise SchemaMismatch(
                f"column {column!r} has no field {path!r}; the fields are {listed([c.name for c in dtype.children])}",
                column=f"{column}.{path}",
            )
        name = path if path in found else max(found, key=len)
        rest = path[len(name) + 1 :]
        known = wanted.setdefault(name, [])
        if name in wanted and known and (not rest or "" in known):
            raise InvalidRequest(f"columns names {column}.{path} twice", column=f"{column}.{path}")
        known.append(rest)
    children = []
    for child in dtype.children:
        if child.name in wanted:
            inner = wanted[child.name]
            kept = child.type if inner == [""] else _chosen(child.type, inner, f"{column}.{child.name}")
            children.append(replace(child, type=kept))
    return replace(dtype, children=tuple(children))
