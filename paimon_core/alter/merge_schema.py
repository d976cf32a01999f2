"""Merge schema: alter a table so that it can store data with new columns or wider types (option write.merge-schema).

``data_columns`` returns the columns of Arrow data. The writer in ``table.writes.merging_writer`` calls
``MergeRules.merged`` with these columns for each batch.
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
"""The argument ``merge_schema``: True adds columns, "widen" also widens types; None: as the table's options say."""
_SIZED = STRING_ROOTS | BINARY_ROOTS | TIMESTAMP_ROOTS


@dataclass(frozen=True)
class MergeRules:
    """How a write may change the schema.

    The write may always add columns. With ``widen``, a write may also widen the types of columns; with ``explicit``, it
    may also change a type to one that loses information.
    """

    widen: bool
    explicit: bool

    @staticmethod
    def of(options: TableOptions, merge_schema: MergeSchema, explicit: bool | None = None) -> MergeRules | None:
        """Return the rules of an argument ``merge_schema``; None when the table must not be altered.

        If ``merge_schema`` or ``explicit`` is None, the option ``write.merge-schema`` or
        ``write.merge-schema.explicit-cast`` decides. Raises InvalidRequest for a wrong ``merge_schema``.
        """
        if merge_schema not in (True, False, None, "widen"):
            raise InvalidRequest(f"merge_schema must be True, False or 'widen', not {merge_schema!r:.60}")
        if not (options["write.merge-schema"] if merge_schema is None else merge_schema):
            return None
        widen = merge_schema == "widen" or options["write.merge-schema.type-widening"]
        return MergeRules(widen, options["write.merge-schema.explicit-cast"] if explicit is None else explicit)

    def merged(self, context: TableContext, columns: Sequence[DataField]) -> TableContext:
        """Alter the table so that it can store ``columns``, and return it; return ``context`` when no change is needed.

        When a concurrent writer has added the same columns, nothing more is changed. Raises SchemaMismatch for types
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
    """Return the changes after which a table with ``schema`` can store rows with the columns ``data``, as in Java.

    Columns and fields of ROWs that the table does not have are added at the end, as nullable; columns that the data
    does not have are kept. With ``widen``, a column whose type cannot hold the data gets the type of the data, if the
    cast loses nothing. With ``explicit``, it gets this type even if the cast may lose information. Raises
    SchemaMismatch, which names the column, when the types have no allowed cast.
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
    """Whether a column of type ``old`` can hold every value of type ``new``, where floats may be rounded."""
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
