"""Evolve: apply changes to a schema, with Paimon's rules for keys, types, options and field ids (format 2.3, 2.5).

Field ids only grow: a column that is dropped and added again gets a new id and never reads the old values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from paimon_core.alter.allowed_casts import is_allowed
from paimon_core.alter.changes import (
    AddColumn,
    ColumnPath,
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
    path_of,
    type_of,
)
from paimon_core.alter.exact_casts import lost
from paimon_core.alter.members import Edit, Member, edited, inserted, missing, position
from paimon_core.alter.option_rules import check_option_change, check_option_removal, renamed_options
from paimon_core.datafile.evolution.defaults import check_default, default_value
from paimon_core.errors import InvalidRequest
from paimon_core.options import TableOptions
from paimon_core.schema import DataField, TableSchema, check_schema, new_time_millis
from paimon_core.types import Child, DataType

_NULL_TO_NOT_NULL = "alter-column-null-to-not-null.disabled"
_NO_EXPLICIT_CASTS = "disable-explicit-type-casting"
_BEFORE_PARTITION = "add-column-before-partition"


def evolve(
    schema: TableSchema, changes: Sequence[SchemaChange], *, has_snapshots: bool = True, table: str = ""
) -> TableSchema:
    """Return the schema that follows ``schema``: with the next id, and with all changes applied in order.

    Returns the same ``schema`` object when the changes have no effect. With ``has_snapshots``, options that may only be
    changed before the first commit cannot change. Raises InvalidRequest or InvalidOption, which name the table, the
    column or option and the rule. The result may still break the rules for the options of a table, which
    ``check_definition`` checks.
    """
    state = _State.of(schema, has_snapshots)
    for change in changes:
        try:
            state.apply(change)
        except InvalidRequest as error:
            where = f"table {table}: " if table else ""
            raise type(error)(f"{where}{error}", **{**error.facts, "table": table}) from None
    return state.result()


@dataclass
class _State:
    """The members of the new schema, after the changes that were applied so far."""

    schema: TableSchema
    has_snapshots: bool
    allowed: TableOptions
    """The options that decide which changes are allowed: the options before the first change, as in Java."""
    fields: list[DataField]
    options: dict[str, str]
    primary_keys: tuple[str, ...]
    comment: str | None
    highest: int
    changed: set[int] = field(default_factory=set)

    @staticmethod
    def of(schema: TableSchema, has_snapshots: bool) -> _State:
        return _State(
            schema,
            has_snapshots,
            TableOptions.parse(schema.options),
            list(schema.fields),
            dict(schema.options),
            schema.primary_keys,
            schema.comment,
            max(schema.highest_field_id, *(highest_id(f) for f in schema.fields)),
        )

    def result(self) -> TableSchema:
        old = self.schema
        found = replace(
            old,
            fields=tuple(self.fields),
            highest_field_id=self.highest,
            primary_keys=self.primary_keys,
            options=self.options,
            comment=self.comment,
        )
        if replace(found, highest_field_id=old.highest_field_id) == old:
            return old
        check_schema(found)
        for column in found.fields:
            DataField.from_json(column.to_json())  # raises for a column that readers would refuse
        return replace(found, id=old.id + 1, time_millis=new_time_millis())

    def apply(self, change: SchemaChange) -> None:
        match change:
            case AddColumn():
                self._add(change)
            case DropColumn():
                self._drop(change)
            case RenameColumn():
                self._rename(change)
            case UpdateType():
                self._update(change.column, partial(self._with_type, change))
            case UpdateNullability():
                self._update(change.column, partial(self._with_nullability, change))
            case UpdateColumnComment():
                self._update(change.column, partial(_with_comment, change))
            case UpdateDefault():
                self._update(change.column, partial(_with_default, change.default))
            case UpdatePosition():
                self._move(change)
            case UpdateComment():
                self.comment = change.comment
            case SetOption():
                check_option_change(self.schema, change.key, change.text, has_snapshots=self.has_snapshots)
                self.options[change.key] = change.text
            case RemoveOption():
                check_option_removal(self.schema, change.key, has_snapshots=self.has_snapshots)
                self.options.pop(change.key, None)
            case _:
                raise InvalidRequest(f"{change!r:.80} is not a schema change such as AddColumn('note', 'STRING')")

    # -- columns

    def _add(self, change: AddColumn) -> None:
        path = path_of(change.column)
        whole = ".".join(path)
        kind = type_of(change.type, whole)
        if not kind.nullable:
            raise InvalidRequest(f"a new column must be nullable, but {whole!r} is {kind}", column=whole)
        ids = itertools.count(self.highest + 1)
        number, kind = next(ids), kind.with_ids(ids)
        self.highest = next(ids) - 1

        def add(members: list[Member], at: int) -> list[Member]:
            if at >= 0:
                raise InvalidRequest(f"column {whole!r} already exists", column=whole)
            if len(path) > 1:
                return inserted(members, Child(path[-1], kind, number, change.comment), change.place)
            new = DataField(number, path[0], kind, change.comment)
            return inserted(members, new, change.place, self._default_position())

        self.fields = edited(self.fields, path, add, rows_only=True)
        if change.default is not None:
            self._update(path, partial(_with_default, change.default))

    def _default_position(self) -> int | None:
        """Return the position of a new column for which no position is given; None for the end."""
        keys = self.schema.partition_keys
        if not keys or not self.allowed[_BEFORE_PARTITION]:
            return None
        return min(position(self.fields, key) for key in keys)

    def _drop(self, change: DropColumn) -> None:
        path = path_of(change.column)
        whole = ".".join(path)
        if len(path) == 1:
            self._check_no_key(whole, "dropped", primary=True)

        def drop(members: list[Member], at: int) -> list[Member]:
            if at < 0:
                raise missing(path, members)
            if len(members) == 1:
                of = "table" if len(path) == 1 else "ROW"
                raise InvalidRequest(
                    f"column {whole!r} is the last one of the {of} and cannot be dropped", column=whole
                )
            return [*members[:at], *members[at + 1 :]]

        self.fields = edited(self.fields, path, drop, rows_only=True)

    def _rename(self, change: RenameColumn) -> None:
        path = path_of(change.column)
        whole = ".".join(path)
        if not isinstance(change.name, str):
            raise InvalidRequest(
                f"the new name of column {whole!r} must be text, not {change.name!r:.60}", column=whole
            )
        if len(path) == 1:
            self._check_no_key(whole, "renamed", primary=False)

        def rename(members: list[Member], at: int) -> list[Member]:
            if at < 0:
                raise missing(path, members)
            if position(members, change.name) >= 0:
                raise InvalidRequest(
                    f"column {whole!r} cannot be renamed: {change.name!r} already exists", column=whole
                )
            return [*members[:at], replace(members[at], name=change.name), *members[at + 1 :]]

        self.fields = edited(self.fields, path, rename, rows_only=True)
        if len(path) == 1:
            self.primary_keys = tuple(change.name if key == whole else key for key in self.primary_keys)
            self.options = renamed_options(self.options, whole, change.name)

    def _move(self, change: UpdatePosition) -> None:
        path = path_of(change.column)
        if len(path) > 1 or not change.place:
            raise InvalidRequest(f"{change!r:.120}: a column of the table needs one of first, last, after and before")
        at = position(self.fields, path[0])
        if at < 0:
            raise missing(path, self.fields)
        if path[0] in (change.after, change.before):
            raise InvalidRequest(f"column {path[0]!r} cannot be moved next to itself", column=path[0])
        others = [*self.fields[:at], *self.fields[at + 1 :]]
        moved = inserted(others, self.fields[at], change.place)
        self.fields = [member for member in moved if isinstance(member, DataField)]

    def _update(self, column: ColumnPath, update: Callable[[str, Member, bool], Member]) -> None:
        """Replace one member by ``update(path, member, named)``; ``named`` is True for a column or a field of a ROW."""
        path = path_of(column)

        def change(members: list[Member], at: int) -> list[Member]:
            if at < 0:
                raise missing(path, members)
            named = isinstance(members[at], DataField) or members[at].id >= 0
            return [*members[:at], update(".".join(path), members[at], named), *members[at + 1 :]]

        edit: Edit = change
        self.fields = edited(self.fields, path, edit)

    # -- types

    def _with_type(self, change: UpdateType, whole: str, member: Member, named: bool) -> Member:
        if isinstance(member, DataField):
            self._check_no_key(whole, "given another type", primary=True)
        old, new = member.type, type_of(change.type, whole)
        if old.nullable and not new.nullable:
            raise InvalidRequest(
                f"column {whole!r}: {new} would change the nullability: use UpdateNullability for this", column=whole
            )
        new = new.with_nullable(old.nullable)
        if is_same_type(old, new):
            return member
        explicit = not self.allowed[_NO_EXPLICIT_CASTS]
        if not is_allowed(old, new, explicit=explicit):
            hint = "; change its members one by one" if new.children and old.root is new.root else ""
            if not explicit and is_allowed(old, new, explicit=True):
                hint = f": option {_NO_EXPLICIT_CASTS} = true allows only casts without loss"
            raise InvalidRequest(
                f"column {whole!r} cannot change from {old} to {new}{hint}",
                column=whole,
                stored=old.sql,
                wanted=new.sql,
            )
        if isinstance(member, DataField):
            check_default(whole, new, member.default)
            if not change.lossy:
                _check_default_survives(whole, old, new, member.default)
        return replace(member, type=new)

    def _with_nullability(self, change: UpdateNullability, whole: str, member: Member, named: bool) -> Member:
        if isinstance(member, DataField) and change.nullable and whole in self.primary_keys:
            raise InvalidRequest(f"primary key column {whole!r} cannot become nullable", column=whole)
        if member.type.nullable and not change.nullable and self.allowed[_NULL_TO_NOT_NULL]:
            raise InvalidRequest(
                f"column {whole!r} cannot become NOT NULL: existing rows may have null in it. If you know that no "
                f"row has, set option {_NULL_TO_NOT_NULL} = false first",
                column=whole,
            )
        return replace(member, type=member.type.with_nullable(bool(change.nullable)))

    def _check_no_key(self, column: str, done: str, *, primary: bool) -> None:
        if column in self.schema.partition_keys:
            raise InvalidRequest(f"partition key {column!r} cannot be {done}", column=column)
        if primary and column in self.primary_keys:
            raise InvalidRequest(f"primary key column {column!r} cannot be {done}", column=column)


def _check_default_survives(column: str, old: DataType, new: DataType, default: str | None) -> None:
    if default is None:
        return
    before, after = (pa.array([default_value(column, t, default).as_py()], t.to_arrow()) for t in (old, new))
    if (found := lost(before, after, old, new)) is not None:
        raise InvalidRequest(
            f"column {column!r} cannot change from {old} to {new}: its default {default!r:.60} would become "
            f"{found[1]}: change the default first",
            column=column,
            value=default,
        )


def _with_comment(change: UpdateColumnComment, whole: str, member: Member, named: bool) -> Member:
    if not named:
        raise InvalidRequest(f"{whole!r} is no column and no field of a ROW, so it has no comment", column=whole)
    return replace(member, description=change.comment)


def _with_default(default: str | None, whole: str, member: Member, named: bool) -> Member:
    if not isinstance(member, DataField):
        raise InvalidRequest(f"column {whole!r} is nested: only columns of the table have defaults", column=whole)
    check_default(whole, member.type, default)
    return replace(member, default=default)


def is_same_type(one: DataType, other: DataType) -> bool:
    """Whether two types are equal, without comparing field ids and comments of nested fields."""
    if replace(one, children=()) != replace(other, children=()) or len(one.children) != len(other.children):
        return False
    pairs = zip(one.children, other.children, strict=True)
    return all(a.name == b.name and is_same_type(a.type, b.type) for a, b in pairs)


def highest_id(column: DataField) -> int:
    """Return the highest field id among a column and the fields inside of the column."""
    return max(_ids(column), default=-1)


def _ids(member: Member) -> Iterator[int]:
    yield member.id
    for child in member.type.children:
        yield from _ids(child)
