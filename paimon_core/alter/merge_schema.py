"""Merge schema: the changes that let a table take data with new columns or wider types (option write.merge-schema)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from paimon_core.alter.allowed_casts import is_allowed
from paimon_core.alter.changes import AddColumn, SchemaChange, UpdateType
from paimon_core.alter.members import Member
from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

_SIZED = STRING_ROOTS | BINARY_ROOTS | TIMESTAMP_ROOTS


def merged_changes(
    schema: TableSchema, data: Sequence[DataField], *, widen: bool, explicit: bool = False
) -> list[SchemaChange]:
    """Return the changes of ``schema`` after which it can take rows of the columns ``data``, as in Java.

    Columns and fields of ROWs that the table lacks are added as nullable, with their members, at the end; columns that
    the data lacks are kept. With ``widen`` a column gets the data's type when its own type cannot hold it, if the cast
    loses nothing, or with ``explicit`` if there is a cast, also a lossy one. Raises SchemaMismatch, which names the
    column, when there is none.
    """
    return list(_merged(schema.fields, data, (), widen, explicit))


def _merged(
    held: Sequence[Member], found: Sequence[Member], above: tuple[str, ...], widen: bool, explicit: bool
) -> Iterator[SchemaChange]:
    by_name = {member.name: member for member in held}
    for new in found:
        path = (*above, new.name)
        if new.name in by_name:
            yield from _merged_type(by_name[new.name].type, new.type, path, widen, explicit)
        else:
            yield AddColumn(path if above else new.name, _nullable(new.type))


def _nullable(kind: DataType) -> DataType:
    """Return the type with nullable members: a NOT NULL in data only describes that data."""
    kind = kind.with_nullable(True)
    if kind.root in (TypeRoot.VARIANT, TypeRoot.MULTISET):
        return kind
    fixed = kind.root is TypeRoot.MAP
    members = (c if fixed and c.name == "key" else replace(c, type=_nullable(c.type)) for c in kind.children)
    return replace(kind, children=tuple(members))


def _merged_type(
    old: DataType, new: DataType, path: tuple[str, ...], widen: bool, explicit: bool
) -> Iterator[SchemaChange]:
    if old.root is new.root and old.children:
        members = [child for child in new.children if old.root is not TypeRoot.MAP or child.name != "key"]
        yield from _merged(old.children, members, path, widen, explicit)
        return
    old, new = old.with_nullable(True), new.with_nullable(True)
    if not widen or _takes(old, new):
        return
    whole = ".".join(path)
    if old.root is TypeRoot.DECIMAL and new.root is TypeRoot.DECIMAL and old.scale != new.scale:
        raise _unmergeable(whole, old, new, "their scales differ")
    if not is_allowed(old, new, explicit=explicit):
        exists = is_allowed(old, new, explicit=True)
        raise _unmergeable(whole, old, new, "old values could lose information" if exists else "there is no cast")
    yield UpdateType(path if len(path) > 1 else path[0], new, lossy=explicit)


def _takes(old: DataType, new: DataType) -> bool:
    """Whether every value of the type ``new`` is one of ``old``, apart from the rounding of floats."""
    if old.root is TypeRoot.DECIMAL and new.root is TypeRoot.DECIMAL:
        return new.scale <= old.scale and new.precision - new.scale <= old.precision - old.scale
    if old.root is new.root or (old.root in _SIZED and new.root in _SIZED and is_allowed(new, old, explicit=False)):
        return (new.length or new.precision) <= (old.length or old.precision)
    return is_allowed(new, old, explicit=False)


def _unmergeable(column: str, old: DataType, new: DataType, why: str) -> SchemaMismatch:
    return SchemaMismatch(
        f"column {column!r} is {old} and the data has {new}: the types cannot be merged, {why}",
        column=column,
        stored=old.sql,
        wanted=new.sql,
    )
