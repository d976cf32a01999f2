"""Changes of a table's schema, for ``Table.alter`` (format 2.3).

>>> from paimon_core.alter import AddColumn, RenameColumn
>>> table = table.alter(AddColumn("note", "STRING", after="id"), RenameColumn("nm", "name"))  # doctest: +SKIP

A column is given by its name, and a field of a nested type by a list of names, such as ``["address", "city"]``. In this
list, ``element`` stands for the elements of an ARRAY and ``value`` for the values of a MAP: ``["lines", "element",
"price"]``. ``changes_to`` returns the changes that lead from one schema to another.

Core types and functions:

- ``AddColumn``: a change of the schema; the other changes are in the same module, ``changes``
- ``Survival``: checks that a change of a type loses no stored value
- ``MergeRules``: how a write may change the schema (option ``write.merge-schema``)
- ``alter_table``: checks changes and publishes the next schema
- ``evolve``: returns the schema that changes lead to
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
from paimon_core.alter.declared import changes_to

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
    "changes_to",
]
