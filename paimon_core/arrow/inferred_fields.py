"""Inferred fields: adds ROW members that occur only in written dicts to the columns of a table (write.merge-schema)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from paimon_core.arrow.conform import conform
from paimon_core.arrow.python_rows import column_of, inferred_array, table_of_rows
from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.types import MAP_ROOTS, Annotations, Child, DataType, TypeRoot, annotated_field, from_arrow


def inferred_fields(
    rows: Sequence[Mapping[str, Any]], fields: Sequence[DataField], first_row: int, *, widen: bool
) -> list[DataField]:
    """Return ``fields`` extended by ROW members, at any depth, that only ``rows`` have, in the types that Arrow infers.

    With ``widen``, a type that does not fit a value is replaced by the inferred type. Columns that are not in
    ``fields`` are left out. Raises SchemaMismatch for values without a common type.
    """
    numbers = range(first_row, first_row + len(rows))
    return [
        replace(f, type=_extended([row.get(f.name) for row in rows], f.type, f.name, numbers, widen)) for f in fields
    ]


def merged_table(
    rows: Sequence[Mapping[str, Any]], fields: Sequence[DataField], first_row: int, *, widen: bool
) -> pa.Table:
    """Return the rows as a table with the types of ``fields``, or of ``inferred_fields`` if a value does not fit.

    With ``widen``, the Arrow fields of columns whose values fit have the exact types as metadata (``arrow_types``).
    """
    wanted: Sequence[DataField] = fields
    try:
        table = table_of_rows(rows, fields, first_row)
    except SchemaMismatch:
        wanted = inferred_fields(rows, fields, first_row, widen=widen)
        if wanted == list(fields):
            raise
        table = table_of_rows(rows, wanted, first_row)
    return _exact(table, wanted) if widen else table


def _exact(table: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    for field in fields:
        if field.name not in table.column_names:
            continue
        kind = field.type.with_nullable(True)
        try:
            column = conform(table.select([field.name]), [DataField(field.id, field.name, kind)])[field.name]
        except SchemaMismatch:
            continue  # the type that Arrow inferred is wider
        described = annotated_field(field.name, Annotations(kind))
        table = table.set_column(table.column_names.index(field.name), described, column)
    return table


def _extended(values: Sequence[Any], kind: DataType, path: str, rows: Sequence[int], widen: bool) -> DataType:
    found = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
    if kind.root is TypeRoot.ROW and all(isinstance(v, Mapping) for _, v in found):
        return _extended_row(found, kind, path, widen)
    if kind.root is TypeRoot.ARRAY and all(isinstance(v, list | tuple) for _, v in found):
        items = [(row, item) for row, value in found for item in value]
        return _with_member(kind, 0, items, path, widen)
    if kind.root in MAP_ROOTS and all(isinstance(v, Mapping) for _, v in found):
        items = [(row, item) for row, value in found for item in value.values()]
        return _with_member(kind, 1, items, path, widen)
    if not widen or not found:
        return kind
    numbers, held = zip(*found, strict=True)
    try:
        column_of(held, kind, path, numbers)
    except SchemaMismatch as error:
        try:
            return from_arrow(inferred_array(held, path, numbers).type, kind.nullable)
        except SchemaMismatch:
            raise error from None
    return kind


def _extended_row(found: Sequence[tuple[int, Any]], kind: DataType, path: str, widen: bool) -> DataType:
    members = []
    for child in kind.children:
        held = [value.get(child.name) for _, value in found]
        inner = _extended(held, child.type, f"{path}.{child.name}", [row for row, _ in found], widen)
        members.append(replace(child, type=inner))
    known = {child.name for child in kind.children}
    for name in _new_names((value for _, value in found), known):
        pairs = [(row, value[name]) for row, value in found if value.get(name) is not None]
        if pairs:
            array = inferred_array([v for _, v in pairs], f"{path}.{name}", [row for row, _ in pairs])
            members.append(Child(name, from_arrow(array.type)))
    return replace(kind, children=tuple(members))


def _new_names(dicts: Iterable[Mapping[str, Any]], known: set[str]) -> list[str]:
    return [name for name in dict.fromkeys(name for held in dicts for name in held) if name not in known]


def _with_member(kind: DataType, at: int, items: Sequence[tuple[int, Any]], path: str, widen: bool) -> DataType:
    child = kind.children[at]
    rows, values = [row for row, _ in items], [item for _, item in items]
    members = list(kind.children)
    members[at] = replace(child, type=_extended(values, child.type, f"{path}.{child.name}", rows, widen))
    return replace(kind, children=tuple(members))
