"""Declared schemas: the changes that lead from a table's schema to a wanted schema, with columns matched by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from paimon_core.alter.changes import (
    AddColumn,
    DropColumn,
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
)
from paimon_core.alter.evolve import is_same_type
from paimon_core.alter.members import Member
from paimon_core.errors import InvalidRequest
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import DataType, TypeRoot


def changes_to(
    current: TableSchema,
    wanted: TableSchema,
    *,
    renamed: Mapping[str, str] | None = None,
    drop: bool = True,
    kept_options: Collection[str] = (),
) -> list[SchemaChange]:
    """Return the changes that give ``current`` the columns, their order, the comments and the options of ``wanted``.

    Field ids are not compared, and fields inside of ROWs keep their order. ``renamed`` maps old to new names of
    columns; without an entry, a renamed column is dropped and added. Old names that ``current`` does not have are
    ignored, so that a second call returns no changes. Without ``drop``, columns that ``wanted`` does not have are kept,
    at the end. ``kept_options`` are neither set nor removed. Raises InvalidRequest when the keys differ. Whether the
    changes are allowed is not checked here, but by ``evolve``.
    """
    names = {old: new for old, new in (renamed or {}).items() if old in current.by_name and new not in current.by_name}
    for what, old, new in (
        ("primary key", current.primary_keys, wanted.primary_keys),
        ("partition keys", current.partition_keys, wanted.partition_keys),
    ):
        if [names.get(key, key) for key in old] != list(new):
            raise InvalidRequest(f"the {what} of a table cannot change from ({', '.join(old)}) to ({', '.join(new)})")
    out: list[SchemaChange] = [RenameColumn(old, new) for old, new in names.items()]
    held = {names.get(f.name, f.name): f for f in current.fields}
    out += [DropColumn(name) for name in held if drop and name not in wanted.by_name]
    for column in wanted.fields:
        if column.name in held:
            out += _member_changes(held[column.name], column, (column.name,), drop)
    out += _additions(held, wanted.fields, drop)
    if current.comment != wanted.comment:
        out.append(UpdateComment(wanted.comment))
    return out + list(_option_changes(current.options, wanted.options, kept_options))


def _additions(held: Mapping[str, DataField], wanted: Sequence[DataField], drop: bool) -> Iterator[SchemaChange]:
    """Yield changes that add new columns at their position, and that move existing columns to their position."""
    names = [f.name for f in wanted]
    order = [name for name in held if not drop or name in names]
    for at, column in enumerate(wanted):
        place: dict[str, Any] = {"first": True} if at == 0 else {"after": names[at - 1]}
        if column.name not in held:
            yield AddColumn(column.name, column.type, column.description, column.default, **place)
        elif order[at] != column.name:
            yield UpdatePosition(column.name, **place)
            order.remove(column.name)
        else:
            continue
        order.insert(at, column.name)


def _member_changes(old: Member, new: Member, path: tuple[str, ...], drop: bool) -> Iterator[SchemaChange]:
    column = path[0] if len(path) == 1 else list(path)
    if isinstance(old, DataField) and isinstance(new, DataField) and old.default is not None and new.default is None:
        yield UpdateDefault(column, None)
    yield from _type_changes(old.type, new.type, path, drop)
    if old.type.nullable != new.type.nullable:
        yield UpdateNullability(column, new.type.nullable)
    if old.description != new.description:
        yield UpdateColumnComment(column, new.description)
    if isinstance(old, DataField) and isinstance(new, DataField) and new.default not in (None, old.default):
        yield UpdateDefault(column, new.default)


def _type_changes(old: DataType, new: DataType, path: tuple[str, ...], drop: bool) -> Iterator[SchemaChange]:
    old, new = old.with_nullable(True), new.with_nullable(True)
    if is_same_type(old, new) and not new.children:
        return
    if old.root is not new.root or not new.children:
        yield UpdateType(path[0] if len(path) == 1 else list(path), new)
        return
    members = {c.name: c for c in old.children if old.root is not TypeRoot.MAP or c.name != "key"}
    if old.root is TypeRoot.MAP and not is_same_type(old.children[0].type, new.children[0].type):
        raise InvalidRequest(f"column {'.'.join(path)!r}: the key of a MAP cannot change from {old} to {new}")
    wanted = {c.name: c for c in new.children if new.root is not TypeRoot.MAP or c.name != "key"}
    previous: dict[str, Any] = {"first": True}
    for name, child in wanted.items():
        if name in members:
            yield from _member_changes(members[name], child, (*path, name), drop)
        else:
            yield AddColumn([*path, name], child.type, child.description, **previous)
        previous = {"after": name}
    yield from (DropColumn([*path, name]) for name in members if drop and name not in wanted)


def _option_changes(
    current: Mapping[str, str], wanted: Mapping[str, str], kept: Collection[str]
) -> Iterator[SchemaChange]:
    yield from (SetOption(k, v) for k, v in wanted.items() if k not in kept and current.get(k) != v)
    yield from (RemoveOption(k) for k in current if k not in wanted and k not in kept)
