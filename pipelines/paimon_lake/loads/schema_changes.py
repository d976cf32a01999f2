"""Schema changes: alter a table so that it has the columns that its source has now.

A table is altered while a load is planned, before anything is written. The load is then planned again with the altered
table. Therefore a load that is repeated after its process ended early, and a load that begins later, get the same plan.
An alteration that was already made, for example by a concurrent load, is not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.alter.merge_schema import MergeRules
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.table.table import Table
from paimon_core.types import DataType
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
    held = {field.name: field.type for field in table.schema.fields}
    for name in columns:
        if name not in held and (same := [one for one in held if one.casefold() == name.casefold()]):
            raise PipelineError(f"{source} has the new column {name!r}, which differs from {same[0]!r} only by case")
    wanted = [
        DataField(0, name, kind) for name, kind in columns.items() if name not in held or is_same_kind(held[name], kind)
    ]
    try:
        context = _RULES.merged(table.context, wanted)
    except (SchemaMismatch, InvalidRequest) as error:
        raise PipelineError(
            f"{source} changed, and the table cannot follow: {error}. Declare a type that holds old and new values, "
            "drop the table, and load it again"
        ) from None
    if context is not table.context:
        raise TableAltered(table.refresh())
