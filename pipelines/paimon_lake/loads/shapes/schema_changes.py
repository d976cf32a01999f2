"""Schema changes: alter a table so that it has the columns that its source has now.

A table is altered while a load is planned, before anything is written. The load is then planned again with the altered
table. Therefore a load that is repeated after its process ended early, and a load that begins later, get the same plan.
An alteration that was already made, for example by a concurrent load, is not repeated.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from paimon_core.alter import SchemaChange, SetOption
from paimon_core.alter.alter_table import alter_table
from paimon_core.alter.merge_schema import MergeRules, merged_changes
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.schema import DataField, TableSchema
from paimon_core.table.table import Table
from paimon_core.types import DataType
from paimon_lake.declarations.sources.parts import Part
from paimon_lake.declarations.sources.schema_changes import is_same_kind
from paimon_lake.protocol import PipelineError

_RULES = MergeRules(widen=True, explicit=False)


class TableAltered(Exception):
    """The table was altered: the load is planned again with ``table``, which has the latest schema."""

    def __init__(self, table: Table) -> None:
        super().__init__(f"{table.name} was altered")
        self.table = table


def hold(table: Table, columns: Mapping[str, DataType], source: str) -> None:
    """Return when a table has columns that hold the values of these types; otherwise alter it, and raise TableAltered.

    A column that the table does not have is added as nullable. A column of the same kind of type, but narrower, is
    widened. A column of another kind, such as STRING for numbers, is not altered: values are converted to its type.
    Raises PipelineError, which names ``source``, for a change that would lose values.
    """
    wanted = _wanted(table.schema, columns, source)
    try:
        context = _RULES.merged(table.context, wanted)
    except (SchemaMismatch, InvalidRequest) as error:
        raise _cannot_follow(source, error) from None
    if context is not table.context:
        raise TableAltered(table.refresh())


def hold_in_part(
    table: Table, columns: Mapping[str, DataType], source: str, name: str, parts: Mapping[str, Part]
) -> None:
    """Do what ``hold`` does for the part ``name`` of a wide table; a new column is added to the group of the part.

    The group is a table option with columns. Column and group are altered together, in the latest schema, because
    another part may alter the table at the same time. Also raises PipelineError for a column that another part fills,
    or that is in ``order_by`` of a part.
    """

    def changes(schema: TableSchema) -> list[SchemaChange]:
        _check_owner(schema, columns, source, name, parts)
        found = merged_changes(schema, _wanted(schema, columns, source), widen=_RULES.widen, explicit=_RULES.explicit)
        held = parts[name].columns_in(schema.options)
        added = [column for column in columns if column not in (*held, *schema.primary_keys)]
        return [*found, SetOption(parts[name].group_option, ",".join((*held, *added)))] if added else found

    try:
        with contextlib.suppress(SchemaMismatch):  # the latest schema may have wider types
            if not changes(table.schema):
                return
        alter_table(table.context, changes)
    except (SchemaMismatch, InvalidRequest) as error:
        raise _cannot_follow(source, error) from None
    raise TableAltered(table.refresh())


def _check_owner(
    schema: TableSchema, columns: Mapping[str, DataType], source: str, name: str, parts: Mapping[str, Part]
) -> None:
    """Refuse columns that a part other than ``name`` fills, and columns in ``order_by`` of any part."""
    for other, part in parts.items():
        if other == name:
            taken, what = {*part.order_by}, f"loads of the part {name} fill as order_by"
        else:
            taken, what = {*part.columns_in(schema.options), *part.order_by}, f"the part {other} fills"
        if both := sorted(taken.intersection(columns)):
            raise PipelineError(
                f"{source} has the new column {both[0]!r}, which the part {name} would add, and which {what}: a column "
                f"belongs to one part. Rename it in one of the sources, or set parts.{name}.source.schema_changes: "
                "ignore, which leaves it out"
            )


def _wanted(schema: TableSchema, columns: Mapping[str, DataType], source: str) -> list[DataField]:
    """Return the columns that are new to a table, or of the same kind of type as in the table. Raises PipelineError for
    a new column whose name differs from another only by case.
    """
    held = {field.name: field.type for field in schema.fields}
    for name in columns:
        if name not in held and (same := [one for one in held if one.casefold() == name.casefold()]):
            raise PipelineError(f"{source} has the new column {name!r}, which differs from {same[0]!r} only by case")
    return [
        DataField(0, name, kind) for name, kind in columns.items() if name not in held or is_same_kind(held[name], kind)
    ]


def _cannot_follow(source: str, error: Exception) -> PipelineError:
    return PipelineError(
        f"{source} changed, and the table cannot follow: {error}. Declare a type that holds old and new values, "
        "drop the table, and load it again"
    )
