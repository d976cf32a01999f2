"""Merge schema: alter a table so that it can take data with new columns or wider types (option write.merge-schema).

``data_columns`` gives the columns of Arrow data; ``table.writes.merging_writer`` is the writer that merges each batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from paimon_core.alter.allowed_casts import is_allowed
from paimon_core.alter.alter_table import alter_table
from paimon_core.alter.changes import AddColumn, SchemaChange, UpdateType
from paimon_core.alter.members import Member
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.metadata.context import TableContext
from paimon_core.options import TableOptions
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

MergeSchema = bool | Literal["widen"] | None
"""An argument ``merge_schema``: whether to add columns, and also to widen types; None: as the options say."""
_SIZED = STRING_ROOTS | BINARY_ROOTS | TIMESTAMP_ROOTS


@dataclass(frozen=True)
class MergeRules:
    """How a write may change the schema: add columns, and with ``widen`` and ``explicit`` also change types."""

    widen: bool
    explicit: bool

    @staticmethod
    def of(options: TableOptions, merge_schema: MergeSchema, explicit: bool | None = None) -> MergeRules | None:
        """Return the rules of an argument ``merge_schema``; None when the table must not be altered.

        What the arguments leave open (None), the options ``write.merge-schema*`` decide. Raises InvalidRequest.
        """
        if merge_schema not in (True, False, None, "widen"):
            raise InvalidRequest(f"merge_schema must be True, False or 'widen', not {merge_schema!r:.60}")
        if not (options["write.merge-schema"] if merge_schema is None else merge_schema):
            return None
        widen = merge_schema == "widen" or options["write.merge-schema.type-widening"]
        return MergeRules(widen, options["write.merge-schema.explicit-cast"] if explicit is None else explicit)

    def merged(self, context: TableContext, columns: Sequence[DataField]) -> TableContext:
        """Return the table after it was altered so that it can take ``columns``; ``context`` when it can already.

        A concurrent writer may add the same columns: then nothing is left to change. Raises SchemaMismatch for types
        that cannot be merged, and the errors of ``alter_table``.
        """
        try:
            if not self._changes(context.schema, columns=columns):
                return context
        except SchemaMismatch:
            pass  # the latest schema may have wider types
        return alter_table(context, partial(self._changes, columns=columns))

    def _changes(self, schema: TableSchema, *, columns: Sequence[DataField]) -> list[SchemaChange]:
        return merged_changes(schema, columns, widen=self.widen, explicit=self.explicit)


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
