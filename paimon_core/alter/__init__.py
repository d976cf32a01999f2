"""Changes of a table's schema, for ``Table.alter`` (format 2.3).

>>> from paimon_core.alter import AddColumn, RenameColumn
>>> table = table.alter(AddColumn("note", "STRING", after="id"), RenameColumn("nm", "name"))  # doctest: +SKIP

A column is a name, or a path into a nested type: a list of names, with ``element`` for the elements of an ARRAY and
``value`` for the values of a MAP: ``["address", "city"]``, ``["lines", "element", "price"]``.
"""

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
)

__all__ = [
    "AddColumn",
    "ColumnPath",
    "DropColumn",
    "RemoveOption",
    "RenameColumn",
    "SchemaChange",
    "SetOption",
    "UpdateColumnComment",
    "UpdateComment",
    "UpdateDefault",
    "UpdateNullability",
    "UpdatePosition",
    "UpdateType",
]
